// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues whose peer is in the other guest of gda-pair, on the device of the kernel and on
 * that of the library: side 0 posts, side 1 owns the memory and the other end. No event of the
 * network or of side 1 loses a word, and every wait ends.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include "kselftest_harness.h"
#include "pair.h"
#include "remote.h"

#define ROUNDS	10000
#define SLOT	16		/* bytes of data before a flag */
#define FLAG	(BYTES - 8)	/* offset of the flag */
#define OLD	(BYTES - 16)	/* where an atomic leaves the old value */

FIXTURE(remote) {
	struct remote r;
};

FIXTURE_VARIANT(remote) {
	const char *kind;
};

FIXTURE_VARIANT_ADD(remote, ib) { .kind = "ib" };
FIXTURE_VARIANT_ADD(remote, verbs) { .kind = "verbs" };

/* Of a test and a variant, for the other side's as well. */
static const char *unique(char *name, size_t room, const char *test, const char *kind,
			  const char *step)
{
	snprintf(name, room, "%s.%s.%s", test, kind, step);
	return name;
}

#define MEET(step) ({ \
	char meet_name[96]; \
	pair_barrier(unique(meet_name, sizeof(meet_name), _metadata->name, variant->kind, step)); \
})

FIXTURE_SETUP(remote)
{
	int err;

	memset(&self->r, 0, sizeof(self->r));
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	err = remote_open(&self->r, variant->kind, _metadata->name);
	if (err == 1)
		SKIP(return, "%s", self->r.why);
	ASSERT_EQ(0, err) TH_LOG("%s (%s)", gda_strerror(err), gda_last_error());
}

FIXTURE_TEARDOWN(remote)
{
	if (!self->r.key)
		return;
	/* Neither end goes before the other one is through. */
	MEET("done");
	side_close(&self->r.s);
}

static int64_t flag(struct remote *r)
{
	return gda_fetch_add(r->s.v, r->s.iova + OLD, r->s.key, r->iova + FLAG, r->key, 1,
			     GDA_EXCLUSIVE);
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

TEST_F_TIMEOUT(remote, put_and_get, 90)
{
	uint8_t *mem = self->r.s.mem;
	int64_t ticket;

	for (size_t i = 0; i < BYTES; i++)
		mem[i] = pair_side() ? 0 : pattern(i);
	ASSERT_EQ(0, MEET("ready"));
	if (!pair_side()) {
		for (size_t at = 0; at < BYTES; at += 4096)
			ASSERT_LE(0, put(&self->r, at, 4096, 0));
		ASSERT_EQ(0, gda_quiet(self->r.s.v, gda_clock_ns() + LONG_NS));
		memset(mem, 0, BYTES);
		ticket = gda_get(self->r.s.v, self->r.s.iova, self->r.s.key, self->r.iova,
				 self->r.key, BYTES, GDA_EXCLUSIVE);
		ASSERT_EQ(0, gda_wait(self->r.s.v, ticket, gda_clock_ns() + LONG_NS));
	}
	ASSERT_EQ(0, MEET("moved"));
	for (size_t i = 0; i < BYTES; i++)
		ASSERT_EQ(pattern(i), mem[i]);
}

static int netem(const char *how)
{
	char command[160];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root netem %s", how,
		 pair_env("GDA_PAIR_NETDEV"),
		 strcmp(how, "del") ? "delay 1ms reorder 1% loss 0.1%" : "");
	return system(command);
}

/* Each word of data is there when the flag behind it is. Return: how many were not. */
static unsigned int stale(struct remote *r, uint64_t *seen)
{
	uint64_t until = gda_clock_ns() + 8 * LONG_NS, now;
	unsigned int wrong = 0;

	for (*seen = 0; *seen < ROUNDS && gda_clock_ns() < until;) {
		now = gda_load_acquire64((uint64_t *)(r->s.mem + FLAG));
		for (; *seen < now; ++*seen) {
			const uint64_t *slot = (uint64_t *)(r->s.mem + *seen * SLOT);

			wrong += slot[0] != *seen + 1 || slot[1] != ~(*seen + 1);
		}
	}
	return wrong;
}

TEST_F_TIMEOUT(remote, flag_behind_data_under_loss, 300)
{
	uint64_t seen = ROUNDS;

	memset(self->r.s.mem, 0, BYTES);
	ASSERT_EQ(0, netem("add"));
	ASSERT_EQ(0, MEET("ready"));
	if (pair_side()) {
		EXPECT_EQ(0, stale(&self->r, &seen));
	} else {
		for (uint64_t i = 0; i < ROUNDS; i++) {
			uint64_t *slot = (uint64_t *)(self->r.s.mem + i * SLOT);

			slot[0] = i + 1;
			slot[1] = ~(i + 1);
			ASSERT_LE(0, put(&self->r, i * SLOT, SLOT, GDA_DEFER));
			ASSERT_LE(0, flag(&self->r));
		}
		EXPECT_EQ(0, gda_quiet(self->r.s.v, gda_clock_ns() + 8 * LONG_NS));
	}
	EXPECT_EQ(ROUNDS, seen);
	ASSERT_EQ(0, MEET("through"));
	EXPECT_EQ(0, netem("del"));
}

TEST_F_TIMEOUT(remote, link_off_and_on_loses_nothing, 120)
{
	uint64_t *mem = (uint64_t *)self->r.s.mem;

	for (size_t i = 0; i < 4096; i++)
		mem[i] = pair_side() ? 0 : i + 1;
	ASSERT_EQ(0, MEET("ready"));
	if (!pair_side()) {
		for (size_t i = 0; i < 4096; i++) {
			if (i == 100)
				ASSERT_EQ(0, pair_ask("link-off", 1));
			if (i == 200) {
				sleep(2);
				ASSERT_EQ(0, pair_ask("link-on", 1));
			}
			ASSERT_LE(0, put(&self->r, i * 8, 8, 0));
		}
		EXPECT_EQ(0, gda_quiet(self->r.s.v, gda_clock_ns() + LONG_NS));
		EXPECT_EQ(0, cause(&self->r));
	}
	ASSERT_EQ(0, MEET("through"));
	for (size_t i = 0; i < 4096; i++)
		ASSERT_EQ(i + 1, mem[i]);
}

TEST_F_TIMEOUT(remote, cut_link_ends_in_retry_exceeded, 90)
{
	uint32_t why;

	ASSERT_EQ(0, MEET("ready"));
	if (pair_side())
		return;
	ASSERT_EQ(0, put_wait(&self->r, 0, 8));
	ASSERT_EQ(0, pair_ask("link-off", 1));
	EXPECT_EQ(-EIO, lost(&self->r, &why));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, why);
	ASSERT_EQ(0, pair_ask("link-on", 1));
}

TEST_F_TIMEOUT(remote, stopped_peer_ends_in_retry_exceeded, 90)
{
	uint32_t why;

	ASSERT_EQ(0, MEET("ready"));
	if (pair_side())
		return;
	ASSERT_EQ(0, put_wait(&self->r, 0, 8));
	ASSERT_EQ(0, pair_ask("stop", 1));
	EXPECT_EQ(-EIO, lost(&self->r, &why));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, why);
	ASSERT_EQ(0, pair_ask("cont", 1));
}

/* A device of the library here, and one of the kernel there; and the other way round. */
FIXTURE(mixed) {
	struct remote r;
};

FIXTURE_VARIANT(mixed) {
	const char *kind;
};

FIXTURE_VARIANT_ADD(mixed, verbs_to_ib) { .kind = "verbs,ib" };
FIXTURE_VARIANT_ADD(mixed, ib_to_verbs) { .kind = "ib,verbs" };

FIXTURE_SETUP(mixed)
{
	int err;

	memset(&self->r, 0, sizeof(self->r));
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	err = remote_open(&self->r, variant->kind, "mixed");
	if (err == 1)
		SKIP(return, "%s", self->r.why);
	ASSERT_EQ(0, err) TH_LOG("%s (%s)", gda_strerror(err), gda_last_error());
}

FIXTURE_TEARDOWN(mixed)
{
	if (!self->r.key)
		return;
	MEET("done");
	side_close(&self->r.s);
}

TEST_F_TIMEOUT(mixed, put_get_and_atomic, 90)
{
	struct remote *r = &self->r;
	uint64_t *old = (uint64_t *)(r->s.mem + OLD), *count = (uint64_t *)(r->s.mem + FLAG);

	for (size_t i = 0; i < BYTES; i++)
		r->s.mem[i] = pair_side() ? 0 : pattern(i);
	*count = pair_side() ? 41 : 0;
	ASSERT_EQ(0, MEET("ready"));
	if (!pair_side()) {
		ASSERT_EQ(0, put_wait(r, 0, OLD));
		memset(r->s.mem, 0, OLD);
		ASSERT_EQ(0, gda_wait(r->s.v, gda_get(r->s.v, r->s.iova, r->s.key, r->iova, r->key,
						      OLD, GDA_EXCLUSIVE),
				      gda_clock_ns() + LONG_NS));
		ASSERT_EQ(0, gda_wait(r->s.v, flag(r), gda_clock_ns() + LONG_NS));
		EXPECT_EQ(41, *old);
	}
	ASSERT_EQ(0, MEET("moved"));
	for (size_t i = 0; i < OLD; i++)
		ASSERT_EQ(pattern(i), r->s.mem[i]);
	if (!pair_side())
		return;
	EXPECT_EQ(42, *count);
	/* and back */
	ASSERT_EQ(0, put_wait(r, 0, 4096));
}

FIXTURE(process) {
	int nothing;
};

FIXTURE_VARIANT(process) {
	const char *kind;
};

FIXTURE_VARIANT_ADD(process, ib) { .kind = "ib" };
FIXTURE_VARIANT_ADD(process, verbs) { .kind = "verbs" };

FIXTURE_SETUP(process)
{
	self->nothing = 0;
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
}

FIXTURE_TEARDOWN(process)
{
}

/* Side 1: a process with the other end, which is killed when side 0 has put to it. */
static int victim(const char *kind, const char *go)
{
	struct remote r = { 0 };
	pid_t pid = fork();
	int err, word;

	if (!pid) {
		err = remote_open(&r, kind, "victim");
		while (!err)
			pause();
		_exit(0);
	}
	err = pair_get(go, &word, sizeof(word));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

TEST_F_TIMEOUT(process, killed_peer_fails_an_idle_queue, 90)
{
	struct remote r = { 0 };
	uint64_t begin;
	char go[96];
	int err, word = 1;

	unique(go, sizeof(go), "killed", variant->kind, "go");
	if (pair_side()) {
		ASSERT_EQ(0, victim(variant->kind, go));
		return;
	}
	err = remote_open(&r, variant->kind, "victim");
	if (!err)
		err = put_wait(&r, 0, 8);
	ASSERT_EQ(0, pair_put(go, &word, sizeof(word)));
	if (err == 1)
		SKIP(return, "%s", r.why);
	ASSERT_EQ(0, err);
	begin = gda_clock_ns();
	while (!cause(&r) && gda_clock_ns() < begin + LONG_NS)
		usleep(1000);
	EXPECT_NE(0, cause(&r));
	printf("# %s after %llu ms\n", gda_syndrome_name(cause(&r)),
	       (unsigned long long)(gda_clock_ns() - begin) / 1000000);
	side_close(&r.s);
}

TEST_HARNESS_MAIN
