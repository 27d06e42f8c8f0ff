/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Common parts of the kernel selftests: /dev/gda driven with raw ioctls, mappings and
 * bytes, so that a test can do what no library would. Only the encoders of
 * gda/mlx5.h are used.
 *
 * Functions return 0 or a negative errno, unless said otherwise; none prints. Every
 * wait has a bound: T_WAIT_NS, generous because of emulation, where nothing is said.
 */
#ifndef GDA_TEST_H
#define GDA_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <gda/ioctl.h>
#include <gda/mlx5.h>

#define T_PAGE		((unsigned long)sysconf(_SC_PAGESIZE))
#define T_PAGE_MOST	65536		/* of any architecture, for arrays */
#define T_GROUP		7777		/* gid of /dev/gda in the guest */
#define T_NOBODY	65534
#define T_NS		1000000000ULL
#define T_WAIT_NS	(20 * T_NS)

/* A test is the pattern of one mark: success of a call. */
#define ASSERT_OK(call)	ASSERT_EQ(0, (call))
#define EXPECT_OK(call)	EXPECT_EQ(0, (call))

/* --- time and chance (util.c) --- */

uint64_t t_now(void);			/* CLOCK_MONOTONIC, ns */
void t_sleep_ns(uint64_t ns);
uint64_t t_random(uint64_t *state);	/* splitmix64 */
uint64_t t_seed(void);			/* $GDA_SEED, or from the clock */
unsigned long t_stress(unsigned long n);	/* n times $GDA_STRESS, at least 1 */
unsigned long t_longer(unsigned long n);	/* ... at least @n */
/* ... of many short rounds: far fewer where $GDA_STRESS is below 1, for a slow kernel. */
unsigned long t_rounds(unsigned long n);
/* ... of which @n meet what there is to meet: @full, times $GDA_STRESS, where that is above 1. */
unsigned long t_soaked(unsigned long n, unsigned long full);
/* @full times $GDA_STRESS; but no more than @n, which is enough, where that is 1 or less. */
unsigned long t_short(unsigned long n, unsigned long full);
/*
 * Whether there is a round @i: of @n, and after them until what is to happen has @hit,
 * for some time; @late is 0 in the beginning. Rounds, or t_now() and an end.
 */
bool t_more(uint64_t i, uint64_t n, bool hit, uint64_t *late);

/* @n numbers in order; then v[n / 2] is their median. */
void t_sort(uint64_t *v, size_t n);

/* Are all @len bytes @value? */
bool t_all(const void *p, uint8_t value, size_t len);

/* --- processes (util.c) --- */

/* Run @fn in a child and wait for it: its return value, or 128 + signal. */
int t_in_child(int (*fn)(void *), void *arg);
/* In a child: what fails is told by the line, below 128. */
#define CHECK(cond) do { if (!(cond)) return __LINE__ & 0x7f ? __LINE__ & 0x7f : 1; } while (0)
/* Wait for @pid at most @ns; its exit code or 128 + signal; -ETIMEDOUT: killed. */
int t_reap(pid_t pid, uint64_t ns);
/* Become nobody in group gda (or in none), without any capability. */
int t_drop(bool in_group);
/* One byte over a socket with a file attached. */
int t_send_fd(int sock, int fd);
int t_recv_fd(int sock);

/* The signal that a load or store at @p raises, or 0. Not in threads. */
int t_touch_read(const volatile void *p);
int t_touch_write(volatile void *p);

/* --- what the kernel tells (util.c) --- */

int t_kernel(void);			/* 6012 for 6.12 */

/* A number behind @key in a "key value" file, or -errno. */
long t_proc_value(const char *path, const char *key);

/* Write a string to a file of the kernel's: 0 or -errno. */
int t_write_file(const char *dir, const char *file, const char *value);
/* A module's file, or that of this tree below kmod or selftests/kmod: 0 or -errno. */
int t_module_insert(const char *path, const char *parameters);
int t_module_insert_built(const char *folder, const char *name);
int t_module_remove(const char *name);	/* -EWOULDBLOCK: in use */
int t_soft0(const char *what);		/* ... to "bind" or "unbind" of the device's driver */

enum {
	T_CONTEXTS, T_QPS, T_CQS, T_COUNTERS, T_MRS, T_REGIONS, T_PAGES, T_KEYS, T_OBJECTS
};

struct t_objects {
	long n[T_OBJECTS];
	long pinned_kb;			/* VmPin of this process */
};

int t_objects_read(struct t_objects *o);
/* Wait until counts are @base again: 0, or -ESTALE and @now has what they are. */
int t_objects_settle(const struct t_objects *base, struct t_objects *now);

/* --- objects (object.c) --- */

int t_ioctl(int fd, unsigned long nr, void *arg);
int t_open(void);			/* unbound; a file descriptor */
int t_bind(int fd);
int t_context(void);			/* bound; a file descriptor */
int t_context_on(const char *device);	/* ... to that device */
int t_destroy(int fd, uint32_t handle);
int t_shutdown(int fd);			/* GDA_DESTROY_CONTEXT */

int t_cq_create(int fd, uint32_t flags, uint32_t depth, struct gda_cq_create *cq);
int t_qp_create(int fd, uint32_t cq, uint32_t depth, struct gda_qp_create *qp);
int t_qp_connect(int fd, uint32_t handle, int peer_fd, uint32_t peer);
int t_qp_query(int fd, uint32_t handle, struct gda_qp_query *query);

struct t_mr {
	uint32_t handle;
	uint32_t key;
	uint64_t iova;
	uint8_t *addr;
	size_t len;
};

int t_mr_reg(int fd, void *addr, size_t len, uint32_t access, struct t_mr *mr);
/* ... of any numbers, also such as no pointer of this program can have. */
int t_mr_reg_raw(int fd, uint64_t addr, uint64_t len, uint32_t access, struct t_mr *mr);
/* ... of fresh zeroed pages, t_mr_free() unmaps them. */
int t_mr_new(int fd, size_t len, uint32_t access, struct t_mr *mr);
void t_mr_free(int fd, struct t_mr *mr);
/* ... of the first @len bytes of a dma-buf, zero-based, with all rights. */
int t_mr_reg_dmabuf(int fd, int buf, size_t len, struct t_mr *mr);
uint32_t t_mr_state(int fd, uint32_t handle);	/* GDA_MR_*, or 0 */
void *t_pages(size_t len);		/* anonymous, zeroed, or NULL */

/* mmap of a region as it wants to be mapped: MAP_FAILED and errno on failure. */
void *t_map(int fd, const struct gda_region_info *info);

/* The target of a request of efa, as GDA_IOC_PEER_ADD returns it. */
struct t_efa_peer {
	uint32_t handle;
	uint16_t ah;
	uint16_t number;
	uint32_t qkey;
};

/*
 * Does the environment ask for efa (GDA_DIALECT)? Then t_qp_open() makes queues of that dialect,
 * which t_connect(), t_post(), t_ring() and t_poll() use as they use those of mlx5 (post_efa.c).
 */
bool t_speaks_efa(void);
#define T_EFA_MAX_DEPTH	16384		/* of such a queue */

/* A QP with a collapsed CQ of its own, or of efa with a ring, everything mapped. */
struct t_qp {
	int fd;
	struct gda_cq_create cqc;
	struct gda_qp_create qpc;
	uint32_t depth;
	uint64_t next;			/* index of the next free slot */
	uint8_t *sq;
	volatile __be32 *dbrec;		/* [1] is the send record; efa: NULL */
	volatile __be64 *db;
	volatile uint8_t *cqe;
	void *map[4];			/* sq, dbrec, db, cq */
	struct t_efa_peer to;		/* efa: whom t_connect() named */
};

static inline bool t_is_efa(const struct t_qp *qp)
{
	return qp->qpc.dialect == GDA_DIALECT_EFA;
}

int t_qp_open(struct t_qp *qp, int fd, uint32_t depth);
int t_qp_open_on(struct t_qp *qp, int fd, uint32_t depth, const struct gda_cq_create *cq);
/* A receiver: t_qp_open(), with a ring for the immediates of its peer. */
int t_qp_open_receiver(struct t_qp *qp, int fd, uint32_t depth, uint32_t recv_cq);
size_t t_qp_length(const struct t_qp *qp, int i);	/* of map[i] */
int t_qp_map(struct t_qp *qp);		/* fd, cqc and qpc are filled in */
void t_qp_unmap(struct t_qp *qp);
void t_qp_close(struct t_qp *qp);	/* unmap and destroy QP and CQ */
int t_connect(struct t_qp *a, struct t_qp *b);	/* mutual; @a and @b may be one */
/* Another one like it, connected to itself: one in error has served its time. */
int t_qp_again(struct t_qp *qp);

/* A CQ that is a ring, mapped, and what was read of it. */
struct t_cq_ring {
	struct gda_cq_create cq;
	uint8_t *entries;
	volatile __be32 *consumer;
	uint64_t seen;
	void *map[2];			/* cq, dbrec */
};

int t_cq_ring_open(struct t_cq_ring *ring, int fd, uint32_t depth);
void t_cq_ring_unmap(struct t_cq_ring *ring);

/* A dma-buf of @len bytes of another driver, or -errno (-ENOENT: not in this kernel). */
int t_udmabuf(size_t len);
int t_heap_buffer(size_t len);

/* @len bytes of peer memory: the open file of gda_test, or -errno. */
int t_gpu_open(size_t len, uint32_t flags, void **addr);
int t_mr_reg_peer(int fd, void *addr, size_t len, uint32_t access, struct t_mr *mr);

/* Two bound contexts, a connected QP and an MR with all rights in each. */
struct t_end {
	int fd;
	struct t_qp qp;
	struct t_mr mr;
};

int t_pair_open(struct t_end end[2], uint32_t depth, size_t mr_len);
void t_pair_close(struct t_end end[2]);

/* --- work (post.c) --- */

/* A work request in host order; zero members mean the plain thing. */
struct t_wr {
	uint8_t opcode;
	uint8_t opmod;
	uint8_t ce;			/* GDA_MLX5_CE_*, 0xff: error only */
	uint32_t imm;
	uint64_t raddr;
	uint32_t rkey;
	unsigned int nsge;
	struct {
		uint64_t addr;
		uint32_t lkey;
		uint32_t len;
	} sge[2];
	const void *data;		/* inline payload */
	uint32_t data_len;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_mask;		/* of masked atomics, whose width is sge[0].len */
	uint64_t compare_mask;
};

struct t_wr t_wr_write(const struct t_mr *src, uint64_t src_off,
		       const struct t_mr *dst, uint64_t dst_off, uint32_t len);
struct t_wr t_wr_read(const struct t_mr *to, uint64_t to_off,
		      const struct t_mr *from, uint64_t from_off, uint32_t len);
struct t_wr t_wr_atomic(uint8_t opcode, const struct t_mr *result, uint64_t result_off,
			const struct t_mr *target, uint64_t target_off,
			uint64_t swap_add, uint64_t compare);

#define T_WQE_MAX	1024

/* Bytes of a request, zero-padded to whole slots; returns its segments. */
unsigned int t_encode(uint8_t wqe[T_WQE_MAX], const struct t_wr *wr, uint64_t index,
		      uint32_t qpn);
static inline unsigned int t_slots(unsigned int ds)
{
	return ds ? (ds + 3) / 4 : 1;
}

/* Put bytes of whole slots at qp->next, which moves on; returns their index. */
uint64_t t_post_raw(struct t_qp *qp, const void *wqe, unsigned int slots);
uint64_t t_post(struct t_qp *qp, const struct t_wr *wr);
/* Publish: record, then doorbell; t_ring() rings up to qp->next. */
void t_ring(struct t_qp *qp);
void t_ring_index(struct t_qp *qp, uint64_t next);
/* ... by an exchange, which no fault decodes: the page is mapped, and the worker wakes. */
void t_ring_exchange(struct t_qp *qp);
/* What t_ring() stores to the doorbell; returns its bytes. */
size_t t_doorbell(const struct t_qp *qp, uint8_t value[8]);
/* A ring full of writes from @mem to all of @mr, or reads into it; the last index. */
uint64_t t_traffic(struct t_qp *qp, const struct t_mr *mem, const struct t_mr *mr, bool read);

/* A completion as read from a collapsed CQ. */
struct t_done {
	bool error;
	uint8_t syndrome;
	uint8_t vendor;
	uint16_t counter;
	uint8_t first_syndrome;
	uint8_t first_vendor;
	uint64_t first_error;
	uint8_t raw[64];
};

/* Has everything up to @index completed? */
bool t_poll(const struct t_qp *qp, uint64_t index, struct t_done *done);
/* ... wait for it: 0, the syndrome of the completion seen, or -ETIMEDOUT. */
int t_wait(const struct t_qp *qp, uint64_t index, struct t_done *done);
int t_wait_ns(const struct t_qp *qp, uint64_t index, uint64_t ns, struct t_done *done);
/* The next entry of a ring, if it is there, into @cqe, 64 bytes; it is given back. */
bool t_cq_ring_poll(struct t_cq_ring *ring, void *cqe);
/* ... wait for it: 0 or -ETIMEDOUT. */
int t_cq_ring_wait(struct t_cq_ring *ring, void *cqe);
/* Wait for a state other than @state at most @ns; the state, or -errno. */
int t_wait_state(const struct t_qp *qp, uint32_t state, uint64_t ns);
/* Post, ring and wait; @done may be NULL. */
int t_run(struct t_qp *qp, const struct t_wr *wr, struct t_done *done);

#endif /* GDA_TEST_H */
