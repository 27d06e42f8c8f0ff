// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Doorbell by fault where a page goes silent as soon as nothing is found on it: gda_core
 * with idle_us=0. SECURITY.md E3: no store is lost, however often that happens.
 */
#include "gda_fixture.h"
#include "reload.h"

FIXTURE(idle_zero) {
	struct t_modules m;
	bool reloaded;
};

FIXTURE_SETUP(idle_zero)
{
	struct gda_query query = { .size = sizeof(query) };
	int fd;

	if (t_modules_begin(&self->m))
		SKIP(return, "no modules at %s", self->m.path[T_CORE]);
	self->reloaded = true;
	ASSERT_OK(t_reload(&self->m, "idle_us=0"));
	fd = t_context();
	ASSERT_LE(0, fd);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	ASSERT_EQ(0, query.idle_ns);
	close(fd);
}

FIXTURE_TEARDOWN(idle_zero)
{
	if (!self->reloaded)
		return;
	EXPECT_OK(t_reload(&self->m, ""));
	EXPECT_OK(t_modules_end(&self->m));
}

/* From none to the time in which a page goes silent, and a little more. */
static void pause_ns(uint64_t *seed, unsigned long i)
{
	uint64_t until = t_now() + t_random(seed) % (i % 4 ? 50000 : 400000);

	while (i % 8 && t_now() < until)
		;
}

/*
 * 10^4 stores, if there is time on a busy machine; GDA_STRESS=10 is 10^6. A lost
 * store would never complete.
 */
TEST_F_TIMEOUT(idle_zero, E3_no_store_is_lost, 36000)
{
	unsigned long most = t_short(10000, 100000), n;
	uint64_t until = t_now() + t_short(10, 60) * T_NS, seed = t_seed();
	uint64_t *ns = calloc(most, sizeof(*ns));
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp qp;
	int fd = t_context();

	ASSERT_LE(0, fd);
	ASSERT_NE(NULL, ns);
	TH_LOG("GDA_SEED=%llu", (unsigned long long)seed);
	ASSERT_OK(t_qp_open(&qp, fd, 64));
	ASSERT_OK(t_connect(&qp, &qp));
	for (n = 0; n < most && (n < 500 || t_now() < until); n++) {
		pause_ns(&seed, n);
		ns[n] = t_now();
		ASSERT_OK(t_run(&qp, &nop, NULL)) TH_LOG("store %lu", n);
		ns[n] = t_now() - ns[n];
	}
	t_qp_close(&qp);
	close(fd);
	t_sort(ns, n);
	TH_LOG("%lu stores, answered after (median) %llu us, 99%% %llu us, most %llu us", n,
	       (unsigned long long)ns[n / 2] / 1000, (unsigned long long)ns[n * 99 / 100] / 1000,
	       (unsigned long long)ns[n - 1] / 1000);
	free(ns);
}

TEST_HARNESS_MAIN
