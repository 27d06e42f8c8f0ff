// SPDX-License-Identifier: MIT
/* The put path of each kind of poster, alone in a kernel. sass.sh counts; never run. */
#include <gda/gin.h>
#include <gda/shmem.h>

#define PROBE(name, open) \
extern "C" __global__ void name(struct gda_view *v, uint64_t laddr, uint64_t raddr) \
{ \
	open; \
	gda_put(q, laddr, 0x1234, raddr, 0x5678, 4096, 0); \
}

PROBE(exclusive, struct gda_exclusive q = gda_exclusive_open(v))
PROBE(shared, struct gda_shared q = gda_shared_open(v, false))
PROBE(courier, struct gda_shared q = gda_shared_open(v, true))
PROBE(view, struct gda_view *q = v)

extern "C" __global__ void block(struct gda_view *v, struct gda_block *b, uint64_t laddr,
				 uint64_t raddr)
{
	struct gda_block_queue q = gda_block_join(b, false);

	gda_put(q, laddr, 0x1234, raddr, 0x5678, 4096, 0);
}

/* A put of gda/gin.h, and one with Inc, by each kind of poster, opened before. */
#define GIN_PROBE(name, queue, how) \
extern "C" __global__ void name(const struct gda_gin_poster<struct queue> *open, \
				const struct gda_window *w, uint64_t to, uint64_t from) \
{ \
	struct gda_gin_poster<struct queue> p = *open; \
	gda_gin_put(p, gda_at(w, to), gda_at(w, from), 4096, how); \
}

GIN_PROBE(gin_put, gda_exclusive, gda_gin_plain(0))
GIN_PROBE(gin_thread, gda_exclusive, gda_gin_inc(3, 0))
GIN_PROBE(gin_gpu, gda_shared, gda_gin_inc(3, 0))
GIN_PROBE(gin_block, gda_block_queue, gda_gin_inc(3, 0))

/* Calls of gda/shmem.h by posters, opened before. */
#define SHMEM_PROBE(name, queue, call) \
extern "C" __global__ void name(const struct gda_shmem_poster<struct queue> *open, void *to, \
				const void *from, int64_t *result) \
{ \
	struct gda_shmem_poster<struct queue> p = *open; \
	*result = call; \
}

SHMEM_PROBE(shmem_thread, gda_exclusive, gda_shmem_put_nbi(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_warp, gda_exclusive, gda_shmem_put_nbi_warp(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_each, gda_exclusive, gda_shmem_put_nbi_each(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_gpu, gda_shared, gda_shmem_put_nbi(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_gpu_each, gda_shared, gda_shmem_put_nbi_each(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_block, gda_block_queue, gda_shmem_put_nbi(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_quiet, gda_exclusive, gda_shmem_quiet(p, 0))
SHMEM_PROBE(shmem_gpu_quiet, gda_shared, gda_shmem_quiet(p, 0))
SHMEM_PROBE(shmem_get, gda_shared, gda_shmem_get(p, to, from, 4096, 0))
SHMEM_PROBE(shmem_fetch, gda_shared,
	    gda_shmem_atomic_fetch64(p, (uint64_t *)to, GDA_SHMEM_ADD, 1, (uint64_t *)result, 0))
