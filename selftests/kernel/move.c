// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory that is taken away, for the kernel selftests. */
#include "move.h"

int t_test_buffer(int test, size_t len, uint32_t flags)
{
	struct gda_test_export cmd = { .length = len, .flags = flags };
	int err = t_ioctl(test, GDA_TEST_EXPORT, &cmd);

	return err ? err : cmd.fd;
}

int t_move(int test, int buf, uint32_t flags, struct gda_test_move *cmd)
{
	*cmd = (struct gda_test_move) { .fd = buf, .flags = flags, .linger_ns = cmd->linger_ns };
	return t_ioctl(test, GDA_TEST_MOVE, cmd);
}

static void *t_mover_main(void *arg)
{
	struct t_mover *m = arg;
	uint64_t seed = t_seed();

	while (!__atomic_load_n(&m->stop, __ATOMIC_RELAXED)) {
		struct gda_test_move cmd = { 0 };
		int err = t_move(m->test, m->buf, 0, &cmd);

		m->err = err ? err : m->err;
		m->changed += cmd.changed;
		m->moves += !err;
		if (m->pause)
			t_sleep_ns(t_random(&seed) % m->pause);
	}
	return NULL;
}

int t_mover_start(struct t_mover *m)
{
	m->stop = false;
	return pthread_create(&m->thread, NULL, t_mover_main, m);
}

void t_mover_stop(struct t_mover *m)
{
	__atomic_store_n(&m->stop, true, __ATOMIC_RELAXED);
	pthread_join(m->thread, NULL);
}

#define T_RACE_QPS	64	/* of one context */

int t_race_begin(struct t_race *r, unsigned long rounds)
{
	r->fd = -1;
	r->rounds = 0;
	r->failed = 0;
	r->begun = 0;
	r->wait_ns = calloc(rounds, sizeof(*r->wait_ns));
	return r->wait_ns ? 0 : -ENOMEM;
}

static void t_race_close(struct t_race *r)
{
	if (r->fd < 0)
		return;
	t_mr_free(r->fd, &r->mem);
	close(r->fd);
	r->fd = -1;
}

static int t_race_renew(struct t_race *r)
{
	int err;

	t_race_close(r);
	r->fd = t_context();
	if (r->fd < 0)
		return r->fd;
	err = t_mr_new(r->fd, r->len, GDA_ACCESS_ALL, &r->mem);
	if (!err)
		memset(r->mem.addr, 0x3c, r->len);
	return err;
}

int t_race_next(struct t_race *r)
{
	int err = 0;

	if (r->rounds)
		t_qp_unmap(&r->qp);
	if (r->rounds % T_RACE_QPS == 0)
		err = t_race_renew(r);
	if (!err)
		err = t_qp_open(&r->qp, r->fd, r->depth);
	return err ? err : t_connect(&r->qp, &r->qp);
}

uint64_t t_race_traffic(struct t_race *r, const struct t_mr *mr, bool read)
{
	uint64_t last = t_traffic(&r->qp, &r->mem, mr, read), end;
	struct t_done done;

	/* Mostly in the midst of it, sometimes while it begins. A spinner is scheduled late. */
	end = t_now() + T_NS / 100;
	while (r->rounds % 8 && !t_poll(&r->qp, 0, &done) && t_now() < end)
		t_sleep_ns(T_NS / 100000);
	t_sleep_ns(t_random(&r->seed) % (T_NS / 10000));
	return last;
}

int t_race_told(struct t_race *r, uint64_t last, bool read, uint64_t wait_ns)
{
	uint8_t gone = read ? GDA_MLX5_SYND_LOCAL_PROT : GDA_MLX5_SYND_REMOTE_ACCESS;
	struct t_done done;
	int ret = t_wait(&r->qp, last, &done);

	r->wait_ns[r->rounds++] = wait_ns;
	if (ret <= 0)
		return ret;
	r->failed++;
	r->begun += done.first_error > 0;
	return done.first_syndrome == gone && done.first_vendor == GDA_MLX5_VENDOR_REVOKED ? 0 :
											-EBADMSG;
}

void t_race_end(struct t_race *r)
{
	if (r->rounds)
		t_qp_unmap(&r->qp);
	t_race_close(r);
	free(r->wait_ns);
}

const char *t_race_result(struct t_race *r, char *buf, size_t room)
{
	const uint64_t *ns = r->wait_ns;
	size_t len;

	t_sort(r->wait_ns, r->rounds);
	len = (size_t)snprintf(buf, room, "%lu rounds, %lu under way, %lu before they began; ",
			       r->rounds, r->begun, r->failed - r->begun);
	snprintf(buf + len, room - len, "waited: median %llu us, 99%% %llu us, most %llu us",
		 (unsigned long long)ns[r->rounds / 2] / 1000,
		 (unsigned long long)ns[r->rounds * 99 / 100] / 1000,
		 (unsigned long long)ns[r->rounds - 1] / 1000);
	return buf;
}
