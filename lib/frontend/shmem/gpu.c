// SPDX-License-Identifier: MIT
/*
 * Heaps whose posters are a GPU. The heap is in GPU memory. Words for atomics and signals are in
 * pinned host memory with queues, because the heap is not registered for words, and in GPU memory
 * with direct access. Data that only posters access is in one block of GPU memory, a copy of the
 * host's data with addresses that are valid there: the heap, its peers, queue pairs, MRs, and which
 * words of the stage are in use.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gda/cuda.h>
#include "shmem_internal.h"
#include "share.h"

#define GDA_SHMEM_ZEROS		(1U << 20)

int gda_shmem_gpu_check(struct gda_shmem_heap *h)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct gda_shmem_attr *a = &h->attr;

	if (a->data || a->device)
		return gda_shmem_refuse(h, -EINVAL,
					"data or device is set: not with cuda");
	if (a->word_bytes > INT64_MAX - page)
		return gda_shmem_refuse(h, -EINVAL, "word_bytes is %llu: set fewer",
					(unsigned long long)a->word_bytes);
	a->word_bytes = a->word_bytes ? (a->word_bytes + page - 1) / page * page : page;
	if (a->way == GDA_SHMEM_AUTO)
		a->way = GDA_SHMEM_QUEUE;
	return 0;
}

/* Allocate zeroed GPU memory. */
static int gda_shmem_gpu_alloc(struct gda_shmem_heap *h, struct gda_shmem_memory *m,
			       uint64_t bytes)
{
	uint64_t piece = bytes < GDA_SHMEM_ZEROS ? bytes : GDA_SHMEM_ZEROS, at, n;
	void *zeros = calloc(1, piece);
	int err = zeros ? gda_cuda_gpu_alloc(h->cuda, bytes, &m->addr) : -ENOMEM;

	m->bytes = bytes;
	for (at = 0; !err && at < bytes; at += n) {
		n = bytes - at < piece ? bytes - at : piece;
		err = gda_cuda_upload(h->cuda, m->addr + at, zeros, n);
	}
	free(zeros);
	if (err)
		return gda_shmem_refuse(h, err,
					"%llu bytes of GPU memory (set a smaller heap_bytes): %s",
					(unsigned long long)bytes, gda_strerror(err));
	return 0;
}

static int gda_shmem_gpu_words(struct gda_shmem_heap *h)
{
	struct gda_shmem_memory *m = &h->own.data;
	void *words = NULL;
	int err;

	if (h->attr.way == GDA_SHMEM_DIRECT)
		return gda_shmem_gpu_alloc(h, m, h->attr.word_bytes);
	err = gda_cuda_host_alloc(h->cuda, h->attr.word_bytes, &words);
	if (err)
		return gda_shmem_refuse(h, err, "%llu bytes of words (set fewer word_bytes): %s",
					(unsigned long long)h->attr.word_bytes,
					gda_strerror(err));
	m->addr = (uintptr_t)words;
	m->bytes = h->attr.word_bytes;
	return 0;
}

int gda_shmem_gpu_memory(struct gda_shmem_heap *h)
{
	int err = gda_shmem_gpu_alloc(h, &h->own.heap, h->attr.heap_bytes);

	return err ? err : gda_shmem_gpu_words(h);
}

static void gda_shmem_gpu_memory_free(struct gda_shmem_heap *h)
{
	gda_cuda_gpu_free(h->cuda, h->own.heap.addr);
	if (h->attr.way == GDA_SHMEM_DIRECT)
		gda_cuda_gpu_free(h->cuda, h->own.data.addr);
	else
		gda_cuda_host_free(h->cuda, (void *)(uintptr_t)h->own.data.addr);
}

int gda_shmem_gpu_map(struct gda_shmem_heap *h, uint32_t pe)
{
	const struct gda_shmem_card *card = &h->cards[pe];

	if (!gda_shmem_is_thread(card, &h->own))
		return gda_shmem_refuse(h, -EOPNOTSUPP,
					"PE %u is another process: use the queue way for GPU memory",
					pe);
	if (!gda_cuda_reaches(h->cuda, card->heap.addr))
		return gda_shmem_refuse(h, -EOPNOTSUPP,
					"the GPU of PE %u is out of reach: use the queue way", pe);
	h->peers[pe].heap = card->heap.addr;
	h->peers[pe].data = card->data.addr;
	return 0;
}

int gda_shmem_gpu_qp_create(struct gda_shmem_heap *h, uint32_t at)
{
	const struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = h->attr.depth,
		.place = h->attr.place,
		.timeout_ns = h->attr.timeout_ns,
	};
	int err = gda_cuda_qp_create(h->cuda, &attr, &h->gpu_qps[at]);

	if (!err)
		h->qps[at] = gda_cuda_qp_base(h->gpu_qps[at]);
	return err;
}

struct gda_view *gda_shmem_gpu_qp_view(struct gda_shmem_heap *h, uint32_t at, uint32_t pe)
{
	struct gda_view *view = gda_cuda_qp_view(h->gpu_qps[at]);
	uint64_t word = h->lost + pe * sizeof(uint32_t);
	int err;

	if (!view)
		return NULL;
	err = gda_cuda_upload(h->cuda, (uintptr_t)view + offsetof(struct gda_view, abort), &word,
			      sizeof(word));
	if (!err)
		return view;
	gda_shmem_refuse(h, err, "the view of a queue pair: %s", gda_strerror(err));
	return NULL;
}

int gda_shmem_gpu_stage(struct gda_shmem_heap *h, void **stage, size_t *bytes)
{
	*bytes = GDA_SHMEM_GPU_SINK + GDA_SHMEM_GPU_WORDS * GDA_SHMEM_GPU_LINE;
	return gda_cuda_host_alloc(h->cuda, *bytes, stage);
}

int gda_shmem_gpu_watch(struct gda_shmem_heap *h)
{
	int err = gda_cuda_pages_get(h->cuda,
				     (void *)(uintptr_t)gda_comm_abort_word(h->comm, 0),
				     gda_comm_abort_bytes(h->comm), &h->lost, &h->lost_map);

	if (err)
		return gda_shmem_refuse(h, err, "the abort words: %s", gda_strerror(err));
	h->ctx = h->attr.way == GDA_SHMEM_QUEUE ? gda_cuda_context(h->cuda) : NULL;
	if (h->ctx)
		h->shmem.caps |= GDA_SHMEM_DATA_ATOMICS;
	return 0;
}

static size_t gda_shmem_gpu_bytes(const struct gda_shmem_heap *h)
{
	size_t npes = h->shmem.npes;

	return sizeof(h->shmem) + sizeof(struct gda_shmem_words) +
	       npes * (sizeof(*h->peers) + h->attr.qps * sizeof(*h->slots) +
		       h->nkeys * sizeof(*h->chunks)) + 8 * 128;
}

static void gda_shmem_gpu_fill(struct gda_shmem_heap *h, struct gda_cuda_image *image)
{
	struct gda_shmem_peer *peers;
	uint64_t slots, chunks;
	struct gda_shmem *s;
	void *here;
	uint32_t pe;

	gda_cuda_image_take(image, sizeof(*s), &here);
	s = here;
	*s = h->shmem;
	s->words = gda_cuda_image_take(image, sizeof(struct gda_shmem_words), &here);
	s->peers = gda_cuda_image_copy(image, h->peers, s->npes * sizeof(*peers));
	peers = (void *)(image->bytes + (s->peers - image->addr));
	slots = gda_cuda_image_copy(image, h->slots, h->nqps * sizeof(*h->slots));
	chunks = gda_cuda_image_copy(image, h->chunks,
				     (size_t)s->npes * h->nkeys * sizeof(*h->chunks));
	for (pe = 0; pe < s->npes; pe++) {
		peers[pe].abort = h->lost + pe * sizeof(uint32_t);
		if (!h->ctx)
			continue;
		gda_cuda_image_move(&peers[pe].qps, h->slots, slots);
		gda_cuda_image_move(&peers[pe].map.chunks, h->chunks, chunks);
	}
}

int gda_shmem_gpu_publish(struct gda_shmem_heap *h)
{
	struct gda_cuda_image image;
	int err = gda_cuda_image_open(&image, h->cuda, gda_shmem_gpu_bytes(h));

	if (!err) {
		gda_shmem_gpu_fill(h, &image);
		err = gda_cuda_image_close(&image, h->cuda);
	}
	if (err)
		return gda_shmem_refuse(h, err, "a copy for the GPU: %s", gda_strerror(err));
	h->gpu = image.addr;
	return 0;
}

void gda_shmem_gpu_destroy(struct gda_shmem_heap *h)
{
	gda_cuda_gpu_free(h->cuda, h->gpu);
	gda_cuda_host_free(h->cuda, (void *)(uintptr_t)h->shmem.stage);
	gda_cuda_pages_put(h->cuda, h->lost_map);
	gda_shmem_gpu_memory_free(h);
}

GDA_EXPORT struct gda_shmem *gda_shmem_cuda(const struct gda_shmem *s)
{
	const struct gda_shmem_heap *h = (const struct gda_shmem_heap *)(uintptr_t)s->owner;

	return (struct gda_shmem *)(uintptr_t)h->gpu;
}
