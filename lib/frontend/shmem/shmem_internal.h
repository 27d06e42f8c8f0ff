/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/frontend/shmem: the heap as the library keeps it, and the messages between PEs
 * while it is created.
 *
 * Creation is a sequence of local steps, each followed by gda_shmem_agree(): a PE whose step failed
 * notes why, and all PEs return its error and its text.
 */
#ifndef GDA_SHMEM_INTERNAL_H
#define GDA_SHMEM_INTERNAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <gda/shmem.h>
#include "gda_internal.h"

struct gda_cuda_map;
struct gda_cuda_qp;

/* Bytes of a reason, and of the part of it that is sent. */
#define GDA_SHMEM_WHY		160
#define GDA_SHMEM_WHY_SENT	124

/* Memory that other processes can map. */
struct gda_shmem_memory {
	int32_t fd;		/* -1: none */
	uint32_t reserved;
	uint64_t addr;
	uint64_t bytes;
	uint64_t dev;		/* of the file, to detect that /proc/PID/fd/FD is another file */
	uint64_t ino;
};

/* The card of a PE, as sent to the others. */
struct gda_shmem_card {
	int32_t pid;
	uint32_t way;
	uint32_t qps;
	uint32_t depth;
	uint64_t chunk_bytes;
	uint64_t gpu;		/* 1: its posters are a GPU */
	uint64_t process;	/* random, the same for PEs that are threads of one process */
	struct gda_shmem_memory heap;
	struct gda_shmem_memory data;
	char machine[GDA_MACHINE_BYTES];
};

/* A pool of up to 64 pieces of registered memory, each used by one request at a time. */
struct gda_shmem_pool {
	uint64_t used;			/* a bit for each piece; bits without a piece are set */
	struct {
		struct gda_view *view;	/* the piece's last request is unfinished there, or NULL */
		int64_t ticket;
	} left[64];
};

struct gda_shmem_stage {
	struct gda_shmem_pool words;
	struct gda_shmem_pool blocks;
	struct gda_mr *mr;
	struct gda_chunk chunk;
	struct gda_chunk_map map;
};

struct gda_shmem_heap {
	struct gda_shmem shmem;		/* first: the caller has its address */
	struct gda_comm *comm;
	struct gda_shmem_attr attr;
	struct gda_shmem_peer *peers;
	struct gda_shmem_card own;
	struct gda_shmem_card *cards;	/* of all */
	char why[GDA_SHMEM_WHY];	/* the reason of the failed step */

	/* by queue */
	uint64_t spoken;		/* dialects of the program */
	struct gda_context *ctx;
	uint64_t chunk_bytes;		/* size of an MR, at most */
	uint32_t nkeys;			/* MRs of a PE */
	uint32_t nmrs;			/* of this PE, so far */
	uint32_t nqps;			/* likewise */
	struct gda_mr **mrs;
	struct gda_qp **qps;
	struct gda_shmem_qp *slots;	/* indexed by PE, then by number */
	struct gda_chunk *chunks;	/* likewise */
	struct gda_shmem_stage stage;

	/* only if posters are a GPU: */
	struct gda_cuda *cuda;
	struct gda_cuda_qp **gpu_qps;	/* own those of @qps */
	uint64_t gpu;			/* copy of all that posters use */
	uint64_t lost;			/* the GPU's address of the ranks' abort words */
	struct gda_cuda_map *lost_map;
};

/* Note why a step fails, unless a reason was noted. Return: @err. */
int gda_shmem_refuse(struct gda_shmem_heap *h, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Collective: end a step, which returned @err here. Return: 0, or the error of the first PE that
 * failed, with its text in h->why.
 */
int gda_shmem_agree(struct gda_shmem_heap *h, int err);

/* Collective: gda_comm_allgather(), with a text for a lost PE. */
int gda_shmem_gather(struct gda_shmem_heap *h, const void *in, size_t bytes, void *out);

/* Are two PEs threads of one process? */
bool gda_shmem_is_thread(const struct gda_shmem_card *a, const struct gda_shmem_card *b);

/* memory.c */

/* A number that is the same in all threads of this process and in no other process. Never 0. */
uint64_t gda_shmem_process(void);
/* Make the heap. */
int gda_shmem_memory_heap(struct gda_shmem_heap *h);
/* Turn the existing range at the caller's address into a file that others can map. */
int gda_shmem_memory_data(struct gda_shmem_heap *h);
/* Map the heap and the data segment of @pe. */
int gda_shmem_memory_map(struct gda_shmem_heap *h, uint32_t pe);
void gda_shmem_memory_unmap(struct gda_shmem_heap *h, uint32_t pe);
/* Close the files, when all PEs have mapped each other's memory. */
void gda_shmem_memory_close(struct gda_shmem_heap *h);
void gda_shmem_memory_free(struct gda_shmem_heap *h);

/* queue.c: collective; after a failure gda_shmem_queue_destroy() frees what was created */
int gda_shmem_queue_create(struct gda_shmem_heap *h);
void gda_shmem_queue_destroy(struct gda_shmem_heap *h);

/* gpu.c: only if posters are a GPU */

/* Choose the way, and check that the attributes are possible. */
int gda_shmem_gpu_check(struct gda_shmem_heap *h);
/* Heap and words. */
int gda_shmem_gpu_memory(struct gda_shmem_heap *h);
/* Find the heap and the words of @pe, which is a thread of this process. */
int gda_shmem_gpu_map(struct gda_shmem_heap *h, uint32_t pe);
/* Create queue pair @at. */
int gda_shmem_gpu_qp_create(struct gda_shmem_heap *h, uint32_t at);
/* The view of a queue pair, whose waits end when @pe is lost; NULL and a reason on failure. */
struct gda_view *gda_shmem_gpu_qp_view(struct gda_shmem_heap *h, uint32_t at, uint32_t pe);
/* Allocate host memory for the stage. Return: its address, or a negative errno. */
int gda_shmem_gpu_stage(struct gda_shmem_heap *h, void **stage, size_t *bytes);
/* Let posters see the abort words; called before the queue pairs are connected. */
int gda_shmem_gpu_watch(struct gda_shmem_heap *h);
/* Copy the described heap to the GPU. */
int gda_shmem_gpu_publish(struct gda_shmem_heap *h);
void gda_shmem_gpu_destroy(struct gda_shmem_heap *h);

/* stage.c */
int gda_shmem_stage_create(struct gda_shmem_heap *h);
void gda_shmem_stage_destroy(struct gda_shmem_heap *h);
/* Size of the stage, which is pinned. */
uint64_t gda_shmem_stage_bytes(void);

#endif /* GDA_SHMEM_INTERNAL_H */
