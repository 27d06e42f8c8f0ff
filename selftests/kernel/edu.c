// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A device, not a CPU, drives the queue: QEMU's PCI device "edu" behind an IOMMU that
 * translates (gda-vm -e). Its DMA engine writes the work request, the record and the
 * doorbell through its own mappings of what was exported, and reads the completion.
 * It reaches what is mapped for it and nothing else; SECURITY.md M11 and K5 with a
 * device that holds the mapping.
 */
#include <sys/ioctl.h>
#include "gda_fixture.h"
#include "move.h"
#include "../kmod/gda_edu/ioctl.h"

#define LEN	(16 * T_PAGE)

/* The kernel logs this of an address that the IOMMU refused. */
#define FAULT	"DMAR: [DMA "
/*
 * The SMMU of arm64 makes an event of each few bytes, which the kernel logs in five lines: this
 * one, then four of a number each, of which the third is the address. Ten events in five seconds.
 */
#define EVENT	": event 0x"
#define NUMBER	"\\x090x"		/* a tab, as /dev/kmsg has it */

/* A region as the device sees it. */
struct seen {
	int fd;
	uint32_t id;
	uint64_t base;		/* of the dma-buf */
	uint64_t iova;		/* of the part that is ours */
	uint64_t length;	/* of the dma-buf */
};

enum { SQ, REC, DB, CQ, PARTS };

FIXTURE(edu) {
	int edu;		/* /dev/gda_edu */
	int log;		/* /dev/kmsg, read up to the last fault */
	struct t_end end[2];
	struct seen part[PARTS];
};

static int attach(int edu, int fd, uint32_t flags, struct seen *s)
{
	struct gda_edu_attach cmd = { .fd = fd, .flags = flags };
	int err = t_ioctl(edu, GDA_EDU_ATTACH, &cmd);

	s->fd = fd;
	s->id = cmd.id;
	s->base = cmd.iova;
	s->iova = cmd.iova;
	s->length = cmd.length;
	return err;
}

static int detach(int edu, const struct seen *s)
{
	struct gda_edu_detach cmd = { .id = s->id };

	return t_ioctl(edu, GDA_EDU_DETACH, &cmd);
}

static int copy(int edu, uint64_t iova, const void *data, size_t len, uint32_t flags)
{
	struct gda_edu_copy cmd = {
		.iova = iova, .data = (uintptr_t)data, .length = (uint32_t)len, .flags = flags,
	};

	return t_ioctl(edu, GDA_EDU_COPY, &cmd);
}

static int device_writes(int edu, uint64_t iova, const void *data, size_t len)
{
	return copy(edu, iova, data, len, GDA_EDU_WRITE);
}

static int device_reads(int edu, uint64_t iova, void *data, size_t len)
{
	return copy(edu, iova, data, len, 0);
}

/* Export a part of an object, and attach it for the device. */
static int show(int edu, int fd, uint32_t handle, uint32_t type, struct seen *s)
{
	struct gda_region_export cmd = { .size = sizeof(cmd), .handle = handle, .type = type };
	int err = t_ioctl(fd, GDA_IOC_REGION_EXPORT, &cmd);

	if (err)
		return err;
	err = attach(edu, cmd.fd, type == GDA_REGION_CQ ? GDA_EDU_READ_ONLY : 0, s);
	s->iova += cmd.offset;
	return err;
}

static int show_all(int edu, const struct t_qp *qp, struct seen part[PARTS])
{
	static const uint32_t types[PARTS] = {
		GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB, GDA_REGION_CQ,
	};
	int err = 0;

	for (int i = 0; i < PARTS && !err; i++) {
		err = show(edu, qp->fd, i == CQ ? qp->cqc.handle : qp->qpc.handle, types[i],
			   &part[i]);
	}
	return err;
}

/* The last event of an SMMU that the log had: lines of it still to come, and its page. */
static unsigned int event_lines;
static uint64_t event_page;

/* Does @line end an event of another page than the last one? All accesses here stay in a page. */
static bool tells_event(const char *line)
{
	const char *number = strstr(line, NUMBER);
	uint64_t page;

	if (strstr(line, EVENT)) {
		event_lines = 3;
	} else if (number && event_lines && !--event_lines) {
		page = strtoull(number + strlen(NUMBER) - 2, NULL, 16) / T_PAGE;
		if (page != event_page) {
			event_page = page;
			return true;
		}
	}
	return false;
}

/* Faults that the log has had since the last call. */
static unsigned int faults_told(int log)
{
	unsigned int n = 0;
	char line[1024];
	ssize_t got;

	for (;;) {
		got = read(log, line, sizeof(line) - 1);
		if (got < 0 && errno == EPIPE)
			continue;
		if (got <= 0)
			return n;
		line[got] = 0;
		n += strstr(line, FAULT) || tells_event(line);
	}
}

/*
 * Faults of the IOMMU since the last call: waits for @want, and a little for more. The kernel
 * tells of them from an interrupt's thread.
 */
static unsigned int faults(int log, unsigned int want)
{
	uint64_t end = t_now() + T_WAIT_NS;
	unsigned int n = faults_told(log);

	while (n < want && t_now() < end) {
		t_sleep_ns(T_NS / 100);
		n += faults_told(log);
	}
	t_sleep_ns(T_NS / 5);
	return n + faults_told(log);
}

T_SETUP(edu)
{
	self->edu = open("/dev/gda_edu", O_RDWR | O_CLOEXEC);
	if (self->edu < 0 && errno == ENOENT)
		SKIP(return, "no edu device behind an IOMMU (gda-vm -e)");
	ASSERT_LE(0, self->edu);
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, self->log);
	lseek(self->log, 0, SEEK_END);
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
	ASSERT_OK(show_all(self->edu, &self->end[0].qp, self->part));
}

/* The device lets go at the latest now; no test leaves a fault that it did not expect. */
T_TEARDOWN(edu)
{
	EXPECT_EQ(0, faults(self->log, 0));
	for (int i = 0; i < PARTS; i++)
		close(self->part[i].fd);
	close(self->edu);
	close(self->log);
	t_pair_close(self->end);
}

/* Post and ring as t_post() and t_ring() do, every store of it the device's. */
static int device_posts(int edu, const struct seen *part, struct t_qp *qp,
			const struct t_wr *wr)
{
	uint64_t slot = qp->next & (qp->depth - 1);
	uint8_t wqe[T_WQE_MAX];
	unsigned int slots = t_slots(t_encode(wqe, wr, qp->next, qp->qpc.qpn));
	uint32_t record;
	uint64_t bell;
	int err;

	qp->next += slots;
	record = gda_mlx5_dbrec(qp->next);
	bell = gda_mlx5_doorbell(qp->next, qp->qpc.qpn);
	err = device_writes(edu, part[SQ].iova + slot * GDA_MLX5_SLOT_BYTES, wqe,
			    slots * GDA_MLX5_SLOT_BYTES);
	err = err ? err : device_writes(edu, part[REC].iova + 4, &record, sizeof(record));
	return err ? err : device_writes(edu, part[DB].iova, &bell, sizeof(bell));
}

TEST_F(edu, device_drives_the_queue)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t index = a->qp.next;
		struct t_done done;
		uint8_t cqe[64];
		struct t_wr wr;

		memset(a->mr.addr, 0x51 + (int)i, LEN);
		wr = i == 2 ? t_wr_read(&a->mr, 1, &b->mr, 0, T_PAGE) :
			      t_wr_write(&a->mr, 0, &b->mr, i, LEN - i);
		if (i == 2)
			memset(b->mr.addr, 0x77, LEN);
		ASSERT_OK(device_posts(self->edu, self->part, &a->qp, &wr));
		ASSERT_OK(t_wait(&a->qp, index, &done)) TH_LOG("round %u", i);
		if (i == 2) {
			EXPECT_TRUE(t_all(a->mr.addr + 1, 0x77, T_PAGE));
			EXPECT_EQ(0x53, a->mr.addr[T_PAGE + 1]);
		} else {
			EXPECT_TRUE(t_all(b->mr.addr + i, 0x51 + i, LEN - i));
		}
		/* Nor does the device need a CPU to see that it is done. */
		ASSERT_OK(device_reads(self->edu, self->part[CQ].iova, cqe, sizeof(cqe)));
		EXPECT_EQ(0, memcmp(done.raw, cqe, sizeof(cqe)));
	}
}

/* Where the CPU left the queue the device goes on, and back; the queue is full once. */
TEST_F(edu, device_and_cpu_take_turns)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);

	for (unsigned int i = 0; i < a->qp.depth - 1; i++)
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
	for (int i = 0; i < 2; i++) {
		uint64_t index = a->qp.next;

		ASSERT_OK(device_posts(self->edu, self->part, &a->qp, &wr));
		ASSERT_OK(t_wait(&a->qp, index, NULL));
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
	}
}

/* Bytes that no CPU wrote are as hostile as others: the queue fails, nothing else. */
TEST_F(edu, S2_device_rings_nonsense)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);
	uint32_t record = gda_mlx5_dbrec(1000);
	uint64_t bell = gda_mlx5_doorbell(1000, a->qp.qpc.qpn);
	struct t_end other[2];

	ASSERT_OK(t_pair_open(other, 64, T_PAGE));
	ASSERT_OK(device_writes(self->edu, self->part[REC].iova + 4, &record, sizeof(record)));
	ASSERT_OK(device_writes(self->edu, self->part[DB].iova, &bell, sizeof(bell)));
	EXPECT_EQ((int)GDA_QP_ERROR, t_wait_state(&a->qp, GDA_QP_READY, T_WAIT_NS));
	wr = t_wr_write(&other[0].mr, 0, &other[1].mr, 0, 64);
	EXPECT_OK(t_run(&other[0].qp, &wr, NULL));
	t_pair_close(other);
}

/* When the kernel told of the last fault, ns of its log's clock; 0: of none yet. */
static uint64_t last_fault(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned long long us, last = 0;
	char line[1024];
	ssize_t got;

	while ((got = read(log, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		line[got > 0 ? got : 0] = 0;
		if ((strstr(line, FAULT) || strstr(line, EVENT)) &&
		    sscanf(line, "%*u,%*u,%llu", &us) == 1)
			last = us;
	}
	close(log);
	return last * 1000;
}

/* Until the kernel tells of faults again. */
static void wait_for_log(void)
{
	uint64_t again = last_fault() + 6 * T_NS, now = t_now();

	if (again > now)
		t_sleep_ns(again - now);
}

/* The kernel tells of three faults in five seconds: let a test begin where it does. */
static void expect_faults(void)
{
	printf("# dmesg: DMAR: \\[DMA (Read|Write) NO_PASID\\]|DMAR: DRHD: handling fault\n");
	printf("# dmesg: arm-smmu-v3 .*: event 0x1[03] received\n");
	fflush(stdout);
	wait_for_log();
}

/* One more fault: all events of an SMMU that may be told may have been of the last one. */
static void expect_another(void)
{
	if (event_page)
		wait_for_log();
}

static uint64_t lowest(const struct seen part[PARTS])
{
	uint64_t iova = UINT64_MAX;

	for (int i = 0; i < PARTS; i++)
		iova = part[i].base < iova ? part[i].base : iova;
	return iova;
}

/* The device's reach ends where its mappings end: the IOMMU says so, nothing is written. */
TEST_F(edu, nothing_beyond_what_is_mapped)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint64_t below = lowest(self->part) - T_PAGE;
	struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);
	uint8_t *sq = a->qp.sq, *kept = malloc(self->part[SQ].length);
	uint8_t bad[64], cqe[64];
	struct seen *s = &self->part[SQ];

	expect_faults();
	ASSERT_NE(NULL, kept);
	memset(bad, 0xbd, sizeof(bad));
	ASSERT_OK(t_run(&a->qp, &wr, NULL));
	memcpy(kept, sq, s->length);
	memcpy(cqe, (const void *)a->qp.cqe, sizeof(cqe));

	ASSERT_OK(device_writes(self->edu, below, bad, sizeof(bad)));
	EXPECT_EQ(1, faults(self->log, 1)) TH_LOG("below");
	expect_another();
	ASSERT_OK(device_writes(self->edu, self->part[CQ].iova, bad, sizeof(bad)));
	EXPECT_EQ(1, faults(self->log, 1)) TH_LOG("read-only");
	EXPECT_EQ(0, memcmp(cqe, (const void *)a->qp.cqe, sizeof(cqe)));
	expect_another();
	ASSERT_OK(detach(self->edu, s));
	ASSERT_OK(device_writes(self->edu, s->iova, bad, sizeof(bad)));
	EXPECT_EQ(1, faults(self->log, 1)) TH_LOG("detached");
	EXPECT_EQ(0, memcmp(kept, sq, s->length));
	free(kept);
	/* All else goes on. */
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_EQ(-ENOENT, detach(self->edu, s));
}

/* A read-only region is not for a device that might write to it. */
TEST_F(edu, M3_read_only_for_devices)
{
	struct seen s;

	EXPECT_EQ(-EACCES, attach(self->edu, self->part[CQ].fd, 0, &s));
}

/* The context is gone, the device's mapping is not: memory like any other, till it is. */
TEST_F(edu, M11_device_outlives_the_context)
{
	struct seen *s = &self->part[SQ];
	uint64_t bell = gda_mlx5_doorbell(1, self->end[0].qp.qpc.qpn);
	struct t_objects now;
	uint8_t data[64], back[64];
	uint8_t *p;

	p = mmap(NULL, s->length, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	t_pair_close(self->end);
	for (int i = 0; i < PARTS; i++)
		close(self->part[i].fd);
	memset(data, 0x1e, sizeof(data));
	ASSERT_OK(device_writes(self->edu, s->iova, data, sizeof(data)));
	EXPECT_EQ(0, memcmp(p, data, sizeof(data)));
	ASSERT_OK(device_reads(self->edu, s->iova, back, sizeof(back)));
	EXPECT_EQ(0, memcmp(data, back, sizeof(data)));
	/* A doorbell that nobody hears. */
	ASSERT_OK(device_writes(self->edu, self->part[DB].iova, &bell, sizeof(bell)));
	munmap(p, s->length);
	/* The pages stay as long as the device has them, and no longer. */
	ASSERT_OK(t_objects_read(&now));
	EXPECT_EQ(t_base.n[T_QPS], now.n[T_QPS]);
	EXPECT_LT(t_base.n[T_PAGES], now.n[T_PAGES]);
	for (int i = 0; i < PARTS; i++) {
		ASSERT_OK(detach(self->edu, &self->part[i]));
		self->part[i].fd = -1;
	}
	EXPECT_OK(t_objects_settle(&t_base, &now));
}

/* Memory that moves: the device has lost it when the exporter's call returns. */
TEST_F(edu, K5_device_loses_what_moves)
{
	struct gda_test_move move = { 0 };
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC), buf;
	struct seen s, again;
	uint8_t data[64], back[64];

	expect_faults();
	ASSERT_LE(0, test);
	buf = t_test_buffer(test, LEN, 0);
	ASSERT_LE(0, buf);
	ASSERT_OK(attach(self->edu, buf, GDA_EDU_DYNAMIC, &s));
	memset(data, 0x3a, sizeof(data));
	ASSERT_OK(device_writes(self->edu, s.iova, data, sizeof(data)));
	ASSERT_OK(t_move(test, buf, 0, &move));
	EXPECT_EQ(0, move.changed);
	memset(back, 0x99, sizeof(back));
	ASSERT_OK(device_writes(self->edu, s.iova, back, sizeof(back)));
	EXPECT_EQ(1, faults(self->log, 1));
	/* It moved along with what the device wrote before. */
	ASSERT_OK(attach(self->edu, buf, GDA_EDU_DYNAMIC, &again));
	ASSERT_OK(device_reads(self->edu, again.iova, back, sizeof(back)));
	EXPECT_EQ(0, memcmp(data, back, sizeof(data)));
	ASSERT_OK(detach(self->edu, &s));
	ASSERT_OK(detach(self->edu, &again));
	close(buf);
	close(test);
}

TEST_HARNESS_MAIN
