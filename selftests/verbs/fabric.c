// SPDX-License-Identifier: MIT
/*
 * Rules that an RDMA fabric has to keep: rights, keys, memory that is not registered any more, and
 * connections in any order. On the device that GDA_DEVICE names, `verbs:` or `ib:`, connected to
 * itself; natively over the fake one (fake.c). With GDA_STRESS=10 it is 4096 guesses, 10^4
 * deregistrations and 10^3 connections, of which one is 30 s late.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
#include "../inproc/suite.h"

#define LEN	65536U
#define DEPTH	64

FIXTURE(fabric) {
	struct s_end end[2];
	struct gda_cq *ring;
};

static uint32_t qp_state(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	return gda_qp_query(qp, &q) ? ~0U : q.state;
}

/* Wait until the QP has another state than @state, @s seconds at most. Return: the state. */
static uint32_t state_after(struct gda_qp *qp, uint32_t state, unsigned int s)
{
	uint64_t end = gda_clock_ns() + s * 1000000000ULL;

	while (qp_state(qp) == state && gda_clock_ns() < end)
		usleep(1000);
	return qp_state(qp);
}

/* A fresh pair of QPs in the same contexts; the second takes immediates. */
static int renew(FIXTURE_DATA(fabric) *self)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
	};
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		struct s_end *e = &self->end[i];

		if (e->qp)
			err = gda_qp_destroy(e->qp);
		e->qp = NULL;
		attr.recv_cq = i ? self->ring : NULL;
		if (!err)
			err = gda_qp_create(e->ctx, &attr, &e->qp);
		e->v = err ? NULL : gda_qp_view(e->qp);
	}
	return err ? err : s_connect(self->end[0].qp, self->end[1].qp);
}

FIXTURE_SETUP(fabric)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 64 };

	for (int i = 0; i < 2; i++)
		ASSERT_OK(s_end_open(&self->end[i], DEPTH, LEN)) TH_LOG("%s", gda_last_error());
	if (!s_fabric(self->end[0].ctx))
		SKIP(return, "the device is on no fabric");
	ASSERT_OK(gda_cq_create(self->end[1].ctx, &ring, &self->ring));
	ASSERT_OK(renew(self));
	memset(self->end[0].mem.addr, 0x11, LEN);
	memset(self->end[1].mem.addr, 0x22, LEN);
}

FIXTURE_TEARDOWN(fabric)
{
	for (int i = 0; i < 2; i++)
		gda_qp_destroy(self->end[i].qp);
	if (self->ring)
		gda_cq_destroy(self->ring);
	for (int i = 0; i < 2; i++) {
		s_memory_free(&self->end[i].mem);
		gda_close(self->end[i].ctx);
	}
}

/* --- children --- */

/*
 * Descriptors and mappings of this process that a device keeps something for. librdmacm opens the
 * RDMA device for itself, too, and has nothing there.
 */
static int files_of_devices(void)
{
	static const char *const kinds[] = {
		"/dev/infiniband/rdma_cm", "/dev/gda", "anon_inode:[eventfd]",
		"anon_inode:[timerfd]",
	};
	char path[64], line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	int n = 0, fd;
	ssize_t bytes;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "/dev/infiniband/") || strstr(line, "/dev/gda");
	if (maps)
		fclose(maps);
	for (fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, line, sizeof(line) - 1);
		line[bytes > 0 ? bytes : 0] = 0;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			n += !strncmp(line, kinds[i], strlen(kinds[i]));
	}
	return n;
}

TEST_F(fabric, item5_a_child_has_no_file_of_the_device)
{
	struct s_end end[2];
	int before = files_of_devices(), status = -1;
	pid_t pid;

	ASSERT_OK(s_pair_open(end, DEPTH, LEN));
	ASSERT_LT(before, files_of_devices());
	pid = fork();
	if (!pid)
		_exit(files_of_devices() ||
		      gda_put(end[0].v, end[0].mem.iova, end[0].mem.key, end[1].mem.iova,
			      end[1].mem.key, 8, 0) != -EIO);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_OK(gda_wait(end[0].v, s_put(&end[0], 0, &end[1], 0, 8, 0), 0));
	s_pair_close(end);
}

#define LOW_FILES	64

/*
 * Of a child: it has files of its own where those of the device were, and a child that counts
 * them.
 */
static int loses_files_to_a_child(void)
{
	int status = -1, fd, n = 0;
	pid_t pid;

	while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd < LOW_FILES)
		;
	pid = fork();
	if (!pid) {
		for (fd = 0; fd < LOW_FILES; fd++)
			n += fcntl(fd, F_GETFD) < 0;
		_exit(n);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

TEST_F(fabric, item5_a_grandchild_keeps_the_childs_files)
{
	struct s_end end[2];
	int status = -1;
	pid_t pid;

	ASSERT_OK(s_pair_open(end, DEPTH, LEN));
	pid = fork();
	if (!pid)
		_exit(loses_files_to_a_child() != 0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	s_pair_close(end);
}

/* --- rights --- */

static const struct operation {
	const char *name;
	uint32_t needs;
} operations[] = {
	{ "put", GDA_ACCESS_REMOTE_WRITE },
	{ "put inline", GDA_ACCESS_REMOTE_WRITE },
	{ "put with immediate", GDA_ACCESS_REMOTE_WRITE },
	{ "get", GDA_ACCESS_REMOTE_READ },
	{ "fetch-add", GDA_ACCESS_REMOTE_ATOMIC },
	{ "compare-swap", GDA_ACCESS_REMOTE_ATOMIC },
};

#define OPERATIONS	(sizeof(operations) / sizeof(operations[0]))

static int64_t operate(FIXTURE_DATA(fabric) *self, uint32_t op, const struct s_memory *to)
{
	const struct s_memory *l = &self->end[0].mem;
	struct gda_view *v = self->end[0].v;
	uint64_t value = 0x3333333333333333;

	switch (op) {
	case 0:
		return gda_put(v, l->iova, l->key, to->iova, to->key, 8, 0);
	case 1:
		return gda_put_inline(v, to->iova, to->key, &value, 8, 0);
	case 2:
		return gda_put_imm(v, l->iova, l->key, to->iova, to->key, 8, 1, 0);
	case 3:
		return gda_get(v, l->iova, l->key, to->iova, to->key, 8, 0);
	case 4:
		return gda_fetch_add(v, l->iova, l->key, to->iova, to->key, 1, 0);
	default:
		return gda_compare_swap(v, l->iova, l->key, to->iova, to->key,
					0x2222222222222222, 1, 0);
	}
}

/* Is @op carried out on memory with these rights exactly if they allow it? */
static bool right_is_kept(FIXTURE_DATA(fabric) *self, uint32_t op, uint32_t access)
{
	bool may = operations[op].needs & access, kept;
	struct gda_error error = { .size = sizeof(error) };
	struct s_memory m;
	uint8_t before[8];
	int err;

	if (s_memory_new(self->end[1].ctx, 4096, access, &m))
		return false;
	memset(self->end[0].mem.addr, 0x44, 8);
	memset(m.addr, 0x22, 4096);
	memcpy(before, m.addr, sizeof(before));
	err = gda_wait(self->end[0].v, operate(self, op, &m), 0);
	if (may)
		kept = !err && (op == 3 || memcmp(before, m.addr, sizeof(before)));
	else
		kept = err == -EIO && gda_error(self->end[0].v, &error) == 1 &&
		       error.syndrome == GDA_MLX5_SYND_REMOTE_ACCESS &&
		       !memcmp(before, m.addr, sizeof(before));
	if (!kept)
		printf("# %s, rights %#x: %s, %s\n", operations[op].name, access,
		       gda_strerror(err), gda_syndrome_name(error.syndrome));
	/* no right beyond those eight bytes was asked for */
	for (int i = 8; i < 4096; i++)
		kept &= m.addr[i] == 0x22;
	if (!may || !kept)
		kept &= !renew(self);
	s_memory_free(&m);
	return kept;
}

TEST_F_TIMEOUT(fabric, K3_rights_4_by_6, 200)
{
	uint32_t access, op, kept = 0, all = 0;

	for (access = 0; access <= GDA_ACCESS_ALL; access++) {
		/* remote stores are stores */
		if (access & (GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_ATOMIC) &&
		    !(access & GDA_ACCESS_LOCAL_WRITE))
			continue;
		for (op = 0; op < OPERATIONS; op++, all++)
			kept += right_is_kept(self, op, access);
	}
	EXPECT_EQ(all, kept);
	EXPECT_EQ(60, all);
}

/* --- keys --- */

/* Is all of the peer's memory as it was? */
static bool untouched(const uint8_t *p)
{
	return p[0] == 0x22 && !memcmp(p, p + 1, LEN - 1);
}

/* Any key, and those that differ from the right one in a few bits. */
static uint32_t guess(uint32_t right, uint64_t *seed)
{
	uint32_t key = (uint32_t)s_random(seed);

	switch (s_below(seed, 4)) {
	case 0:
		key = (right & ~0xffU) | (key & 0xff);
		break;
	case 1:
		key = right ^ 1U << s_below(seed, 32);
		break;
	case 2:
		key = right + (uint32_t)s_below(seed, 64) * 0x100;
		break;
	}
	return key == right ? right ^ 1 : key;
}

TEST_F_TIMEOUT(fabric, K1_guesses, 300)
{
	unsigned long n = s_short(100, 410), hits = 0;
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t seed = s_seed();

	TH_LOG("%lu guesses, GDA_SEED=%llu", n, (unsigned long long)seed);
	for (unsigned long i = 0; i < n; i++) {
		uint32_t key = guess(b->mem.key, &seed);
		int err = gda_wait(a->v, gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, key, 8,
						 0), 0);

		hits += err != -EIO || qp_state(a->qp) != GDA_QP_ERROR;
		ASSERT_OK(renew(self));
	}
	EXPECT_EQ(0, hits);
	EXPECT_TRUE(untouched(b->mem.addr));
	/* the right one opens */
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
}

/* A key of another context of the same device, and the requester's own. */
TEST_F(fabric, K2_keys_of_other_contexts)
{
	struct s_end *a = &self->end[0], *b = &self->end[1], other;
	uint32_t key[2];

	ASSERT_OK(s_end_open(&other, DEPTH, LEN));
	memset(other.mem.addr, 0x22, LEN);
	key[0] = other.mem.key;
	key[1] = a->mem.key;
	for (int i = 0; i < 2; i++) {
		uint64_t iova = i ? a->mem.iova : other.mem.iova;
		int64_t t = gda_put(a->v, a->mem.iova, a->mem.key, iova, key[i], 8, 0);

		EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
		ASSERT_OK(renew(self));
	}
	EXPECT_TRUE(untouched(other.mem.addr));
	EXPECT_TRUE(untouched(b->mem.addr));
	s_end_close(&other);
}

/* Puts are under way when their target is deregistered: then no byte of it changes any more. */
TEST_F_TIMEOUT(fabric, K2_no_byte_changes_after_deregistration, 300)
{
	static uint8_t seen[LEN];
	struct s_end *a = &self->end[0], *b = &self->end[1];
	unsigned long n = s_short(250, 1000), changed = 0, failed = 0;
	uint64_t seed = s_seed();

	TH_LOG("%lu rounds, GDA_SEED=%llu", n, (unsigned long long)seed);
	for (unsigned long r = 0; r < n; r++) {
		uint32_t before = (uint32_t)s_below(&seed, 8), i;
		struct s_memory m;

		ASSERT_OK(s_register(b->ctx, b->mem.addr, LEN, GDA_ACCESS_ALL, &m));
		memset(a->mem.addr, (int)(r % 255 + 1), LEN);
		for (i = 0; i < 16; i++)
			if (gda_put(a->v, a->mem.iova + i * 4096, a->mem.key, m.iova + i * 4096,
				    m.key, 4096, 0) < 0)
				break;
		/* some of them are done */
		if (before)
			gda_wait(a->v, before, 0);
		ASSERT_OK(gda_mr_dereg(m.mr));
		memcpy(seen, b->mem.addr, LEN);
		failed += gda_quiet(a->v, 0) == -EIO;
		/* none comes late, either */
		if (gda_wait(a->v, gda_put(a->v, a->mem.iova, a->mem.key, m.iova, m.key, 4096, 0),
			     0) == 0)
			changed++;
		changed += !!memcmp(seen, b->mem.addr, LEN);
		ASSERT_OK(renew(self));
	}
	EXPECT_EQ(0, changed);
	TH_LOG("%lu of %lu rounds met work under way", failed, n);
}

/* --- connections --- */

#define PAIRS	1000U

struct half {
	struct gda_qp **qp;
	struct gda_address *to;
	uint32_t *order;
	uint32_t n;
	uint64_t seed;
	unsigned int late;	/* seconds before the last one */
	int err;
};

static void *connect_half(void *arg)
{
	struct half *h = arg;

	for (uint32_t i = 0; i < h->n && !h->err; i++) {
		if (i + 1 == h->n)
			sleep(h->late);
		h->err = gda_qp_connect(h->qp[h->order[i]], &h->to[h->order[i]]);
		if (!s_below(&h->seed, 8))
			usleep((useconds_t)s_below(&h->seed, 3000));
	}
	return NULL;
}

static void shuffle(uint32_t *order, uint32_t n, uint64_t *seed)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)s_below(seed, i), k = order[i - 1];

		order[i - 1] = order[j];
		order[j] = k;
	}
}

static struct gda_qp *pair_qp[2][PAIRS];
static struct gda_address pair_to[2][PAIRS];
static uint32_t pair_order[2][PAIRS];

static int make_pairs(FIXTURE_DATA(fabric) *self, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		for (int side = 0; side < 2 && !err; side++) {
			err = s_qp_open(self->end[side].ctx, 4, S_TIMEOUT_NS, &pair_qp[side][i]);
			if (!err)
				err = gda_qp_address(pair_qp[side][i], &pair_to[!side][i]);
		}
	return err;
}

/*
 * The two ends of each pair name each other from two threads, each in an order of its own. One end
 * of one pair is @late seconds late.
 */
static int connect_pairs(uint32_t n, unsigned int late, uint64_t *seed)
{
	struct half half[2];
	pthread_t thread[2];
	int err = 0;

	for (int side = 0; side < 2; side++) {
		shuffle(pair_order[side], n, seed);
		half[side] = (struct half) { pair_qp[side], pair_to[side], pair_order[side], n,
					     s_random(seed), side ? 0 : late, 0 };
		if (pthread_create(&thread[side], NULL, connect_half, &half[side]))
			return -ENOMEM;
	}
	for (int side = 0; side < 2; side++) {
		pthread_join(thread[side], NULL);
		err = err ? err : half[side].err;
	}
	return err;
}

TEST_F_TIMEOUT(fabric, E6_connects_in_any_order, 300)
{
	uint32_t n = (uint32_t)s_short(PAIRS / 20, PAIRS / 5), wrong = 0;
	unsigned int late = (unsigned int)s_stress(3);
	uint64_t seed = s_seed();

	n = n < PAIRS ? n : PAIRS;
	TH_LOG("%u pairs, one %u s late, GDA_SEED=%llu", n, late, (unsigned long long)seed);
	/* of the fake device only */
	setenv("GDA_FAKE_DELAY", "20", 1);
	ASSERT_OK(make_pairs(self, n));
	ASSERT_OK(connect_pairs(n, late, &seed));
	for (uint32_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++)
			wrong += state_after(pair_qp[side][i], GDA_QP_WAIT, 60) != GDA_QP_READY;
	EXPECT_EQ(0, wrong);
	for (uint32_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++)
			EXPECT_OK(gda_qp_destroy(pair_qp[side][i]));
}

TEST_HARNESS_MAIN
