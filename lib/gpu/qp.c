// SPDX-License-Identifier: MIT
/*
 * A QP for a GPU: an ordinary QP whose regions the GPU maps, and two blocks of memory. The block in
 * host memory, pinned and mapped, has the marks, the abort word, the bounce buffer, the stage, the
 * copy of a send queue that is in GPU memory, and the view if that is in host memory. The block in
 * GPU memory has the view otherwise, and a CQ or a send queue that is in GPU memory.
 *
 * A QP of a dialect without order has a ring for a CQ, and marks of its tickets behind the view's
 * words. It keeps SQ and CQ in host memory: the copier fetches slots by a doorbell with a record,
 * and stores one entry of a CQ.
 */
#include <errno.h>
#include <stdlib.h>
#include <gda/queue.h>
#include "cuda_internal.h"
#include "share.h"

/*
 * Offsets in the host's block. Words that different processors write are in different cache lines.
 */
#define GDA_CUDA_MARK		0U	/* by lane */
#define GDA_CUDA_ABORT		512U
#define GDA_CUDA_BOUNCE		4096U
#define GDA_CUDA_STAGE		(GDA_CUDA_BOUNCE + GDA_INPROC_BOUNCE)
#define GDA_CUDA_LINE		128U

/* The members of a view that name things; posters write behind them. */
#define GDA_CUDA_NAMES		offsetof(struct gda_view, reserved)

#define GDA_CUDA_PLACES		(GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU | GDA_CUDA_VIEW_HOST | \
				 GDA_CUDA_LEAVES_ROOM)

enum {
	GDA_CUDA_MAP_SQ,
	GDA_CUDA_MAP_DBREC,
	GDA_CUDA_MAP_DB,
	GDA_CUDA_MAP_CQ,
	GDA_CUDA_MAPS
};

struct gda_cuda_qp {
	struct gda_cuda_qp *next;
	struct gda_cuda *cuda;
	struct gda_cq *cq;
	struct gda_qp *qp;
	uint32_t place;
	uint32_t depth;
	struct gda_cuda_map *maps[GDA_CUDA_MAPS];
	struct gda_view view;		/* copied to the place where it is used */
	uint8_t *host;
	uint64_t host_addr;
	uint64_t gpu;
	uint64_t view_addr;
	struct gda_cuda_copier copier;
};

static size_t gda_cuda_lines(size_t bytes)
{
	return (bytes + GDA_CUDA_LINE - 1) / GDA_CUDA_LINE * GDA_CUDA_LINE;
}

/* Do copies within the GPU go through host memory? */
static bool gda_cuda_stages(const struct gda_cuda_qp *q)
{
	return gda_cuda_copies(q->cuda) && !(q->place & GDA_CUDA_LEAVES_ROOM);
}

static size_t gda_cuda_host_bytes(const struct gda_cuda_qp *q)
{
	return GDA_CUDA_STAGE + (gda_cuda_stages(q) ? GDA_CUDA_STAGE_BYTES : 0);
}

static size_t gda_cuda_sq_bytes(const struct gda_cuda_qp *q)
{
	return (size_t)q->depth * gda_wqe_slot_bytes(q->view.dialect);
}

/* Where the marks of tickets are, from the view on. */
static size_t gda_cuda_marks_offset(const struct gda_cuda_qp *q)
{
	return sizeof(struct gda_view) + gda_cuda_lines(q->depth * sizeof(uint32_t));
}

/*
 * Size of the view with its words, then the CQ entry: the part of a block that must be initialized.
 */
static size_t gda_cuda_words_bytes(const struct gda_cuda_qp *q)
{
	return gda_cuda_marks_offset(q) +
	       (gda_cqe_unordered(q->view.dialect) ? GDA_VIEW_MARKS_BYTES : 0);
}

static struct gda_cq *gda_cuda_qp_cq(const struct gda_cuda_qp *q)
{
	return q->qp->cq;
}

static int gda_cuda_qp_base_create(struct gda_cuda_qp *q, const struct gda_cuda_qp_attr *attr)
{
	/* GPU drivers reliably register only writable memory */
	const struct gda_cq_attr cq = {
		.size = sizeof(cq), .flags = GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, .depth = 1,
		.dialect = attr->dialect,
	};
	struct gda_qp_attr qp = {
		.size = sizeof(qp), .flags = attr->flags, .sq_depth = attr->sq_depth,
		.timeout_ns = attr->timeout_ns, .dialect = attr->dialect,
	};
	/* a QP without order makes its own ring, which the in-process device maps writable */
	int err = gda_cqe_unordered(attr->dialect) ? 0 :
						     gda_cq_create(q->cuda->ctx, &cq, &q->cq);

	if (err)
		return err;
	qp.cq = q->cq;
	err = gda_qp_create(q->cuda->ctx, &qp, &q->qp);
	if (err)
		return err;
	q->view = q->qp->view;
	/* it polls for itself; flags of the CPU's view say nothing about a GPU */
	if (gda_cqe_unordered(attr->dialect))
		q->view.caps = 0;
	q->depth = q->view.mask + 1;
	return 0;
}

static int gda_cuda_qp_map(struct gda_cuda_qp *q)
{
	const struct {
		const struct gda_region *region;
		uint64_t *addr;
	} parts[GDA_CUDA_MAPS] = {
		[GDA_CUDA_MAP_SQ] = { q->qp->sq, &q->view.sq },
		[GDA_CUDA_MAP_DBREC] = { q->qp->dbrec, &q->view.dbrec },
		[GDA_CUDA_MAP_DB] = { q->qp->db, &q->view.db },
		[GDA_CUDA_MAP_CQ] = { gda_cuda_qp_cq(q)->region, &q->view.cq },
	};
	int err = 0;
	int i;

	for (i = 0; i < GDA_CUDA_MAPS && !err; i++)
		/* not every dialect has a doorbell record */
		if (parts[i].region)
			err = gda_cuda_map_get(q->cuda, parts[i].region, *parts[i].addr,
					       parts[i].addr, &q->maps[i]);
	return err;
}

static int gda_cuda_qp_alloc(struct gda_cuda_qp *q)
{
	size_t host = gda_cuda_host_bytes(q), gpu = 0;
	int err;

	if (q->place & GDA_CUDA_SQ_GPU)
		host += gda_cuda_sq_bytes(q);
	*(q->place & GDA_CUDA_VIEW_HOST ? &host : &gpu) += gda_cuda_words_bytes(q);
	if (q->place & GDA_CUDA_CQ_GPU)
		gpu += GDA_CUDA_LINE;
	if (q->place & GDA_CUDA_SQ_GPU)
		gpu += gda_cuda_sq_bytes(q);
	err = gda_cu_errno(gda_cu.host_alloc((void **)&q->host, host,
					     GDA_CU_HOST_PORTABLE | GDA_CU_HOST_DEVICEMAP));
	if (err)
		return err;
	memset(q->host, 0, host);
	q->copier.host_bytes = host;
	err = gda_cu_errno(gda_cu.host_address(&q->host_addr, q->host, 0));
	if (!err && gpu)
		err = gda_cu_errno(gda_cu.alloc(&q->gpu, gpu));
	return err;
}

/* Compute all addresses: those in the view, and those of the copier. */
static void gda_cuda_qp_place(struct gda_cuda_qp *q)
{
	struct gda_inproc_copier *c = &q->copier.base;
	size_t words = gda_cuda_words_bytes(q);
	size_t host = gda_cuda_host_bytes(q);
	uint64_t gpu = q->gpu;
	u32 lane;

	for (lane = 0; lane < GDA_INPROC_LANES; lane++) {
		c->mark[lane].word = (u32 *)(void *)(q->host + GDA_CUDA_MARK +
						     lane * GDA_CUDA_LINE);
		c->mark[lane].addr = q->host_addr + GDA_CUDA_MARK + lane * GDA_CUDA_LINE;
	}
	c->bounce = q->host + GDA_CUDA_BOUNCE;
	c->bounce_addr = q->host_addr + GDA_CUDA_BOUNCE;
	q->copier.host_addr = q->host_addr;
	if (gda_cuda_stages(q))
		q->copier.stage = q->host_addr + GDA_CUDA_STAGE;
	if (q->place & GDA_CUDA_VIEW_HOST) {
		q->view_addr = q->host_addr + host;
		host += words;
	} else {
		q->view_addr = gpu;
		gpu += words;
	}
	q->view.slots = q->view_addr + sizeof(struct gda_view);
	if (gda_cqe_unordered(q->view.dialect))
		q->view.marks = q->view_addr + gda_cuda_marks_offset(q);
	q->view.abort = q->host_addr + GDA_CUDA_ABORT;
	if (q->place & GDA_CUDA_CQ_GPU) {
		c->cq = gpu;
		q->view.cq = gpu;
		gpu += GDA_CUDA_LINE;
	}
	if (q->place & GDA_CUDA_SQ_GPU) {
		c->sq = gpu;
		q->view.sq = gpu;
		c->sq_copy = q->host + host;
		c->sq_copy_addr = q->host_addr + host;
	}
}

/* Initialize the view, its words and a CQ in GPU memory; a send queue needs no initialization. */
static int gda_cuda_qp_upload(struct gda_cuda_qp *q)
{
	size_t words = gda_cuda_words_bytes(q);
	uint8_t *image = malloc(words + GDA_CUDA_LINE);
	void *stream = q->copier.stream[GDA_INPROC_LANE_DATA];
	int err = 0;

	if (!image)
		return -ENOMEM;
	memset(image, 0xff, words + GDA_CUDA_LINE);
	memcpy(image, &q->view, sizeof(q->view));
	memcpy(image + sizeof(q->view), q->qp->slots, q->depth * sizeof(uint32_t));
	memset(image + gda_cuda_marks_offset(q), 0, words - gda_cuda_marks_offset(q));
	if (q->place & GDA_CUDA_VIEW_HOST)
		memcpy(q->host + (q->view_addr - q->host_addr), image, words);
	else
		err = gda_cu_errno(gda_cu.stream_copy(q->view_addr, (uintptr_t)image, words,
						      stream));
	if (!err && q->copier.base.cq)
		err = gda_cu_errno(gda_cu.stream_copy(q->copier.base.cq,
						      (uintptr_t)image + words,
						      gda_cqe_bytes(q->view.dialect), stream));
	if (!err)
		err = gda_cu_errno(gda_cu.stream_sync(stream));
	free(image);
	return err;
}

/* The part of the set-up that needs the GPU. */
static int gda_cuda_qp_setup(struct gda_cuda_qp *q)
{
	int err = gda_cuda_enter(q->cuda);

	if (err)
		return err;
	err = gda_cuda_qp_map(q);
	if (!err)
		err = gda_cuda_qp_alloc(q);
	if (!err)
		err = gda_cuda_copier_init(q->cuda, &q->copier, gda_cuda_stages(q));
	if (!err) {
		gda_cuda_qp_place(q);
		err = gda_cuda_qp_upload(q);
	}
	gda_cuda_leave();
	return err;
}

/* Undo whatever was done. */
static int gda_cuda_qp_free(struct gda_cuda_qp *q)
{
	bool entered = !gda_cuda_enter(q->cuda);
	int err;
	int i;

	/* before the library unmaps these regions */
	for (i = 0; i < GDA_CUDA_MAPS; i++)
		gda_cuda_map_put(q->cuda, q->maps[i]);
	err = gda_qp_destroy(q->qp);
	gda_cq_destroy(q->cq);
	gda_cuda_copier_exit(&q->copier);
	if (q->gpu)
		gda_cu.free(q->gpu);
	if (q->host)
		gda_cu.host_free(q->host);
	if (entered)
		gda_cuda_leave();
	free(q);
	return err;
}

/* Choose the dialect, and refuse what the library does not put together in it. */
static int gda_cuda_qp_dialect(struct gda_cuda *cuda, struct gda_cuda_qp_attr *a)
{
	if (a->reserved)
		return gda_because(-EOPNOTSUPP, "reserved is %u: set it to 0", a->reserved);
	/* not the environment's: which dialects a kernel speaks is known when it is built */
	if (!a->dialect)
		a->dialect = GDA_WQE_FIRST;
	if (!gda_wqe_speaks(a->dialect) || !gda_cqe_unordered(a->dialect))
		return gda_dialect_check(&a->dialect);
	if (!gda_cuda_copies(cuda))
		return gda_because(-EOPNOTSUPP,
				   "dialect %u: a GPU maps such queues of the in-process device alone: set it to 0",
				   a->dialect);
	if (a->place & (GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU))
		return gda_because(-EOPNOTSUPP,
				   "place: queues in dialect %u lie in memory of the host: leave GDA_CUDA_SQ_GPU and GDA_CUDA_CQ_GPU out",
				   a->dialect);
	return 0;
}

static int gda_cuda_qp_new(struct gda_cuda *cuda, const struct gda_cuda_qp_attr *attr,
			   struct gda_cuda_qp **qp)
{
	struct gda_cuda_qp_attr a;
	struct gda_cuda_qp *q;
	int err = gda_struct_read(&a, sizeof(a),
				  GDA_THROUGH(struct gda_cuda_qp_attr, timeout_ns), attr);

	if (err)
		return err;
	if (gda_cuda_inherited(cuda))
		return -ENODEV;
	if (a.place & ~GDA_CUDA_PLACES)
		return gda_because(-EOPNOTSUPP, "place has bits other than GDA_CUDA_*: %#x",
				   a.place & ~GDA_CUDA_PLACES);
	if (a.place & (GDA_CUDA_SQ_GPU | GDA_CUDA_CQ_GPU) && !gda_cuda_copies(cuda))
		return gda_because(-EOPNOTSUPP,
				   "place: queues of this device lie in memory of the host: set place to 0");
	err = gda_cuda_qp_dialect(cuda, &a);
	if (err)
		return err;
	q = aligned_alloc(GDA_CUDA_LINE, gda_cuda_lines(sizeof(*q)));
	if (!q)
		return -ENOMEM;
	memset(q, 0, sizeof(*q));
	q->cuda = cuda;
	q->place = a.place;
	err = gda_cuda_qp_base_create(q, &a);
	if (!err)
		err = gda_cuda_qp_setup(q);
	if (!err && gda_cuda_copies(cuda))
		err = gda_inproc_copier_attach(cuda->ctx->device, q->qp->handle, &q->copier.base);
	if (err) {
		gda_cuda_qp_free(q);
		return err;
	}
	pthread_mutex_lock(&cuda->lock);
	q->next = cuda->qps;
	cuda->qps = q;
	pthread_mutex_unlock(&cuda->lock);
	*qp = q;
	return 0;
}

GDA_EXPORT int gda_cuda_qp_create(struct gda_cuda *cuda, const struct gda_cuda_qp_attr *attr,
				  struct gda_cuda_qp **qp)
{
	unsigned long failures = gda_failures();
	int err = gda_cuda_qp_new(cuda, attr, qp);

	/* the failed nested call has noted its reason */
	if (err && gda_failures() != failures)
		gda_because_last(err);
	return gda_called(err, "gda_cuda_qp_create", "GPU %d", cuda->ordinal);
}

GDA_EXPORT int gda_cuda_qp_destroy(struct gda_cuda_qp *qp)
{
	struct gda_cuda_qp **link;

	if (!qp)
		return 0;
	if (gda_cuda_inherited(qp->cuda))
		return -ENODEV;
	pthread_mutex_lock(&qp->cuda->lock);
	for (link = &qp->cuda->qps; *link != qp;)
		link = &(*link)->next;
	*link = qp->next;
	pthread_mutex_unlock(&qp->cuda->lock);
	return gda_cuda_qp_free(qp);
}

void gda_cuda_qp_destroy_all(struct gda_cuda *cuda)
{
	while (cuda->qps)
		gda_cuda_qp_destroy(cuda->qps);
}

GDA_EXPORT struct gda_qp *gda_cuda_qp_base(struct gda_cuda_qp *qp)
{
	return qp->qp;
}

/* Let posts be for the QP that @q was connected to after its view was made. */
static int gda_cuda_qp_name(struct gda_cuda_qp *q)
{
	const struct gda_view *base = &q->qp->view;
	struct gda_view *v = &q->view;
	int err;

	if (v->qpn_be == base->qpn_be && v->ah == base->ah && v->qkey == base->qkey)
		return 0;
	v->qpn_be = base->qpn_be;
	v->ah = base->ah;
	v->qkey = base->qkey;
	if (q->place & GDA_CUDA_VIEW_HOST) {
		memcpy(q->host + (q->view_addr - q->host_addr), v, GDA_CUDA_NAMES);
		return 0;
	}
	err = gda_cuda_upload(q->cuda, q->view_addr, v, GDA_CUDA_NAMES);
	/* so that the next call tries again */
	if (err)
		v->qpn_be = ~base->qpn_be;
	return err;
}

GDA_EXPORT struct gda_view *gda_cuda_qp_view_spoken(struct gda_cuda_qp *qp, size_t size,
						    uint64_t spoken)
{
	int err = gda_view_fits(size);

	if (!err)
		err = gda_dialect_spoken(qp->view.dialect, spoken);
	if (!err)
		err = gda_cuda_qp_name(qp);
	if (!err)
		return (struct gda_view *)(uintptr_t)qp->view_addr;
	gda_called(err, "gda_cuda_qp_view", "%p", (void *)qp);
	return NULL;
}

GDA_EXPORT struct gda_view *gda_cuda_qp_view_sized(struct gda_cuda_qp *qp, size_t size)
{
	return gda_cuda_qp_view_spoken(qp, size, 1ULL << GDA_WQE_FIRST);
}

GDA_EXPORT void gda_cuda_qp_abort(struct gda_cuda_qp *qp)
{
	gda_nic_store32((uint32_t *)(void *)(qp->host + GDA_CUDA_ABORT), 1);
}
