// SPDX-License-Identifier: MIT
/*
 * Creates a symmetric heap, in steps that either all PEs complete or none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shmem_internal.h"

#define GDA_SHMEM_TIMEOUT_NS	30000000000ULL
#define GDA_SHMEM_DEPTH		256U

/* The result of a step, as a PE sends it to the others. */
struct gda_shmem_verdict {
	int32_t err;
	char why[GDA_SHMEM_WHY_SENT];
};

int gda_shmem_refuse(struct gda_shmem_heap *h, int err, const char *format, ...)
{
	va_list args;

	if (h->why[0])
		return err;
	va_start(args, format);
	vsnprintf(h->why, sizeof(h->why), format, args);
	va_end(args);
	return err;
}

/* An all-gather during set-up; it is the only way to notice a lost rank at that time. */
int gda_shmem_gather(struct gda_shmem_heap *h, const void *in, size_t bytes, void *out)
{
	int err = gda_comm_allgather(h->comm, in, bytes, out, 0);
	int lost = gda_comm_failed(h->comm);

	if (err && lost >= 0)
		return gda_shmem_refuse(h, err,
					"PE %d is lost: %s: see its own output",
					lost, gda_strerror(err));
	return err;
}

int gda_shmem_agree(struct gda_shmem_heap *h, int err)
{
	struct gda_shmem_verdict own = { .err = err }, *all;
	uint32_t pe, npes = h->shmem.npes;

	snprintf(own.why, sizeof(own.why), "%.*s", GDA_SHMEM_WHY_SENT - 1,
		 h->why[0] ? h->why : gda_strerror(err));
	h->why[0] = 0;
	all = calloc(npes, sizeof(*all));
	if (!all)
		return -ENOMEM;
	err = gda_shmem_gather(h, &own, sizeof(own), all);
	for (pe = 0; pe < npes && !err; pe++) {
		err = all[pe].err;
		if (err)
			gda_shmem_refuse(h, err, "PE %u: %.*s", pe, GDA_SHMEM_WHY_SENT - 1,
					 all[pe].why);
	}
	free(all);
	return err;
}

static int gda_shmem_way(struct gda_shmem_heap *h)
{
	const char *env = secure_getenv("GDA_SHMEM_WAY");

	if (h->attr.way > GDA_SHMEM_QUEUE)
		return gda_shmem_refuse(h, -EINVAL,
					"way %u is unknown: set GDA_SHMEM_AUTO, _DIRECT or _QUEUE",
					h->attr.way);
	if (h->attr.way != GDA_SHMEM_AUTO || !env || !*env)
		return 0;
	if (strcmp(env, "direct") && strcmp(env, "queue"))
		return gda_shmem_refuse(h, -EINVAL,
					"GDA_SHMEM_WAY is \"%s\": set it to direct or queue",
					env);
	h->attr.way = *env == 'd' ? GDA_SHMEM_DIRECT : GDA_SHMEM_QUEUE;
	return 0;
}

/* Check the rules that a PE can check alone. */
static int gda_shmem_check(struct gda_shmem_heap *h)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct gda_shmem_attr *a = &h->attr;
	int err;

	if (a->flags)
		return gda_shmem_refuse(h, -EOPNOTSUPP,
					"flags has unknown bits %#x: clear them",
					a->flags);
	if (!a->heap_bytes || a->heap_bytes > INT64_MAX - page)
		return gda_shmem_refuse(h, -EINVAL,
					"heap_bytes is %llu: set at least 1, and less than 2^63",
					(unsigned long long)a->heap_bytes);
	if ((uintptr_t)a->data % page || a->data_bytes % page || !a->data != !a->data_bytes)
		return gda_shmem_refuse(h, -EINVAL, "data %p, %llu bytes: pass whole pages",
					a->data, (unsigned long long)a->data_bytes);
	if (a->chunk_bytes % page)
		return gda_shmem_refuse(h, -EINVAL, "chunk_bytes %llu: set a multiple of a page",
					(unsigned long long)a->chunk_bytes);
	if (a->qps > GDA_SHMEM_MAX_QPS)
		return gda_shmem_refuse(h, -EINVAL, "qps %u: the most is %u", a->qps,
					GDA_SHMEM_MAX_QPS);
	a->heap_bytes = (a->heap_bytes + page - 1) / page * page;
	if (a->dialect && !gda_wqe_speaks(a->dialect))
		return gda_shmem_refuse(h, -EOPNOTSUPP,
					"dialect %u: this library writes no entries of it: set it to 0",
					a->dialect);
	if (!a->cuda && (a->word_bytes || a->place))
		return gda_shmem_refuse(h, -EINVAL,
					"word_bytes or place is set: only with cuda");
	err = gda_shmem_way(h);
	return !err && a->cuda ? gda_shmem_gpu_check(h) : err;
}

static int gda_shmem_attr_read(struct gda_shmem_heap *h, const struct gda_shmem_attr *attr)
{
	struct gda_shmem_attr *a = &h->attr;
	int err = gda_struct_read(a, sizeof(*a),
				  GDA_THROUGH(struct gda_shmem_attr, dialect), attr);

	if (err)
		return gda_shmem_refuse(h, err, "attr.size is unknown here: set it to sizeof()");
	if (!a->qps)
		a->qps = 1;
	if (!a->depth)
		a->depth = GDA_SHMEM_DEPTH;
	if (!a->timeout_ns)
		a->timeout_ns = GDA_SHMEM_TIMEOUT_NS;
	return gda_shmem_check(h);
}

static void gda_shmem_fill_card(struct gda_shmem_heap *h)
{
	h->own.pid = getpid();
	h->own.process = gda_shmem_process();
	h->own.way = h->attr.way;
	h->own.qps = h->attr.qps;
	h->own.depth = h->attr.depth;
	h->own.chunk_bytes = h->attr.chunk_bytes;
	h->own.gpu = !!h->attr.cuda;
	/* a PE without a machine name counts as being on a machine of its own */
	if (gda_machine_name(h->own.machine))
		snprintf(h->own.machine, sizeof(h->own.machine), "pe %u", h->shmem.pe);
}

/* Read the attributes and fill in the card of this PE, without memory yet. */
static int gda_shmem_begin(struct gda_shmem_heap *h, const struct gda_shmem_attr *attr)
{
	int err = gda_shmem_attr_read(h, attr);

	gda_shmem_fill_card(h);
	h->own.data.bytes = h->attr.data_bytes;
	h->cuda = err ? NULL : h->attr.cuda;
	return err;
}

/* Allocate or map the memory of this PE. */
static int gda_shmem_prepare(struct gda_shmem_heap *h)
{
	int err;

	if (h->cuda)
		return gda_shmem_gpu_memory(h);
	err = gda_shmem_memory_heap(h);
	return err ? err : gda_shmem_memory_data(h);
}

static bool gda_shmem_same_machine(const struct gda_shmem_card *a, const struct gda_shmem_card *b)
{
	return !memcmp(a->machine, b->machine, sizeof(a->machine));
}

bool gda_shmem_is_thread(const struct gda_shmem_card *a, const struct gda_shmem_card *b)
{
	return a->process == b->process && gda_shmem_same_machine(a, b);
}

/*
 * PEs that are threads of one process share its data segment. This must be known before a PE remaps
 * it, for a copy made by one PE would lose what another stores meanwhile.
 */
static int gda_shmem_compare_data(struct gda_shmem_heap *h)
{
	uint32_t pe, other;
	int err;

	err = gda_shmem_gather(h, &h->own, sizeof(h->own), h->cards);
	if (err)
		return err;
	for (pe = 1; pe < h->shmem.npes; pe++)
		for (other = 0; h->cards[pe].data.bytes && other < pe; other++)
			if (gda_shmem_is_thread(&h->cards[other], &h->cards[pe]))
				return gda_shmem_refuse(h, -EINVAL,
							"PEs %u and %u share a data segment: pass data_fd of each",
							other, pe);
	return 0;
}

/* Compare the cards of all PEs; every PE comes to the same result. */
static int gda_shmem_compare(struct gda_shmem_heap *h)
{
	const struct gda_shmem_card *first = &h->cards[0], *c;
	uint32_t pe;

	for (pe = 1; pe < h->shmem.npes; pe++) {
		c = &h->cards[pe];
		if (c->heap.bytes != first->heap.bytes || c->data.bytes != first->data.bytes)
			return gda_shmem_refuse(h, -EPROTO,
						"PE 0 has %llu + %llu bytes, PE %u %llu + %llu: give all the same",
						(unsigned long long)first->heap.bytes,
						(unsigned long long)first->data.bytes, pe,
						(unsigned long long)c->heap.bytes,
						(unsigned long long)c->data.bytes);
		if (c->way != first->way || c->qps != first->qps || c->depth != first->depth ||
		    c->chunk_bytes != first->chunk_bytes || c->gpu != first->gpu)
			return gda_shmem_refuse(h, -EPROTO,
						"PE %u has other way, qps, depth, chunk_bytes or cuda: pass the same",
						pe);
	}
	return 0;
}

static int gda_shmem_map_all(struct gda_shmem_heap *h)
{
	uint32_t pe;
	int err = 0;

	for (pe = 0; pe < h->shmem.npes && !err; pe++) {
		if (!gda_shmem_same_machine(&h->cards[pe], &h->own))
			err = gda_shmem_refuse(h, -EOPNOTSUPP,
					       "PE %u is on another machine: use the queue way",
					       pe);
		else if (h->cuda)
			err = gda_shmem_gpu_map(h, pe);
		else
			err = gda_shmem_memory_map(h, pe);
	}
	return err;
}

static void gda_shmem_fill(struct gda_shmem_heap *h)
{
	struct gda_shmem *s = &h->shmem;
	uint32_t pe;

	s->size = sizeof(*s);
	s->version = GDA_SHMEM_VERSION;
	s->heap = h->own.heap.addr;
	s->heap_bytes = h->own.heap.bytes;
	s->data = h->own.data.addr;
	s->data_bytes = h->own.data.bytes;
	s->peers = (uintptr_t)h->peers;
	s->timeout_ns = h->attr.timeout_ns;
	s->owner = (uintptr_t)h;
	/* with queues each PE has a worker that polls as well */
	if (gda_comm_crowded(h->comm, h->attr.way == GDA_SHMEM_QUEUE ? 2 : 1))
		s->caps |= GDA_VIEW_YIELD;
	for (pe = 0; pe < s->npes; pe++)
		h->peers[pe].abort = (uintptr_t)gda_comm_abort_word(h->comm, pe);
}

/* Choose the default way: direct if all PEs are on one machine, which all PEs see alike. */
static void gda_shmem_choose(struct gda_shmem_heap *h)
{
	uint32_t pe;

	if (h->attr.way != GDA_SHMEM_AUTO)
		return;
	h->attr.way = GDA_SHMEM_DIRECT;
	for (pe = 1; pe < h->shmem.npes; pe++)
		if (!gda_shmem_same_machine(&h->cards[pe], &h->cards[0]))
			h->attr.way = GDA_SHMEM_QUEUE;
}

static int gda_shmem_connect(struct gda_shmem_heap *h)
{
	int err = gda_shmem_gather(h, &h->own, sizeof(h->own), h->cards);

	if (!err)
		err = gda_shmem_compare(h);
	if (err)
		return err;
	gda_shmem_choose(h);
	gda_shmem_fill(h);
	if (h->cuda)
		err = gda_shmem_agree(h, gda_shmem_gpu_watch(h));
	if (!err && h->attr.way == GDA_SHMEM_QUEUE)
		err = gda_shmem_queue_create(h);
	else if (!err)
		err = gda_shmem_agree(h, gda_shmem_map_all(h));
	return !err && h->cuda ? gda_shmem_agree(h, gda_shmem_gpu_publish(h)) : err;
}

static struct gda_shmem_heap *gda_shmem_alloc(struct gda_comm *comm, uint64_t spoken)
{
	uint32_t npes = gda_comm_size(comm);
	struct gda_shmem_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->comm = comm;
	h->spoken = spoken;
	h->shmem.pe = gda_comm_rank(comm);
	h->shmem.npes = npes;
	h->own.heap.fd = -1;
	h->own.data.fd = -1;
	h->peers = calloc(npes, sizeof(*h->peers));
	h->cards = calloc(npes, sizeof(*h->cards));
	if (h->peers && h->cards)
		return h;
	free(h->peers);
	free(h->cards);
	free(h);
	return NULL;
}

static void gda_shmem_free(struct gda_shmem_heap *h)
{
	uint32_t pe;

	if (h->ctx)
		gda_shmem_queue_destroy(h);
	for (pe = 0; !h->cuda && pe < h->shmem.npes; pe++)
		gda_shmem_memory_unmap(h, pe);
	gda_shmem_memory_close(h);
	if (h->cuda)
		gda_shmem_gpu_destroy(h);
	else
		gda_shmem_memory_free(h);
	free(h->peers);
	free(h->cards);
	free(h);
}

static int gda_shmem_new(struct gda_comm *comm, const struct gda_shmem_attr *attr,
			 size_t known, uint64_t spoken, struct gda_shmem **shmem)
{
	char why[GDA_SHMEM_WHY];
	struct gda_shmem_heap *h;
	int err;

	if (known > sizeof(struct gda_shmem))
		return gda_because(-E2BIG,
				   "the program's struct gda_shmem has %zu bytes, the library's %zu: build the program and install libgda of one version",
				   known, sizeof(struct gda_shmem));
	h = gda_shmem_alloc(comm, spoken);
	if (!h)
		return -ENOMEM;
	err = gda_shmem_agree(h, gda_shmem_begin(h, attr));
	if (!err)
		err = gda_shmem_compare_data(h);
	if (!err)
		err = gda_shmem_agree(h, gda_shmem_prepare(h));
	if (!err)
		err = gda_shmem_connect(h);
	if (err) {
		/* keep the reason: the calls that clean up would overwrite it */
		memcpy(why, h->why, sizeof(why));
		gda_shmem_free(h);
		return why[0] ? gda_because(err, "%s", why) : err;
	}
	gda_shmem_memory_close(h);
	*shmem = &h->shmem;
	return 0;
}

GDA_EXPORT int gda_shmem_create_spoken(struct gda_comm *comm, const struct gda_shmem_attr *attr,
				       size_t known, uint64_t spoken, struct gda_shmem **shmem)
{
	return gda_called(gda_shmem_new(comm, attr, known, spoken, shmem), "gda_shmem_create",
			  "%p, %p", (void *)comm, (const void *)attr);
}

GDA_EXPORT int gda_shmem_create_sized(struct gda_comm *comm, const struct gda_shmem_attr *attr,
				      size_t known, struct gda_shmem **shmem)
{
	return gda_shmem_create_spoken(comm, attr, known, 1ULL << GDA_WQE_FIRST, shmem);
}

GDA_EXPORT void gda_shmem_destroy(struct gda_shmem *s)
{
	if (s)
		gda_shmem_free((struct gda_shmem_heap *)(uintptr_t)s->owner);
}
