/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/binding/nccl, the RMA plugin for NCCL. All ranks are in one process.
 *
 * A *group* is the ranks of one connect(), each with a *member*: its context, its GPU, and the
 * queues that others use for it. A *coll* is NCCL's handle of a rank's membership, a *region* one
 * rank's memory of a symmetric registration, an *mr* a rank's handle for the regions of all ranks.
 *
 * A rank posts puts to the queues of its RMA contexts, in order. Peers post to a member's serve
 * queues, on its behalf and with its lock held: gets, which are puts by the rank that has the bytes
 * (only the GPU that has the source surely reaches both ends), and changes of signal words.
 *
 * A signal word in GPU memory is changed by storing its new value, because no executor does atomics
 * there. So the value is computed here, under the lock of the word's owner, and all stores to words
 * of one owner go through one queue, in order. An addition is made when the data that it signals
 * has arrived.
 *
 * Lock order: context, group, member.
 */
#ifndef GDA_NCCL_INTERNAL_H
#define GDA_NCCL_INTERNAL_H

#include <pthread.h>
#include <gda/cuda.h>
#include <gda/fastpath.h>
#include <gda/gda.h>
#include "rma.h"

#define GDA_NCCL_MEET_NS	60000000000ULL	/* how long ranks wait for each other */
#define GDA_NCCL_READ_NS	20000000000ULL	/* ... for a word to be read from GPU memory */
#define GDA_NCCL_DEPTH		1024U
#define GDA_NCCL_CHUNK		(1U << 30)

struct gda_nccl_queue {
	struct gda_qp *qp;
	struct gda_cuda_qp *gpu_qp;	/* owns @qp, or NULL */
	struct gda_view *view;		/* NULL: not connected */
	int64_t last;			/* ticket of the last post, or -1 */
};

struct gda_nccl_member {
	pthread_mutex_t lock;
	bool closed;			/* under @lock: its queues are gone or being destroyed */
	int rank;
	int device;			/* its GPU, or -1 */
	struct gda_context *ctx;
	struct gda_cuda *cuda;		/* or NULL */
	struct gda_nccl_queue *serve;	/* by rank of the peer; under @lock */
	uint64_t *scratch;		/* GDA_NCCL_SINK, GDA_NCCL_READ */
	struct gda_mr *scratch_mr;
};

/*
 * Words of gda_nccl_member.scratch: SINK takes old values that nobody reads; READ takes a signal
 * word.
 */
enum { GDA_NCCL_SINK, GDA_NCCL_READ, GDA_NCCL_SCRATCH };

struct gda_nccl_round;

struct gda_nccl_group {
	struct gda_nccl_group *next;	/* in the list of all groups; under the list's lock */
	unsigned int users;		/* likewise */
	uint64_t id;
	int ranks;
	pthread_mutex_t lock;		/* guards what follows */
	pthread_cond_t changed;
	bool broken;			/* a rank has left, or did not arrive in time */
	struct gda_nccl_round *rounds;
	struct gda_nccl_member *member[];
};

/* A signal word in GPU memory. */
struct gda_nccl_word {
	struct gda_nccl_word *next;
	uint64_t offset;
	uint64_t value;			/* @value is current if the region is @never_reset */
};

#define GDA_NCCL_BUCKETS	64U

struct gda_nccl_region {
	unsigned int users;		/* atomic: handles of all ranks */
	struct gda_nccl_member *owner;
	struct gda_mr *mr;		/* the owner's; NULL: deregistered */
	uint64_t iova;
	uint64_t size;
	uint32_t key;
	bool gpu;
	bool never_reset;
	struct gda_nccl_word *words[GDA_NCCL_BUCKETS];	/* under the owner's lock */
};

struct gda_nccl_mr {
	struct gda_nccl_coll *coll;
	struct gda_nccl_mr *next;
	struct gda_nccl_region *region[];	/* by rank */
};

struct gda_nccl_coll {
	struct gda_nccl_group *group;
	struct gda_nccl_member *member;
	int rank;
	uint64_t round;			/* next of gda_nccl_meet() */
	struct gda_nccl_context *contexts;
	struct gda_nccl_mr *mrs;
};

struct gda_nccl_request {
	struct gda_nccl_context *context;
	struct gda_nccl_request *next;	/* next free one, or next with a signal to send */
	struct gda_nccl_request *block;	/* all of the context */
	bool busy;
	const char *what;		/* for the log */
	uint32_t peer;
	int index;
	uint64_t offset;
	struct gda_nccl_queue *queue;	/* waits for @ticket on this queue, or NULL */
	int64_t ticket;
	struct gda_nccl_region *signal;	/* then adds @value to a word of it, or NULL */
	uint64_t signal_offset;
	uint64_t signal_value;
	struct gda_nccl_member *server;	/* then waits for @served there, or NULL */
	int serve;			/* index of the server's queue */
	int64_t served;
	int error;			/* the error, an enum gda_nccl_result, or 0 */
};

struct gda_nccl_context {
	struct gda_nccl_coll *coll;
	struct gda_nccl_context *next;
	int contexts;
	pthread_mutex_t lock;		/* guards what follows */
	bool failed;
	struct gda_nccl_queue *queues;	/* by context and rank */
	int64_t *gets;			/* tickets of the last get, by rank; -1: none */
	struct gda_nccl_request *all;
	struct gda_nccl_request *free;
	struct gda_nccl_request *signals;	/* signals to be sent, oldest first */
	struct gda_nccl_request **signals_end;
};

/* log.c */
void gda_nccl_log_to(gda_nccl_log_fn log);
void gda_nccl_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Warn of a use that this plugin does not support; once on stderr if NCCL's log is silent. */
void gda_nccl_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The reason why a call of this thread, its last, failed with @err. */
const char *gda_nccl_reason(int err);

/* gpu.c: the CUDA device of the calling thread, or -1 if there is no GPU. */
int gda_nccl_gpu(void);

/* queue.c */
int gda_nccl_queue_create(struct gda_nccl_member *member, int peer_device,
			  struct gda_nccl_queue *queue);
int gda_nccl_queue_connect(struct gda_nccl_queue *queue, const struct gda_address *peer);
void gda_nccl_queue_destroy(struct gda_nccl_queue *queue);
/* Post copies of @size bytes. Return: the last ticket or a negative errno. */
int64_t gda_nccl_queue_put(struct gda_nccl_queue *queue, uint64_t laddr, uint32_t lkey,
			   uint64_t raddr, uint32_t rkey, uint64_t size);

/* group.c */
int gda_nccl_group_join(uint64_t id, int ranks, struct gda_nccl_group **group);
void gda_nccl_group_leave(struct gda_nccl_group *group, int rank);
/*
 * Exchange @bytes: get those of all ranks, in the order of ranks. All ranks make the same calls in
 * the same order. Return: the same for all ranks: 0, or a negative errno: -EPIPE a rank has left;
 * -ETIME one did not come; -EBADMSG one passed another number of bytes.
 */
int gda_nccl_meet(struct gda_nccl_coll *coll, const void *mine, size_t bytes, void *all);

/* member.c */
int gda_nccl_member_create(int rank, int device, int ranks, struct gda_nccl_member **member);
/* Called when no peer uses its queues any more. */
void gda_nccl_member_close(struct gda_nccl_member *member, int ranks);
void gda_nccl_member_free(struct gda_nccl_member *member);

/* coll.c */
int gda_nccl_listen(void *ctx, int device, void *handle, void **listener);
/*
 * Agree whether all ranks have succeeded so far. Return: 0, @err, -ECANCELED, or as
 * gda_nccl_meet().
 */
int gda_nccl_agree(struct gda_nccl_coll *coll, int err);
int gda_nccl_connect(void *ctx, void *handles[], int ranks, int rank, void *listener, void **coll);
int gda_nccl_close_coll(void *coll);
int gda_nccl_close_listen(void *listener);

/* context.c */
int gda_nccl_create_context(void *coll, struct gda_nccl_config *config, void **context);
int gda_nccl_destroy_context(void *context);

/* region.c */
int gda_nccl_reg(void *coll, void *data, size_t size, int type, uint64_t flags, void **mr);
int gda_nccl_reg_dmabuf(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			uint64_t flags, void **mr);
int gda_nccl_dereg(void *coll, void *mr);

/* signal.c: add to a word of GPU memory; @ticket is on the owner's queue to itself. */
int gda_nccl_word_add(struct gda_nccl_region *region, uint64_t offset, uint64_t value,
		      int64_t *ticket);

/* post.c */
int gda_nccl_iput(void *context, int index, uint64_t src_offset, void *src_mr, size_t size,
		  uint64_t dst_offset, void *dst_mr, uint32_t rank, void **request);
int gda_nccl_iput_signal(void *context, int index, uint64_t src_offset, void *src_mr,
			 size_t size, uint64_t dst_offset, void *dst_mr, uint32_t rank,
			 uint64_t signal_offset, void *signal_mr, uint64_t signal_value,
			 uint32_t signal_op, bool strong, void **request);
int gda_nccl_iget(void *context, int index, uint64_t remote_offset, void *remote_mr,
		  size_t size, uint64_t local_offset, void *local_mr, uint32_t rank,
		  void **request);
int gda_nccl_iflush(void *context, int index, void *mr, uint32_t rank, void **request);

/* request.c */
struct gda_nccl_request *gda_nccl_request_get(struct gda_nccl_context *c, const char *what);
void gda_nccl_request_put(struct gda_nccl_request *r);
/* Queue the signal of @r, to be sent when its data has arrived. */
void gda_nccl_request_queue(struct gda_nccl_request *r);
void gda_nccl_requests_free(struct gda_nccl_context *c);
int gda_nccl_test(void *coll, void *request, int *done);
int gda_nccl_progress(void *context);
int gda_nccl_query_last_error(void *context, bool *has_error);

#endif /* GDA_NCCL_INTERNAL_H */
