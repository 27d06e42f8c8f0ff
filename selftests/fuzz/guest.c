// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An input is a program: each byte or so one step, done to what earlier steps made.
 * Requests, mappings, bytes of rings and records, doorbells; by threads at once, in
 * children of fork, with files closed under all of them. Any bytes are a program.
 *
 * The tables are shared by the threads and not locked: a slot that two of them use is
 * one more way to be wrong, and a step that faults is given up.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz.h"
#include "guest.h"
#include "kernel/gda_test.h"
#include "kernel/requests.h"

#define FDS	8
#define OBJS	32
#define MAPS	16
#define STEPS	64
#define ARENA	(16 * T_PAGE)
#define DEPTH	64

struct obj {
	int fd;
	uint32_t handle, key, nr;
	uint64_t iova;
	struct gda_region_info info;
};

struct map {
	uint8_t *at;
	size_t len;
};

static struct t_end end[2];
static unsigned int peer[2] = { 1, 0 };	/* whom the queue of an end is connected to */
static int fds[FDS];
static struct obj objs[OBJS];
static struct map maps[MAPS];
static unsigned int nobj, nmap, nfd;
static uint8_t *arena;
static uint8_t address[GDA_ADDRESS_BYTES];
static __thread sigjmp_buf jump;
static __thread volatile sig_atomic_t guarded;

static void caught(int sig)
{
	if (guarded)
		siglongjmp(jump, sig);
	_exit(0);
}

static int any_fd(struct input *in)
{
	return fds[take8(in) % FDS];
}

static struct obj *any_obj(struct input *in)
{
	return &objs[take8(in) % OBJS];
}

static void keep_fd(int fd)
{
	if (fd >= 0)
		fds[nfd++ % FDS] = fd;
}

static void keep_map(void *at, size_t len)
{
	if (at != MAP_FAILED)
		maps[nmap++ % MAPS] = (struct map) { at, len };
}

/* Some bytes of a request, or of a work request, are the input's. */
static void spoil(struct input *in, uint8_t *buf, size_t len, unsigned int n)
{
	while (n--) {
		uint8_t at = take8(in);

		buf[at % len] = take8(in);
	}
}

static uint64_t some_addr(struct input *in)
{
	uint8_t v = take8(in);

	switch (v & 7) {
	case 0:
		return 0;
	case 1:
		return (uintptr_t)maps[v >> 3 & 15].at;
	case 2:
		return ~0ULL << (v >> 3);
	default:
		return (uintptr_t)arena + (v >> 3) * 1000U;
	}
}

/* A dma-buf, with luck: where a queue is to lie. */
static struct gda_queue_memory some_place(struct input *in)
{
	uint8_t v = take8(in);

	return (struct gda_queue_memory) { .offset = (v >> 3) * 512U, .fd = fds[v % FDS] };
}

/* Some queues lie in memory that is not the driver's. */
static void place_cq(struct input *in, struct gda_cq_create *cq)
{
	cq->flags |= GDA_CQ_DMABUF;
	cq->cq_memory = some_place(in);
	if (cq->flags & GDA_CQ_COLLAPSED)
		return;
	cq->flags |= GDA_CQ_DBREC_DMABUF;
	cq->dbrec_memory = some_place(in);
}

static void place_qp(struct input *in, struct gda_qp_create *qp)
{
	uint8_t v = take8(in);

	if (v & 1) {
		qp->flags |= GDA_QP_SQ_DMABUF;
		qp->sq_memory = some_place(in);
	}
	if (v & 2) {
		qp->flags |= GDA_QP_DBREC_DMABUF;
		qp->dbrec_memory = some_place(in);
	}
}

/* Fill in a sensible request, where the input does not say otherwise. */
static void sensible(struct input *in, unsigned int nr, void *buf)
{
	const struct obj *o = any_obj(in);
	struct gda_cq_create *cq = buf;
	struct gda_qp_create *qp = buf;
	struct gda_qp_connect *connect = buf;
	struct gda_region_query *region = buf;
	struct gda_mr_reg_user *mr = buf;
	struct gda_mr_reg_dmabuf *dmabuf = buf;
	struct gda_region_export *export = buf;
	struct gda_cq_event *event = buf;
	struct gda_destroy *destroy = buf;
	uint8_t v = take8(in);

	if (t_calls[nr].in_handle)
		memcpy((uint8_t *)buf + t_calls[nr].in_handle, &o->handle, 4);
	switch (nr) {
	case GDA_IOC_NR_DESTROY:
		if ((v & 15) == 15) {
			destroy->flags = GDA_DESTROY_CONTEXT;
			destroy->handle = 0;
		}
		break;
	case GDA_IOC_NR_REGION_INFO:
		region->type = 1 + v % 7;
		break;
	case GDA_IOC_NR_CQ_CREATE:
		cq->flags = v & 1 ? GDA_CQ_COLLAPSED : v & 2 ? GDA_CQ_WRITABLE : 0;
		cq->depth = v & 1 ? 1 : 1U << (v >> 2 & 15);
		if (v & 64)
			place_cq(in, cq);
		break;
	case GDA_IOC_NR_QP_CREATE:
		qp->dialect = GDA_DIALECT_MLX5;
		qp->flags = v & 1 ? GDA_QP_POLLED : 0;
		qp->cq = o->handle;
		qp->sq_depth = 1U << (v >> 1 & 15);
		qp->recv_cq = v & 64 ? any_obj(in)->handle : 0;
		qp->sent_counter = v & 32 ? any_obj(in)->handle : 0;
		qp->recv_counter = v & 128 ? any_obj(in)->handle : 0;
		if (v & 16)
			place_qp(in, qp);
		break;
	case GDA_IOC_NR_QP_CONNECT:
		memcpy(connect->address, address, sizeof(connect->address));
		break;
	case GDA_IOC_NR_MR_REG_USER:
	case GDA_IOC_NR_MR_REG_PEER:	/* the same members */
		mr->addr = some_addr(in);
		mr->length = take8(in) * 256U;
		mr->access = v & GDA_ACCESS_ALL;
		mr->flags = v & 128 ? GDA_MR_ZERO_BASED : 0;
		break;
	case GDA_IOC_NR_MR_REG_DMABUF:
		dmabuf->fd = any_fd(in);
		dmabuf->offset = take8(in) * 64U;
		dmabuf->length = (v & 15) * 1024U;
		dmabuf->access = GDA_ACCESS_ALL;
		break;
	case GDA_IOC_NR_REGION_EXPORT:
		export->type = 1 + v % 7;
		break;
	case GDA_IOC_NR_CQ_EVENT:
		event->flags = v & 3;
		event->eventfd = v & 4 ? -1 : any_fd(in);
		break;
	}
}

static void keep_info(int fd, uint32_t handle, const struct gda_region_info *info, int n)
{
	while (n--)
		objs[nobj++ % OBJS] = (struct obj) { .fd = fd, .handle = handle, .info = info[n] };
}

static void keep_made(int fd, unsigned int nr, const void *buf)
{
	const struct gda_cq_create *cq = buf;
	const struct gda_qp_create *qp = buf;
	const struct gda_mr_reg_user *mr = buf;
	const struct gda_mr_reg_dmabuf *dmabuf = buf;
	const struct gda_counter_create *counter = buf;
	const struct gda_region_query *region = buf;
	const struct gda_region_export *export = buf;
	const struct gda_qp_address *from = buf;
	struct obj *o = &objs[nobj % OBJS];

	switch (nr) {
	case GDA_IOC_NR_CQ_CREATE:
		keep_info(fd, cq->handle, &cq->cq, 2);
		break;
	case GDA_IOC_NR_QP_CREATE:
		keep_info(fd, qp->handle, &qp->sq, 3);
		break;
	case GDA_IOC_NR_COUNTER_CREATE:
		keep_info(fd, counter->handle, &counter->counter, 1);
		break;
	case GDA_IOC_NR_REGION_INFO:
		keep_info(fd, region->handle, &region->info, 1);
		break;
	case GDA_IOC_NR_MR_REG_USER:
	case GDA_IOC_NR_MR_REG_PEER:
		*o = (struct obj) { fd, mr->handle, mr->key, nr, mr->iova, { 0 } };
		nobj++;
		break;
	case GDA_IOC_NR_MR_REG_DMABUF:
		*o = (struct obj) { fd, dmabuf->handle, dmabuf->key, nr, dmabuf->iova, { 0 } };
		nobj++;
		break;
	case GDA_IOC_NR_REGION_EXPORT:
		keep_fd(export->fd);
		break;
	case GDA_IOC_NR_QP_ADDRESS:
		memcpy(address, from->address, sizeof(address));
		break;
	}
}

static void request(struct input *in, uint8_t what)
{
	uint64_t words[T_REQUEST_MAX / 8] = { 0 };
	uint8_t *buf = (uint8_t *)words;
	unsigned int nr = take8(in) % T_CALLS;
	int fd = what & 1 ? any_fd(in) : any_obj(in)->fd;

	sensible(in, nr, buf);
	memcpy(buf, &t_calls[nr].size, 4);
	spoil(in, buf, t_calls[nr].size + 4, what >> 1 & 3);
	if (!t_ioctl(fd, t_calls[nr].nr, what & 8 ? buf : memcpy(arena, buf, T_REQUEST_MAX)))
		keep_made(fd, nr, what & 8 ? buf : arena);
}

static void map(struct input *in, uint8_t what)
{
	const struct obj *o = any_obj(in);
	uint64_t len = what & 1 && o->info.length ? o->info.length : (take8(in) + 1ULL) * T_PAGE;
	uint64_t cookie = o->info.cookie + (what & 2 ? take8(in) * T_PAGE : 0);
	int prot = o->info.map == GDA_MAP_RO ? PROT_READ : PROT_READ | PROT_WRITE;
	int flags = what & 4 ? MAP_PRIVATE : MAP_SHARED;

	if (what & 8)
		prot = take8(in) & 7;
	if (len > 4096 * T_PAGE)
		return;
	keep_map(mmap(NULL, len, prot, flags, what & 16 ? any_fd(in) : o->fd, (off_t)cookie), len);
}

/* Of a mapping: a part or all unmapped, moved, protected, dropped, not for children. */
static void remap(struct input *in, uint8_t what)
{
	struct map *m = &maps[take8(in) % MAPS];
	size_t off = what & 1 ? take8(in) * T_PAGE : 0;
	size_t len = what & 2 ? (take8(in) + 1) * T_PAGE : m->len;

	if (!m->at || off >= m->len)
		return;
	if (len > m->len - off)
		len = m->len - off;
	switch (what >> 2 & 7) {
	case 0:
		keep_map(mremap(m->at + off, len, len, MREMAP_MAYMOVE), len);
		break;
	case 1:
		mprotect(m->at + off, len, take8(in) & 7);
		break;
	case 2:
		madvise(m->at + off, len, MADV_DONTNEED);
		break;
	case 3:
		madvise(m->at + off, len, MADV_DONTFORK);
		break;
	case 4:
		keep_map(mremap(m->at + off, len, 2 * len, MREMAP_MAYMOVE), 2 * len);
		break;
	default:
		munmap(m->at + off, len);
	}
}

static void touch(struct input *in, uint8_t what)
{
	const struct map *m = &maps[take8(in) % MAPS];
	volatile uint64_t *p;

	if (m->len < 8)
		return;
	p = (void *)(m->at + (take32(in) % (m->len - 7) & ~7UL));
	if (what & 1)
		*p = take64(in);
	else if (*p)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* A work request of the pair, right but for what the input spoils. */
static void post(struct input *in, uint8_t what)
{
	static const uint8_t opcodes[] = {
		GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
		GDA_MLX5_WRITE_IMM, GDA_MLX5_NOP, GDA_MLX5_DUMP, GDA_MLX5_MASKED_FA,
	};
	unsigned int i = what & 1;
	struct t_qp *qp = &end[i].qp;
	struct obj *o = any_obj(in);
	uint8_t op = opcodes[take8(in) % sizeof(opcodes)], wqe[T_WQE_MAX];
	uint32_t len = take8(in) * (what & 2 ? 64U : 8U), off = take8(in);
	const struct t_mr *there = &end[peer[i]].mr;
	struct t_wr wr = t_wr_write(&end[i].mr, off, there, off, len);

	if (!qp->sq)
		return;
	wr.opcode = op;
	wr.ce = take8(in) & 0xe;
	if (op == GDA_MLX5_ATOMIC_FA || op == GDA_MLX5_ATOMIC_CS)
		wr = t_wr_atomic(op, &end[i].mr, off, there, off & ~7U, len, off);
	if (what & 4) {
		wr.rkey = o->key;
		wr.raddr = o->iova + off;
	}
	if (what & 8 && op == GDA_MLX5_WRITE) {
		wr.nsge = 0;
		wr.data = arena;
		wr.data_len = len % 200;
	}
	memset(wqe, 0, sizeof(wqe));
	i = t_slots(t_encode(wqe, &wr, qp->next, qp->qpc.qpn));
	spoil(in, wqe, 64, what >> 4 & 3);
	t_post_raw(qp, wqe, i);
	if (what & 64)
		t_ring(qp);
}

static void ring(struct input *in, uint8_t what)
{
	struct t_qp *qp = &end[what & 1].qp;

	if (!qp->sq)
		return;
	if (what & 2)
		qp->dbrec[1] = take32(in);
	else if (what & 4)
		*qp->db = take64(in);
	else
		t_ring_index(qp, qp->next + (what & 8 ? take8(in) : 0));
}

static void close_one(struct input *in, uint8_t what)
{
	int *fd = &fds[take8(in) % FDS];

	if (*fd < 0)
		return;
	if (what & 1) {
		keep_fd(dup(*fd));
		return;
	}
	close(*fd);
	*fd = -1;
}

/* A buffer of another driver, and one end posts to a queue in it from now on, or not. */
static void make_buffer(uint8_t what)
{
	unsigned int i = what >> 6 & 1;
	struct t_qp *qp = &end[i].qp;
	void *at = MAP_FAILED;
	size_t len = ARENA;
	int fd = guest_buffer(what >> 3, len, &at);

	keep_fd(fd);
	if (fd >= 0 && what & 32 && qp->sq && !guest_lend(end[i].fd, fd, DEPTH, qp)) {
		at = qp->map[0];
		len = T_PAGE + DEPTH * 64UL;
		keep_map(qp->map[2], T_PAGE);
		peer[i] = i;
		keep_info(qp->fd, qp->qpc.handle, &qp->qpc.sq, 3);
		keep_info(qp->fd, qp->cqc.handle, &qp->cqc.cq, 1);
	}
	keep_map(at, len);
}

/* Its owner takes it away. SECURITY.md K5: then not a byte changes. */
static void move(struct input *in, uint8_t what)
{
	if (!guest_move(any_fd(in), what & 16))
		kill(0, SIGABRT);
}

static void make_fd(uint8_t what)
{
	int fd = what & 1 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : t_open();

	if (fd >= 0 && (what & 3) == 2)
		t_bind(fd);
	keep_fd(fd);
}

/* Memory under MRs goes, or is shared with children, or is written by them. */
static void memory(struct input *in, uint8_t what)
{
	size_t off = (take8(in) & 15) * T_PAGE;

	switch (what & 3) {
	case 0:
		madvise(arena + off, T_PAGE, MADV_DONTNEED);
		break;
	case 1:
		mmap(arena + off, T_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	case 2:
		mprotect(arena + off, T_PAGE, take8(in) & 1 ? PROT_READ : PROT_READ | PROT_WRITE);
		break;
	default:
		arena[off]++;
	}
}

static void steps(struct input *in, unsigned int n, bool nest);

static void *thread(void *arg)
{
	struct input *in = arg;

	steps(in, STEPS, false);
	return NULL;
}

/* The next bytes are run by a thread or a child, meanwhile we go on behind them. */
static void split(struct input *in, uint8_t what)
{
	size_t n = take8(in) % 64;
	struct input part;
	pthread_t id;
	pid_t pid;

	if (n > in->left)
		n = in->left;
	part = (struct input) { in->p, n };
	in->p += n;
	in->left -= n;
	if (what & 1) {
		if (pthread_create(&id, NULL, thread, &part))
			return;
		steps(in, STEPS / 4, false);
		pthread_join(id, NULL);
		return;
	}
	pid = fork();
	if (!pid) {
		steps(&part, STEPS, false);
		_exit(0);
	}
	steps(in, STEPS / 4, false);
	if (pid > 0 && what & 2)
		kill(pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void one(struct input *in, bool nest)
{
	uint8_t op = take8(in), what = take8(in);

	/* one that has threads or children is not left: each step of theirs is */
	guarded = (op & 15) != 15;
	switch (op & 15) {
	case 0: case 1: case 2: case 3: case 4:
		request(in, what);
		break;
	case 5:
		map(in, what);
		break;
	case 6:
		remap(in, what);
		break;
	case 7:
		touch(in, what);
		break;
	case 8: case 9: case 10:
		post(in, what);
		break;
	case 11:
		ring(in, what);
		break;
	case 12:
		close_one(in, what);
		break;
	case 13:
		if (what & 4)
			make_buffer(what);
		else
			make_fd(what);
		break;
	case 14:
		if ((what & 12) == 12)
			move(in, what);
		else
			memory(in, what);
		break;
	default:
		if (nest)
			split(in, what);
		else
			sched_yield();
	}
}

/* One step, which is given up where it faults. */
static void step(struct input *in, bool nest)
{
	if (!sigsetjmp(jump, 1))
		one(in, nest);
	guarded = 0;
}

static void steps(struct input *in, unsigned int n, bool nest)
{
	while (n-- && in->left)
		step(in, nest);
}

static void keep_end(const struct t_end *e)
{
	const struct t_qp *qp = &e->qp;

	keep_fd(e->fd);
	keep_info(e->fd, qp->qpc.handle, &qp->qpc.sq, 3);
	keep_info(e->fd, qp->cqc.handle, &qp->cqc.cq, 1);
	objs[nobj++ % OBJS] = (struct obj) {
		e->fd, e->mr.handle, e->mr.key, GDA_IOC_NR_MR_REG_USER, e->mr.iova, { 0 }
	};
	for (int i = 0; i < 4; i++)
		if (qp->map[i])
			keep_map(qp->map[i], T_PAGE);
}

void guest_run(const uint8_t *data, size_t size)
{
	struct sigaction act = { .sa_handler = caught };
	struct input in = { data, size };

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	for (int i = 0; i < FDS; i++)
		fds[i] = -1;
	arena = t_pages(ARENA);
	if (!arena)
		return;
	/* most begin with two connected queues, some with nothing */
	if (take8(&in) & 7 && !t_pair_open(end, DEPTH, 4 * T_PAGE)) {
		keep_end(&end[0]);
		keep_end(&end[1]);
	} else {
		make_fd(2);
	}
	steps(&in, STEPS, true);
}
