// SPDX-License-Identifier: MIT
/*
 * Calls to a PE that is reached by queue: those of gda/shmem.h, where a failure ends the job. Posts
 * are exclusive unless the program's threads may call at the same time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gda/gda.h>
#include "reach.h"

#define LOST_LOOKS	500U
#define LOST_NS		10000000L	/* between two checks for lost PEs */

/* A queue fails when its peer ends; the reason may become known a little later. */
static void find_lost(const char *call)
{
	const struct timespec rest = { .tv_nsec = LOST_NS };
	unsigned int i;

	for (i = 0; i < LOST_LOOKS; i++) {
		gda_osh_check(call);
		nanosleep(&rest, NULL);
	}
}

__attribute__((noreturn, cold))
static void failed(const char *call, const void *addr, size_t bytes, int pe, int err)
{
	struct gda_error error = { .size = sizeof(error) };
	struct gda_view *view = gda_shmem_view(gda_osh.s, (uint32_t)pe, 0);

	if (err == -EFAULT)
		gda_osh_bad(call, addr, bytes, pe);
	if (err == -EIO || err == -ESHUTDOWN)
		find_lost(call);
	if (err == -EIO && view && gda_error(view, &error) == 1)
		gda_osh_die(call, pe,
			    "%zu bytes at %p: %s: is it symmetric memory, and PE %d still alive?",
			    bytes, addr, gda_syndrome_name(error.syndrome), pe);
	gda_osh_die(call, pe, "%zu bytes at %p: %s", bytes, addr, strerror(-err));
}

void gda_osh_queue_put(const char *call, void *dest, const void *source, size_t bytes, int pe)
{
	int err = gda_shmem_put(gda_osh.s, dest, source, bytes, (uint32_t)pe, gda_osh.flags);

	if (err)
		failed(call, dest, bytes, pe, err);
}

void gda_osh_queue_put_nbi(const char *call, void *dest, const void *source, size_t bytes,
			   int pe)
{
	int64_t ticket = gda_shmem_put_nbi(gda_osh.s, dest, source, bytes, (uint32_t)pe,
					   gda_osh.flags);

	if (ticket < 0)
		failed(call, dest, bytes, pe, (int)ticket);
}

void gda_osh_queue_get_nbi(const char *call, void *dest, const void *source, size_t bytes,
			   int pe)
{
	int64_t ticket = gda_shmem_get_nbi(gda_osh.s, dest, source, bytes, (uint32_t)pe,
					   gda_osh.flags);

	if (ticket < 0)
		failed(call, source, bytes, pe, (int)ticket);
}

/*
 * Most calls write a word, by an exclusive post. So for each PE this has the queue and the first
 * MRs of heap and data segment. The posts are leaf functions, and leave rare cases to others: a
 * full queue, a word in another MR, threads, a PE whose queue has another dialect than the first.
 */
static struct route {
	struct gda_view *view;
	uint64_t heap_iova;	/* less the address here */
	uint64_t data_iova;
	uint32_t heap_key;
	uint32_t data_key;
} *routes;

/*
 * A quiet posts a read behind everything posted since the last read, and waits for it. No such read
 * is needed behind words of the library, for which a call of the peer waits, or behind a read that
 * was waited for. It is posted nevertheless if threads may post at the same time, and by
 * shmem_finalize(), which waits for those words, too.
 */
static struct gda_shmem_qp *qp_of(int pe)
{
	return (struct gda_shmem_qp *)(uintptr_t)gda_shmem_peer(gda_osh.s, (uint32_t)pe)->qps;
}

static bool is_quiet(int pe)
{
	return gda_osh.flags && !gda_osh.stopping &&
	       gda_load_relaxed64(&qp_of(pe)->quiet) == gda_handed_out(routes[pe].view);
}

static void set_quiet(int pe)
{
	gda_store_relaxed64(&qp_of(pe)->quiet, gda_handed_out(routes[pe].view));
}

/* A read has completed, and with it all that was posted to @pe before. */
static void was_read(int pe)
{
	if (gda_osh.flags)
		set_quiet(pe);
}

/* Where words may begin in these MRs, as offsets; 0: every post is a rare case. */
static uint64_t heap_words, data_words;

/* Do all queues have the dialect that post() writes? */
static bool speak_first(void)
{
	uint32_t pe;

	for (pe = 0; pe < gda_osh.s->npes; pe++)
		if (routes[pe].view && !gda_wqe_is_first(routes[pe].view->dialect))
			return false;
	return true;
}

int gda_osh_queue_init(void)
{
	const struct gda_shmem *s = gda_osh.s;
	const struct gda_chunk *heap, *data;
	uint32_t pe;

	if (!s->qps)
		return 0;
	routes = calloc(s->npes, sizeof(*routes));
	if (!routes)
		return -ENOMEM;
	for (pe = 0; pe < s->npes; pe++) {
		heap = gda_chunk_find(&gda_shmem_peer(s, pe)->map, s->heap);
		data = gda_chunk_find(&gda_shmem_peer(s, pe)->map, s->data);
		routes[pe] = (struct route) {
			.view = gda_shmem_view(s, pe, 0), .heap_key = heap->key,
			.heap_iova = heap->iova - heap->addr, .data_key = data->key,
			.data_iova = data->iova - data->addr,
		};
	}
	/* the MRs have the same layout at all PEs, and at least a page */
	heap = gda_chunk_find(gda_shmem_local(s), s->heap);
	data = gda_chunk_find(gda_shmem_local(s), s->data);
	if (gda_osh.flags & GDA_EXCLUSIVE && speak_first()) {
		heap_words = heap->length - sizeof(uint64_t) + 1;
		data_words = s->data_bytes ? data->length - sizeof(uint64_t) + 1 : 0;
	}
	return 0;
}

void gda_osh_queue_fini(void)
{
	heap_words = 0;
	data_words = 0;
	free(routes);
	routes = NULL;
}

static inline __attribute__((always_inline)) bool
post_at(struct gda_view *v, struct gda_wr r)
{
	uint64_t index = gda_load_relaxed64(&v->reserved);
	uint64_t end = index + gda_wqe_word_slots(GDA_WQE_FIRST) - 1;
	struct gda_wqe w;

	if (!gda_osh_likely(gda_slots_used(v, end, GDA_EXCLUSIVE) <= v->mask))
		return false;
	w = gda_wqe_make(GDA_WQE_FIRST, r);
	gda_store_relaxed64(&v->reserved, index + w.slots);
	gda_wqe_store(gda_sq(v, GDA_WQE_FIRST), index, &w, 0);
	gda_ring(v, GDA_WQE_FIRST, index + w.slots);
	return true;
}

/* Post and return true; or return false in a rare case, when nothing was posted. */
static inline __attribute__((always_inline)) bool
post(const void *addr, bool put, uint64_t value, int pe)
{
	const struct gda_shmem *s = gda_osh.s;
	const struct route *r = &routes[pe];
	uint64_t iova = r->heap_iova + (uintptr_t)addr;
	uint32_t key = r->heap_key;

	if ((uintptr_t)addr - s->heap >= heap_words) {
		if ((uintptr_t)addr - s->data >= data_words)
			return false;
		iova = r->data_iova + (uintptr_t)addr;
		key = r->data_key;
	}
	return post_at(r->view, put ? gda_wr_value(iova, key, value) :
			      gda_wr_fetch_add(s->stage, s->stage_key, iova, key, value));
}

__attribute__((noinline))
static void p64(const char *call, void *dest, uint64_t value, int pe)
{
	int64_t ticket = gda_osh.flags ?
		gda_shmem_p(gda_osh.s, dest, value, sizeof(value), (uint32_t)pe, GDA_EXCLUSIVE) :
		gda_shmem_p(gda_osh.s, dest, value, sizeof(value), (uint32_t)pe, 0);

	if (ticket < 0)
		failed(call, dest, sizeof(value), pe, (int)ticket);
}

void gda_osh_queue_p64(const char *call, void *dest, uint64_t value, int pe)
{
	if (!gda_osh_likely(post(dest, true, value, pe)))
		p64(call, dest, value, pe);
}

__attribute__((noinline))
static void add64(const char *call, uint64_t *word, uint64_t value, int pe)
{
	int64_t ticket = gda_osh.flags ?
		gda_shmem_atomic64(gda_osh.s, word, GDA_SHMEM_ADD, value, (uint32_t)pe,
				   GDA_EXCLUSIVE) :
		gda_shmem_atomic64(gda_osh.s, word, GDA_SHMEM_ADD, value, (uint32_t)pe, 0);

	if (ticket < 0)
		failed(call, word, sizeof(value), pe, (int)ticket);
}

void gda_osh_queue_add64(const char *call, uint64_t *word, uint64_t value, int pe)
{
	if (!gda_osh_likely(post(word, false, value, pe)))
		add64(call, word, value, pe);
}

void gda_osh_queue_set(const char *call, uint64_t *word, uint64_t value, int pe)
{
	bool quiet = is_quiet(pe);

	gda_osh_queue_p64(call, word, value, pe);
	if (quiet)
		set_quiet(pe);
}

void gda_osh_queue_add(const char *call, uint64_t *word, uint64_t value, int pe)
{
	bool quiet = is_quiet(pe);

	gda_osh_queue_add64(call, word, value, pe);
	if (quiet)
		set_quiet(pe);
}

void gda_osh_queue_get(const char *call, void *dest, const void *source, size_t bytes, int pe)
{
	int err = gda_shmem_get(gda_osh.s, dest, source, bytes, (uint32_t)pe, gda_osh.flags);

	if (err)
		failed(call, source, bytes, pe, err);
	was_read(pe);
}

static struct gda_shmem_strided strided(const struct gda_osh_strided *w)
{
	return (struct gda_shmem_strided) {
		.dest = w->dest, .source = w->source, .dest_stride = w->dst,
		.source_stride = w->sst, .bytes = w->bytes, .count = w->nelems,
	};
}

void gda_osh_queue_iput(const char *call, const struct gda_osh_strided *w, int pe)
{
	const struct gda_shmem_strided what = strided(w);
	int err = gda_shmem_iput(gda_osh.s, &what, (uint32_t)pe, gda_osh.flags);

	if (err)
		failed(call, w->dest, w->bytes, pe, err);
}

void gda_osh_queue_iget(const char *call, const struct gda_osh_strided *w, int pe)
{
	const struct gda_shmem_strided what = strided(w);
	int err = gda_shmem_iget(gda_osh.s, &what, (uint32_t)pe, gda_osh.flags);

	if (err)
		failed(call, w->source, w->bytes, pe, err);
}

void gda_osh_queue_change(const char *call, const struct gda_osh_atomic *a, int pe)
{
	int64_t ticket;

	if (a->bytes == 8)
		ticket = gda_shmem_atomic64(gda_osh.s, a->word, a->op, a->value, (uint32_t)pe,
					    gda_osh.flags);
	else
		ticket = gda_shmem_atomic32(gda_osh.s, a->word, a->op, (uint32_t)a->value,
					    (uint32_t)pe, gda_osh.flags);
	if (ticket < 0)
		failed(call, a->word, a->bytes, pe, (int)ticket);
}

uint64_t gda_osh_queue_fetch(const char *call, const struct gda_osh_atomic *a, int pe)
{
	uint64_t old = 0;
	uint32_t old32 = 0;
	int err;

	if (a->bytes == 8)
		err = gda_shmem_atomic_fetch64(gda_osh.s, a->word, a->op, a->value, &old,
					       (uint32_t)pe, gda_osh.flags);
	else
		err = gda_shmem_atomic_fetch32(gda_osh.s, a->word, a->op, (uint32_t)a->value,
					       &old32, (uint32_t)pe, gda_osh.flags);
	if (err)
		failed(call, a->word, a->bytes, pe, err);
	was_read(pe);
	return a->bytes == 8 ? old : old32;
}

uint64_t gda_osh_queue_compare_swap(const char *call, const struct gda_osh_atomic *a,
				    uint64_t cond, int pe)
{
	uint64_t old = 0;
	uint32_t old32 = 0;
	int err;

	if (a->bytes == 8)
		err = gda_shmem_compare_swap64(gda_osh.s, a->word, cond, a->value, &old,
					       (uint32_t)pe, gda_osh.flags);
	else
		err = gda_shmem_compare_swap32(gda_osh.s, a->word, (uint32_t)cond,
					       (uint32_t)a->value, &old32, (uint32_t)pe,
					       gda_osh.flags);
	if (err)
		failed(call, a->word, a->bytes, pe, err);
	was_read(pe);
	return a->bytes == 8 ? old : old32;
}

void gda_osh_queue_put_signal(const char *call, const struct gda_osh_put_signal *w, int pe)
{
	const struct gda_shmem_signal signal = {
		.word = w->word, .value = w->value,
		.op = w->op == SHMEM_SIGNAL_SET ? GDA_SHMEM_SET : GDA_SHMEM_ADD,
	};
	int64_t err;

	if (w->nbi)
		err = gda_shmem_put_signal_nbi(gda_osh.s, w->dest, w->source, w->bytes, &signal,
					       (uint32_t)pe, gda_osh.flags);
	else
		err = gda_shmem_put_signal(gda_osh.s, w->dest, w->source, w->bytes, &signal,
					   (uint32_t)pe, gda_osh.flags);
	if (err < 0)
		failed(call, w->dest, w->bytes, pe, (int)err);
}

void gda_osh_queue_quiet(const char *call)
{
	int err = gda_shmem_quiet(gda_osh.s, 0);

	if (!err)
		return;
	find_lost(call);
	gda_osh_die(call, -1,
		    "a queue has failed: %s: GDA_DEBUG=1 in the environment shows which",
		    strerror(-err));
}
