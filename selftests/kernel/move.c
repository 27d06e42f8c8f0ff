// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Buffers of gda_test that move, for the kernel selftests. */
#include <string.h>
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
