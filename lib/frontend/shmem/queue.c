// SPDX-License-Identifier: MIT
/*
 * Sets up access by queues: a context, the MRs of this PE's symmetric memory, and queue pairs to
 * every PE, itself included. PEs exchange keys and addresses by gda_comm_allgather().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <gda/cuda.h>
#include "shmem_internal.h"

#define GDA_SHMEM_NO_QUEUE \
	"processes have no queue without /dev/gda: load gda_core, or unset GDA_SHMEM_WAY"
#define GDA_SHMEM_PAGE		4096U
#define GDA_SHMEM_LEAST_DEPTH	32U	/* for transfers that are inline in the queue */

/* An MR of a PE, as other PEs address it. */
struct gda_shmem_key {
	uint64_t iova;
	uint32_t key;
	uint32_t reserved;
};

/* Processes need /dev/gda to reach each other; the in-process device only serves threads. */
static int gda_shmem_check_device(struct gda_shmem_heap *h)
{
	uint32_t pe;

	for (pe = 0; pe < h->shmem.npes; pe++)
		if (!gda_shmem_is_thread(&h->cards[pe], &h->own) && gda_inproc_alone(h->ctx))
			return gda_shmem_refuse(h, -EOPNOTSUPP, GDA_SHMEM_NO_QUEUE);
	return 0;
}

/* Choose the dialect; kernels post in the first one alone. */
static int gda_shmem_dialect(struct gda_shmem_heap *h)
{
	uint32_t *dialect = &h->attr.dialect;
	struct gda_reason reason;
	int err = h->cuda ? gda_dialect_kernels(dialect) : 0;

	if (!err)
		err = gda_dialect_choose(dialect, h->spoken);
	if (err) {
		gda_reason_save(&reason);
		return gda_shmem_refuse(h, err, "%s", reason.text);
	}
	if (gda_cqe_unordered(*dialect))
		h->shmem.caps |= GDA_SHMEM_UNORDERED;
	return 0;
}

static int gda_shmem_open(struct gda_shmem_heap *h)
{
	struct gda_query query = { .size = sizeof(query) };
	int err = gda_shmem_dialect(h);

	if (err)
		return err;
	err = h->ctx ? 0 : gda_open(h->attr.device, &h->ctx);

	if (!err)
		err = gda_context_query(h->ctx, &query);
	if (err)
		return gda_shmem_refuse(h, err, "%s", gda_last_error());
	if (!(query.features[0] & GDA_FEATURE_MASKED))
		return gda_shmem_refuse(h, -EOPNOTSUPP,
					"the device has no masked atomics (GDA_FEATURE_MASKED): use soft0 or inproc");
	if (h->attr.depth < GDA_SHMEM_LEAST_DEPTH)
		return gda_shmem_refuse(h, -EINVAL, "depth %u: set at least %u", h->attr.depth,
					GDA_SHMEM_LEAST_DEPTH);
	h->chunk_bytes = query.max_mr_size / query.page_size * query.page_size;
	if (h->attr.chunk_bytes && h->attr.chunk_bytes < h->chunk_bytes)
		h->chunk_bytes = h->attr.chunk_bytes;
	return gda_shmem_check_device(h);
}

static uint64_t gda_shmem_chunks(const struct gda_shmem_heap *h, uint64_t bytes)
{
	return (bytes + h->chunk_bytes - 1) / h->chunk_bytes;
}

/* How many bytes will be pinned; queues are charged to the same limit, see gda(4). */
static uint64_t gda_shmem_memlock(const struct gda_shmem_heap *h)
{
	uint64_t queue = (uint64_t)h->attr.depth * gda_wqe_slot_bytes(h->attr.dialect) +
			 3 * GDA_SHMEM_PAGE;

	return h->own.heap.bytes + h->own.data.bytes + gda_shmem_stage_bytes() +
	       queue * h->attr.qps * h->shmem.npes;
}

static int gda_shmem_register_one(struct gda_shmem_heap *h, uint64_t addr, uint64_t bytes)
{
	struct gda_mr **mr = &h->mrs[h->nmrs];
	struct rlimit limit = { 0 };
	int err;

	if (h->cuda && addr - h->own.heap.addr < h->own.heap.bytes)
		err = gda_cuda_mr_reg(h->cuda, addr, bytes, GDA_ACCESS_ALL, 0, mr);
	else
		err = gda_mr_reg(h->ctx, (void *)(uintptr_t)addr, bytes, GDA_ACCESS_ALL, 0, mr);

	if (!err) {
		h->nmrs++;
		return 0;
	}
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (err == -ENOMEM && limit.rlim_cur != RLIM_INFINITY)
		return gda_shmem_refuse(h, err,
					"RLIMIT_MEMLOCK is %llu KiB: raise it to %llu, ulimit -l",
					(unsigned long long)limit.rlim_cur >> 10,
					(unsigned long long)gda_shmem_memlock(h) >> 10);
	return gda_shmem_refuse(h, err, "%s", gda_last_error());
}

static int gda_shmem_register(struct gda_shmem_heap *h, uint64_t addr, uint64_t bytes)
{
	uint64_t n;
	int err = 0;

	for (; bytes && !err; bytes -= n, addr += n) {
		n = bytes < h->chunk_bytes ? bytes : h->chunk_bytes;
		err = gda_shmem_register_one(h, addr, n);
	}
	return err;
}

static int gda_shmem_create_qps(struct gda_shmem_heap *h)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = h->attr.depth,
		.dialect = h->attr.dialect,
		.timeout_ns = h->attr.timeout_ns,
	};
	uint32_t n = h->shmem.npes * h->attr.qps;
	int err = 0;

	for (h->nqps = 0; h->nqps < n && !err; h->nqps += !err)
		err = h->cuda ? gda_shmem_gpu_qp_create(h, h->nqps) :
				gda_qp_create(h->ctx, &attr, &h->qps[h->nqps]);
	return err ? gda_shmem_refuse(h, err, "%s", gda_last_error()) : 0;
}

/* Create the objects of this PE. */
static int gda_shmem_queue_objects(struct gda_shmem_heap *h)
{
	uint32_t n = h->shmem.npes * h->attr.qps;
	int err = gda_shmem_open(h);

	if (err)
		return err;
	h->nkeys = (uint32_t)(gda_shmem_chunks(h, h->own.heap.bytes) +
			      gda_shmem_chunks(h, h->own.data.bytes));
	h->mrs = calloc(h->nkeys, sizeof(*h->mrs));
	h->qps = calloc(n, sizeof(*h->qps));
	h->slots = calloc(n, sizeof(*h->slots));
	h->chunks = calloc((size_t)h->shmem.npes * h->nkeys, sizeof(*h->chunks));
	h->gpu_qps = calloc(n, sizeof(*h->gpu_qps));
	if (!h->mrs || !h->qps || !h->slots || !h->chunks || !h->gpu_qps)
		return gda_shmem_refuse(h, -ENOMEM,
					"no memory for %u queue pairs: set fewer qps",
					n);
	err = gda_shmem_stage_create(h);
	if (!err)
		err = gda_shmem_register(h, h->own.heap.addr, h->own.heap.bytes);
	if (!err)
		err = gda_shmem_register(h, h->own.data.addr, h->own.data.bytes);
	return err ? err : gda_shmem_create_qps(h);
}

/* Map a PE's memory by the caller's addresses: heap and data segment, the lower one first. */
static void gda_shmem_map_peer(struct gda_shmem_heap *h, uint32_t pe,
			       const struct gda_shmem_key *keys)
{
	uint32_t heaps = (uint32_t)gda_shmem_chunks(h, h->own.heap.bytes), i;
	bool data_first = h->nkeys > heaps && h->own.data.addr < h->own.heap.addr;
	struct gda_chunk *chunks = h->chunks + (size_t)pe * h->nkeys, *c;
	const struct gda_shmem_memory *m;
	uint64_t off;

	for (i = 0; i < h->nkeys; i++) {
		m = i < heaps ? &h->own.heap : &h->own.data;
		off = (i < heaps ? i : i - heaps) * h->chunk_bytes;
		c = chunks + (data_first ? (i + h->nkeys - heaps) % h->nkeys : i);
		c->addr = m->addr + off;
		c->length = m->bytes - off < h->chunk_bytes ? m->bytes - off : h->chunk_bytes;
		c->iova = keys[i].iova;
		c->key = keys[i].key;
	}
	h->peers[pe].map = (struct gda_chunk_map) {
		.size = sizeof(h->peers[pe].map), .count = h->nkeys, .chunks = (uintptr_t)chunks,
	};
}

/* Exchange the keys of all PEs; each PE has the same number of them. */
static int gda_shmem_gather_keys(struct gda_shmem_heap *h)
{
	struct gda_shmem_key *own = calloc(h->nkeys, sizeof(*own));
	struct gda_shmem_key *all = calloc((size_t)h->shmem.npes * h->nkeys, sizeof(*all));
	int err = own && all ? 0 : -ENOMEM;
	uint32_t i;

	for (i = 0; i < h->nkeys && !err; i++) {
		own[i].iova = gda_mr_iova(h->mrs[i]);
		own[i].key = gda_mr_key(h->mrs[i]);
	}
	if (!err)
		err = gda_shmem_gather(h, own, h->nkeys * sizeof(*own), all);
	for (i = 0; i < h->shmem.npes && !err; i++)
		gda_shmem_map_peer(h, i, all + (size_t)i * h->nkeys);
	free(own);
	free(all);
	return err;
}

/* Connect queue pair @k to @pe with the queue pair @k of @pe to this PE. */
static int gda_shmem_connect_one(struct gda_shmem_heap *h, uint32_t pe, uint32_t k,
				 const struct gda_address *all)
{
	uint32_t n = h->attr.qps, own = pe * n + k;
	const struct gda_address *peer = all + (size_t)pe * h->nqps + h->shmem.pe * n + k;
	struct gda_view *view = h->cuda ? gda_shmem_gpu_qp_view(h, own, pe) :
					  gda_qp_view(h->qps[own]);
	int err = view ? gda_qp_connect(h->qps[own], peer) : -E2BIG;

	if (!err && !h->cuda)
		err = gda_comm_watch(h->comm, pe, view);
	if (err)
		return gda_shmem_refuse(h, err, "%s", gda_last_error());
	h->slots[own].view = (uintptr_t)view;
	h->peers[pe].qps = (uintptr_t)(h->slots + pe * n);
	return 0;
}

static int gda_shmem_connect_all(struct gda_shmem_heap *h, const struct gda_address *all)
{
	uint32_t pe, k;
	int err = 0;

	for (pe = 0; pe < h->shmem.npes; pe++)
		for (k = 0; k < h->attr.qps && !err; k++)
			err = gda_shmem_connect_one(h, pe, k, all);
	return err;
}

static int gda_shmem_gather_addresses(struct gda_shmem_heap *h)
{
	struct gda_address *own = calloc(h->nqps, sizeof(*own));
	struct gda_address *all = calloc((size_t)h->shmem.npes * h->nqps, sizeof(*all));
	int err = own && all ? 0 : -ENOMEM;
	uint32_t i;

	for (i = 0; i < h->nqps && !err; i++)
		err = gda_qp_address(h->qps[i], &own[i]);
	if (!err)
		err = gda_shmem_gather(h, own, h->nqps * sizeof(*own), all);
	if (!err)
		err = gda_shmem_agree(h, gda_shmem_connect_all(h, all));
	free(own);
	free(all);
	return err;
}

int gda_shmem_queue_create(struct gda_shmem_heap *h)
{
	int err = gda_shmem_agree(h, gda_shmem_queue_objects(h));

	if (!err)
		err = gda_shmem_gather_keys(h);
	if (!err)
		err = gda_shmem_gather_addresses(h);
	if (!err)
		h->shmem.qps = h->attr.qps;
	return err;
}

void gda_shmem_queue_destroy(struct gda_shmem_heap *h)
{
	uint32_t i;

	for (i = 0; i < h->nqps; i++) {
		if (h->cuda)
			gda_cuda_qp_destroy(h->gpu_qps[i]);
		else
			gda_qp_destroy(h->qps[i]);
	}
	for (i = 0; i < h->nmrs; i++)
		gda_mr_dereg(h->mrs[i]);
	gda_shmem_stage_destroy(h);
	if (!h->cuda)
		gda_close(h->ctx);
	free(h->gpu_qps);
	free(h->qps);
	free(h->mrs);
	free(h->slots);
	free(h->chunks);
}
