// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data of every kind of memory, as source and as target, by every operation: random
 * requests between two ends, of ordinary memory and of the kind, against a model of every
 * byte. MRs lie off the page in memory of which the model has more than the MR.
 */
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include "gda_fixture.h"
#include "move.h"
#include "prime.h"

#define HUGE	(2UL << 20)
#define BIG	((1UL << 20) + 3)
#define OFF	(T_PAGE + 40)		/* of the MR in its window */
#define LEN	(BIG + 64 * T_PAGE)	/* of the MR */
#define WINDOW	(324 * T_PAGE)		/* a page at least behind it, too */
#define MIDDLE	(160 * T_PAGE)		/* where in its window a huge page ends */
#define DEPTH	2048
#define BATCH	128
#define CQES	128
#define ROUNDS	10000	/* requests, times $GDA_STRESS */
#define MAX_INLINE	972

/* Memory, an MR in it, and what must be there. */
struct mem {
	uint8_t *room;		/* as it is mapped */
	size_t bytes;
	uint8_t *p;		/* the window, WINDOW bytes */
	uint8_t *flat;		/* the model of it */
	int buf;		/* the dma-buf it is, or -1 */
	int dev;		/* its driver's file, or -1 */
	struct t_mr mr;
};

/* A kind is a function that makes it. It returns 1 where there is none of it. */
static int map(struct mem *m, size_t bytes, int flags, int fd)
{
	m->bytes = bytes;
	m->room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	m->p = m->room;
	return m->room == MAP_FAILED ? -errno : 0;
}

static int user_new(struct mem *m)
{
	return map(m, WINDOW, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int thp_new(struct mem *m)
{
	long before = t_proc_value("/proc/self/smaps_rollup", "AnonHugePages");
	int err = map(m, 3 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint8_t *p;

	if (err)
		return err;
	p = (uint8_t *)(((uintptr_t)m->room + HUGE - 1) & ~(HUGE - 1));
	if (madvise(p, 2 * HUGE, MADV_HUGEPAGE))
		return 1;
	p[0] = 1;
	p[HUGE] = 1;
	m->p = p + HUGE - MIDDLE;
	return t_proc_value("/proc/self/smaps_rollup", "AnonHugePages") <= before;
}

static int hugetlb_new(struct mem *m)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");

	if (!f)
		return 1;
	fprintf(f, "4\n");
	fclose(f);
	if (map(m, 2 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1))
		return 1;
	m->p = m->room + HUGE - MIDDLE;
	return 0;
}

static int udmabuf_new(struct mem *m)
{
	struct udmabuf_create create = { .size = WINDOW };
	int fd = memfd_create("gda", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	m->dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (m->dev < 0)
		return 1;
	create.memfd = (uint32_t)fd;
	if (ftruncate(fd, (off_t)WINDOW) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	m->buf = ioctl(m->dev, UDMABUF_CREATE, &create);
	if (m->buf < 0)
		return -errno;
	err = map(m, WINDOW, MAP_SHARED, fd);
	close(fd);
	return err;
}

static int heap_new(struct mem *m)
{
	struct dma_heap_allocation_data cmd = {
		.len = WINDOW, .fd_flags = O_RDWR | O_CLOEXEC,
	};
	int err;

	m->dev = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);
	if (m->dev < 0)
		return 1;
	err = t_ioctl(m->dev, DMA_HEAP_IOCTL_ALLOC, &cmd);
	if (err)
		return err;
	m->buf = (int)cmd.fd;
	return map(m, WINDOW, MAP_SHARED, m->buf);
}

static int vgem_new(struct mem *m)
{
	struct own own = { .fd = -1 };
	int err;

	m->dev = vgem_open();
	if (m->dev < 0)
		return 1;
	err = own_create(m->dev, WINDOW, &own);
	m->buf = own.fd;
	m->room = own.p;
	m->p = own.p;
	m->bytes = WINDOW;
	return err;
}

static int exporter_new(struct mem *m)
{
	m->dev = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	m->buf = t_test_buffer(m->dev, WINDOW, 0);
	if (m->buf < 0)
		return m->buf;
	return map(m, WINDOW, MAP_SHARED, m->buf);
}

static int peer_new(struct mem *m)
{
	void *p;

	m->dev = t_gpu_open(WINDOW, 0, &p);
	m->room = p;
	m->p = p;
	m->bytes = WINDOW;
	return m->dev < 0 ? m->dev : 0;
}

static int reg_user(int fd, struct mem *m)
{
	return t_mr_reg(fd, m->p + OFF, LEN, GDA_ACCESS_ALL, &m->mr);
}

static int reg_peer(int fd, struct mem *m)
{
	return t_mr_reg_peer(fd, m->p + OFF, LEN, GDA_ACCESS_ALL, &m->mr);
}

static int reg_dmabuf(int fd, struct mem *m, uint32_t flags, uint64_t iova)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .flags = flags, .offset = OFF, .length = LEN, .iova = iova,
		.access = GDA_ACCESS_ALL, .fd = m->buf,
	};
	int err = t_ioctl(fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	m->mr = (struct t_mr) { .handle = cmd.handle, .key = cmd.key, .iova = cmd.iova };
	return err ? err : cmd.iova == iova ? 0 : -EBADMSG;
}

static int reg_zero(int fd, struct mem *m)
{
	return reg_dmabuf(fd, m, GDA_MR_ZERO_BASED, 0);
}

/* At an iova that is not mapped and has another offset in its page than the memory. */
static int reg_chosen(int fd, struct mem *m)
{
	return reg_dmabuf(fd, m, 0, 0xabcdef0123456ff8ULL);
}

static int mem_open(int fd, struct mem *m, int (*new)(struct mem *m),
		    int (*reg)(int fd, struct mem *m), uint64_t *rnd)
{
	int err;

	*m = (struct mem) { .buf = -1, .dev = -1 };
	err = new(m);
	m->flat = err ? NULL : malloc(WINDOW);
	if (!m->flat)
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < WINDOW; i += 8) {
		uint64_t word = t_random(rnd);

		memcpy(m->flat + i, &word, 8);
	}
	memcpy(m->p, m->flat, WINDOW);
	return reg(fd, m);
}

static void mem_close(struct mem *m)
{
	munmap(m->room, m->bytes);
	if (m->buf >= 0)
		close(m->buf);
	if (m->dev >= 0)
		close(m->dev);
	free(m->flat);
}

/* Two of them post to each other. */
struct end {
	int fd;
	struct t_qp qp;
	struct mem mem[2];	/* ordinary, and of the kind */
	struct t_cq_ring ring;	/* for immediates */
};

FIXTURE(kinds) {
	struct end end[2];
	uint64_t seed;
	uint64_t rnd;
};

FIXTURE_VARIANT(kinds) {
	int (*new)(struct mem *m);
	int (*reg)(int fd, struct mem *m);
	const char *needs;
};

FIXTURE_VARIANT_ADD(kinds, user) { user_new, reg_user, "memory" };
FIXTURE_VARIANT_ADD(kinds, transparent_huge) { thp_new, reg_user, "transparent huge pages" };
FIXTURE_VARIANT_ADD(kinds, hugetlb) { hugetlb_new, reg_user, "huge pages to be had" };
FIXTURE_VARIANT_ADD(kinds, udmabuf) { udmabuf_new, reg_chosen, "/dev/udmabuf" };
FIXTURE_VARIANT_ADD(kinds, dma_heap) { heap_new, reg_chosen, "/dev/dma_heap/system" };
FIXTURE_VARIANT_ADD(kinds, vgem) { vgem_new, reg_chosen, "vgem" };
FIXTURE_VARIANT_ADD(kinds, exporter) { exporter_new, reg_chosen, "gda_test" };
FIXTURE_VARIANT_ADD(kinds, exporter_zero_based) { exporter_new, reg_zero, "gda_test" };
FIXTURE_VARIANT_ADD(kinds, peer) { peer_new, reg_peer, "gda_test" };

static int end_open(struct end *e)
{
	int err;

	e->fd = t_context();
	if (e->fd < 0)
		return e->fd;
	err = t_cq_ring_open(&e->ring, e->fd, CQES);
	return err ? err : t_qp_open_receiver(&e->qp, e->fd, DEPTH, e->ring.cq.handle);
}

T_SETUP(kinds)
{
	self->seed = t_seed();
	self->rnd = self->seed;
	for (int i = 0; i < 2; i++) {
		struct end *e = &self->end[i];
		int ret;

		ASSERT_OK(end_open(e));
		ASSERT_OK(mem_open(e->fd, &e->mem[0], user_new, reg_user, &self->rnd));
		ret = mem_open(e->fd, &e->mem[1], variant->new, variant->reg, &self->rnd);
		if (ret == 1)
			SKIP(return, "no %s here", variant->needs);
		ASSERT_OK(ret);
	}
	ASSERT_OK(t_connect(&self->end[0].qp, &self->end[1].qp));
}

T_TEARDOWN(kinds)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &self->end[i];

		t_qp_close(&e->qp);
		t_cq_ring_unmap(&e->ring);
		close(e->fd);
		for (int k = 0; k < 2; k++)
			mem_close(&e->mem[k]);
	}
}

/* The next immediate that arrived, waited for, and the length that came with it. */
static int take(struct end *e, uint32_t *imm, uint32_t *len)
{
	struct gda_mlx5_cqe cqe = { 0 };
	int err = t_cq_ring_wait(&e->ring, &cqe);

	*imm = gda_be32_to_cpu(cqe.imm);
	*len = gda_be32_to_cpu(cqe.byte_cnt);
	return err;
}

enum op {
	WRITE, WRITE_2, INLINE, IMM, READ, READ_2,
	FETCH_ADD, COMPARE_SWAP, MASKED_ADD_4, MASKED_ADD_8, MASKED_SWAP_4, MASKED_SWAP_8,
	OPS
};

static const char *const names[OPS] = {
	"write", "write of two segments", "inline write", "write with immediate", "read",
	"read into two segments", "fetch-add", "compare-swap", "masked add of 4 bytes",
	"masked add of 8", "masked swap of 4", "masked swap of 8",
};

static const uint8_t opcodes[OPS] = {
	GDA_MLX5_WRITE, GDA_MLX5_WRITE, GDA_MLX5_WRITE, GDA_MLX5_WRITE_IMM, GDA_MLX5_READ,
	GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS, GDA_MLX5_MASKED_FA,
	GDA_MLX5_MASKED_FA, GDA_MLX5_MASKED_CS, GDA_MLX5_MASKED_CS,
};

static const uint32_t sizes[] = { 0, 1, 7, 64, 4095, 4096, 4097, BIG };

/* The first requests are these: every operation, size, and pair of memory. */
#define PAIRS	3
#define TABLE	(OPS * ARRAY_SIZE(sizes) * PAIRS)

struct job {
	enum op op;
	struct mem *l, *r;	/* of who posts, and of the other */
	uint32_t len;
	uint32_t part;		/* of it, in the first segment */
	uint64_t off[2];	/* of the segments, in @l */
	uint64_t roff;
	uint32_t imm;
};

/* An offset in an MR for @len bytes: anywhere, at an end, at the border of a page. */
static uint64_t place(uint64_t *rnd, uint64_t len)
{
	uint64_t room = LEN - len, off = t_random(rnd) % (room + 1), border;
	unsigned int how = t_random(rnd) % 4;

	if (how == 0)
		return off & 1 ? room : 0;
	if (how == 1)
		return off;
	border = how == 2 ? MIDDLE : (OFF + off + T_PAGE) / T_PAGE * T_PAGE;
	border -= OFF;
	off = t_random(rnd) % (len + 1);
	off = off > border ? 0 : border - off;
	return off > room ? room : off;
}

static uint32_t some_len(uint64_t *rnd)
{
	uint64_t r = t_random(rnd);

	if (r % 128 == 0)
		return BIG;
	if (r & 1)
		return (uint32_t)(r >> 8) % 100;
	return sizes[(r >> 8) % (ARRAY_SIZE(sizes) - 1)];
}

/* Request @i from end @from. */
static void draw(FIXTURE_DATA(kinds) *self, unsigned long i, int from, struct job *j)
{
	uint64_t *rnd = &self->rnd;
	unsigned long n = i < TABLE ? i : t_random(rnd) % TABLE;
	unsigned int pair = 1 + (unsigned int)(n / OPS / ARRAY_SIZE(sizes));

	*j = (struct job) {
		.op = (enum op)(n % OPS),
		.len = i < TABLE ? sizes[n / OPS % ARRAY_SIZE(sizes)] : some_len(rnd),
		.imm = (uint32_t)t_random(rnd),
	};
	j->l = &self->end[from].mem[pair & 1];
	j->r = &self->end[!from].mem[pair >> 1];
	if (j->op >= FETCH_ADD)
		j->len = j->op == MASKED_ADD_4 || j->op == MASKED_SWAP_4 ? 4 : 8;
	else if (j->op == INLINE && j->len > MAX_INLINE)
		j->len = MAX_INLINE - (uint32_t)t_random(rnd) % 64;
	j->part = j->len;
	if ((j->op == WRITE_2 || j->op == READ_2) && j->len > 1)
		j->part = 1 + (uint32_t)t_random(rnd) % (j->len - 1);
	j->off[0] = place(rnd, j->part);
	j->off[1] = place(rnd, j->len - j->part);
	j->roff = place(rnd, j->len);
	if (j->op >= FETCH_ADD)
		j->roff &= ~(uint64_t)(j->len - 1);
}

/* Fields that end with the bits of @last, added each for itself. */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t last, unsigned int bits)
{
	uint64_t sum = 0, carry = 0;

	for (unsigned int i = 0; i < bits; i++) {
		uint64_t n = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (n & 1) << i;
		carry = last >> i & 1 ? 0 : n >> 1;
	}
	return sum;
}

/* An atomic whose operands are drawn, half of those that compare find what they expect. */
static void atomic(uint64_t *rnd, const struct job *j, struct t_wr *wr)
{
	uint8_t *target = j->r->flat + OFF + j->roff;
	uint64_t bits = j->len == 4 ? 0xffffffff : ~0ULL, old = 0, new;
	bool masked = j->op >= MASKED_ADD_4;

	memcpy(&old, target, j->len);
	wr->swap_add = t_random(rnd) & bits;
	wr->compare = (t_random(rnd) & 1 ? old : t_random(rnd)) & bits;
	wr->swap_mask = masked ? t_random(rnd) & bits : bits;
	wr->compare_mask = masked ? t_random(rnd) & bits : bits;
	if (masked)
		wr->opmod = j->len == 4 ? GDA_MLX5_OPMOD_4BYTE : GDA_MLX5_OPMOD_8BYTE;
	new = old;
	if (j->op == FETCH_ADD)
		new = old + wr->swap_add;
	else if (j->op == MASKED_ADD_4 || j->op == MASKED_ADD_8)
		new = add_fields(old, wr->swap_add, wr->compare, 8 * j->len);
	else if (!((old ^ wr->compare) & wr->compare_mask))
		new = (old & ~wr->swap_mask) | (wr->swap_add & wr->swap_mask);
	memcpy(target, &new, j->len);
	if (j->len == 4)
		old = gda_be32((uint32_t)old);
	memcpy(j->l->flat + OFF + j->off[0], &old, j->len);
}

static void copy(const struct job *j)
{
	uint8_t *r = j->r->flat + OFF + j->roff;

	for (int k = 0; k < 2; k++) {
		uint8_t *l = j->l->flat + OFF + j->off[k];
		uint32_t n = k ? j->len - j->part : j->part;

		if (opcodes[j->op] == GDA_MLX5_READ)
			memcpy(l, r, n);
		else
			memcpy(r, l, n);
		r += n;
	}
}

/* Do it in the model, and post it; who executes takes one after the other, too. */
static uint64_t job_post(struct t_qp *qp, const struct job *j, bool last, uint64_t *rnd)
{
	struct t_wr wr = t_wr_write(&j->l->mr, j->off[0], &j->r->mr, j->roff, j->part);
	uint8_t data[MAX_INLINE];

	wr.opcode = opcodes[j->op];
	wr.ce = last || t_random(rnd) & 1 ? GDA_MLX5_CE_ALWAYS : 0xff;
	wr.imm = j->op == IMM ? j->imm : 0;
	if (j->op == INLINE) {
		for (uint32_t i = 0; i < j->len; i++)
			data[i] = (uint8_t)t_random(rnd);
		wr.nsge = 0;
		wr.data = data;
		wr.data_len = j->len;
		memcpy(j->r->flat + OFF + j->roff, data, j->len);
	} else if (j->op >= FETCH_ADD) {
		atomic(rnd, j, &wr);
	} else {
		wr.nsge = !j->len ? 0 : j->part < j->len ? 2 : 1;
		wr.sge[1].addr = j->l->mr.iova + j->off[1];
		wr.sge[1].lkey = j->l->mr.key;
		wr.sge[1].len = j->len - j->part;
		copy(j);
	}
	return t_post(qp, &wr);
}

/* The first byte of [from, to) of the window that is not as in the model, or -1. */
static long wrong(const struct mem *m, uint64_t from, uint64_t to)
{
	if (!memcmp(m->p + from, m->flat + from, to - from))
		return -1;
	while (m->p[from] == m->flat[from])
		from++;
	return (long)from;
}

/* ... of what was touched, and of what is beside it. */
static long job_wrong(const struct job *j)
{
	long at = wrong(j->r, OFF + j->roff - 64, OFF + j->roff + j->len + 64);

	for (int k = 0; k < 2 && j->op != INLINE && at < 0; k++) {
		uint32_t n = k ? j->len - j->part : j->part;

		at = wrong(j->l, OFF + j->off[k] - 64, OFF + j->off[k] + n + 64);
	}
	return at;
}

static long all_wrong(const struct end end[2])
{
	long at = -1;

	for (int i = 0; i < 4 && at < 0; i++)
		at = wrong(&end[i / 2].mem[i % 2], 0, WINDOW);
	return at;
}

TEST_F_TIMEOUT(kinds, as_the_model_says, 36000)
{
	unsigned long n = t_stress(ROUNDS), done = 0, whole = 0;
	uint64_t bytes = 0, begin = t_now();

	n = n < TABLE ? TABLE : n;
	TH_LOG("GDA_SEED=%llu", (unsigned long long)self->seed);
	while (done < n) {
		unsigned int count = 1 + (unsigned int)(t_random(&self->rnd) % BATCH);
		int from = t_random(&self->rnd) & 1;
		struct end *e = &self->end[from];
		struct job job[BATCH];
		uint64_t last = 0;

		for (unsigned int i = 0; i < count; i++) {
			draw(self, done + i, from, &job[i]);
			last = job_post(&e->qp, &job[i], i + 1 == count, &self->rnd);
			bytes += job[i].len;
		}
		t_ring(&e->qp);
		ASSERT_OK(t_wait(&e->qp, last, NULL)) TH_LOG("requests %lu to %lu", done,
							     done + count - 1);
		for (unsigned int i = 0; i < count; i++) {
			const struct job *j = &job[i];
			uint32_t imm = 0, len = 0;

			ASSERT_EQ(-1, job_wrong(j))
				TH_LOG("request %lu, %s of %u bytes", done + i, names[j->op],
				       j->len);
			if (j->op != IMM)
				continue;
			ASSERT_OK(take(&self->end[!from], &imm, &len));
			ASSERT_EQ(j->imm, imm);
			ASSERT_EQ(j->len, len);
		}
		done += count;
		if (done / 100 == whole)
			continue;
		whole = done / 100;
		ASSERT_EQ(-1, all_wrong(self->end)) TH_LOG("by request %lu", done);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_OK(t_destroy(self->end[i / 2].fd, self->end[i / 2].mem[i % 2].mr.handle));
	EXPECT_EQ(-1, all_wrong(self->end));
	TH_LOG("%lu requests, %llu MiB, %llu ms", done, (unsigned long long)bytes >> 20,
	       (unsigned long long)(t_now() - begin) / 1000000);
}

TEST_HARNESS_MAIN
