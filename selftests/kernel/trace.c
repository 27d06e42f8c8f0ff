// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tracepoints: what was begun, each outcome with ticket, opcode and class, workers that sleep, and
 * devices.
 *
 * They are switched on and off while no context is bound: emulators before QEMU 8.1 may die of
 * code that is patched while another processor runs it. For the same reason the names of
 * processes are not recorded, which would patch the scheduler.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <gda/cause.h>
#include <gda/efa.h>
#include "gda_fixture.h"

#define ROOM	(1U << 18)

static const char *const events[] = {
	"gda_fetched", "gda_outcome", "gda_worker", "gda_device", "gda_doorbell",
	"gda_qp_connect", "gda_qp_error", "gda_mr",
};

FIXTURE(trace) {
	char root[64];			/* where tracefs is mounted */
	char dir[96];			/* a buffer of this test's own */
	char *text;
};

static int set_events(const char *dir, const char *value)
{
	char path[192];
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++) {
		snprintf(path, sizeof(path), "%s/events/gda/%s", dir, events[i]);
		err = t_write_file(path, "enable", value);
	}
	return err;
}

T_SETUP(trace)
{
	self->text = malloc(ROOM);
	ASSERT_NE(NULL, self->text);
	snprintf(self->root, sizeof(self->root), "/tmp/gda-trace.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	self->dir[0] = 0;
	if (mount("none", self->root, "tracefs", 0, NULL))
		SKIP(return, "no tracefs in this kernel");
	/* a new buffer has the options of the first one */
	ASSERT_OK(t_write_file(self->root, "options/record-cmd", "0"));
	snprintf(self->dir, sizeof(self->dir), "%s/instances/gda-test", self->root);
	ASSERT_EQ(0, mkdir(self->dir, 0700));
	ASSERT_OK(set_events(self->dir, "1"));
}

T_TEARDOWN(trace)
{
	if (self->dir[0]) {
		EXPECT_OK(set_events(self->dir, "0"));
		EXPECT_EQ(0, rmdir(self->dir));
		EXPECT_OK(t_write_file(self->root, "options/record-cmd", "1"));
		umount2(self->root, MNT_DETACH);
	}
	rmdir(self->root);
	free(self->text);
}

/* All that was traced so far, as text. */
static int look(const char *dir, char *text)
{
	char path[128];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", dir);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	len = fread(text, 1, ROOM - 1, f);
	text[len] = 0;
	fclose(f);
	return 0;
}

/* How many lines have both? */
static int count(const char *text, const char *event, const char *words)
{
	char line[512];
	int n = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		size_t len = (size_t)(end - text);

		if (len >= sizeof(line))
			continue;
		memcpy(line, text, len);
		line[len] = 0;
		n += strstr(line, event) && strstr(line, words);
	}
	return n;
}

/* Wait until an event with these words was traced. */
static bool comes(const char *dir, char *text, const char *event, const char *words)
{
	uint64_t end = t_now() + T_WAIT_NS;

	do {
		if (!look(dir, text) && count(text, event, words))
			return true;
		t_sleep_ns(T_NS / 100);
	} while (t_now() < end);
	return false;
}

#define LEN	(1UL << 20)

TEST_F(trace, M_04_fetched_and_outcome)
{
	struct t_end end[2];
	char words[128];
	uint32_t qpn;
	int opcode = t_speaks_efa() ? GDA_EFA_WRITE : GDA_MLX5_WRITE;
	struct t_wr wr;

	ASSERT_OK(t_pair_open(end, 16, LEN));
	qpn = end[0].qp.qpc.qpn;
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 24);
	ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	/* longer than a visit: it is begun in one, and done in another */
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, LEN);
	ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 40);
	wr.rkey ^= 1;
	t_post(&end[0].qp, &wr);
	t_post(&end[0].qp, &wr);
	t_ring(&end[0].qp);
	ASSERT_NE(0, t_wait(&end[0].qp, 3, NULL));
	ASSERT_OK(look(self->dir, self->text));
	snprintf(words, sizeof(words), "qpn=%#x ticket=0 done opcode=%#x len=24 class=0 cause=0",
		 qpn, opcode);
	EXPECT_EQ(1, count(self->text, "gda_outcome:", words)) TH_LOG("%s", self->text);
	snprintf(words, sizeof(words), "qpn=%#x ticket=1 opcode=%#x len=%lu raddr=%#llx rkey=%#x",
		 qpn, opcode, LEN, (unsigned long long)end[1].mr.iova, end[1].mr.key);
	EXPECT_EQ(1, count(self->text, "gda_fetched:", words)) TH_LOG("%s", self->text);
	snprintf(words, sizeof(words), "qpn=%#x ticket=1 done opcode=%#x len=%lu", qpn,
		 opcode, LEN);
	EXPECT_EQ(1, count(self->text, "gda_outcome:", words));
	snprintf(words, sizeof(words), "ticket=2 failed opcode=%#x len=40 class=%u cause=%u",
		 opcode, GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY);
	EXPECT_EQ(1, count(self->text, "gda_outcome:", words));
	snprintf(words, sizeof(words), "qpn=%#x ticket=3 flushed", qpn);
	EXPECT_EQ(1, count(self->text, "gda_outcome:", words));
	EXPECT_EQ(1, count(self->text, "gda_fetched:", ""));
	EXPECT_EQ(4, count(self->text, "gda_outcome:", ""));
	/* those that there were before */
	EXPECT_LT(0, count(self->text, "gda_doorbell:", "active"));
	EXPECT_EQ(2, count(self->text, "gda_mr:", "registered"));
	EXPECT_EQ(!t_speaks_efa(), !!count(self->text, "gda_qp_connect:", "ret=0"));
	EXPECT_LT(0, count(self->text, "gda_qp_error:", ""));
	t_pair_close(end);
}

TEST_F(trace, M_04_worker)
{
	struct t_end end[2];
	struct t_wr wr;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	EXPECT_TRUE(comes(self->dir, self->text, "gda_worker:", "asleep"));
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	/* a plain store may be served by its fault, and the worker sleeps on */
	t_post(&end[0].qp, &wr);
	t_ring_exchange(&end[0].qp);
	ASSERT_OK(t_wait(&end[0].qp, end[0].qp.next - 1, NULL));
	EXPECT_TRUE(comes(self->dir, self->text, "gda_worker:", "awake"));
	t_pair_close(end);
}

TEST_F(trace, M_04_device)
{
	ASSERT_OK(t_soft0("unbind"));
	EXPECT_OK(t_soft0("bind"));
	EXPECT_TRUE(comes(self->dir, self->text, "gda_device:", GDA_DEVICE_SOFT " removed"));
	EXPECT_TRUE(comes(self->dir, self->text, "gda_device:", GDA_DEVICE_SOFT " added"));
}

TEST_HARNESS_MAIN
