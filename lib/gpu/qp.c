// SPDX-License-Identifier: MIT
/*
 * A QP for a GPU: an ordinary QP whose regions the GPU maps, and two blocks of memory. The block in
 * host memory, pinned and mapped, has the marks, the abort word, the bounce buffer, the stage, the
 * copy of a send queue that is in GPU memory, and the view if that is in host memory. The block in
 * GPU memory has the view otherwise, and a CQ or a send queue that is in GPU memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <gda/queue.h>
#include "cuda_internal.h"

/*
 * Offsets in the host's block. Words that different processors write are in different cache lines.
 */
#define GDA_CUDA_MARK		0U	/* by lane */
#define GDA_CUDA_ABORT		512U
#define GDA_CUDA_BOUNCE		4096U
#define GDA_CUDA_STAGE		(GDA_CUDA_BOUNCE + GDA_INPROC_BOUNCE)
#define GDA_CUDA_LINE		128U

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
	return (size_t)q->depth * gda_wqe_slot_bytes(GDA_WQE_FIRST);
}

/*
 * Size of the view with its words, then the CQ entry: the part of a block that must be initialized.
 */
static size_t gda_cuda_words_bytes(const struct gda_cuda_qp *q)
{
	return sizeof(struct gda_view) + gda_cuda_lines(q->depth * sizeof(uint32_t));
}

static int gda_cuda_qp_base_create(struct gda_cuda_qp *q, const struct gda_cuda_qp_attr *attr)
{
	/* GPU drivers reliably register only writable memory */
	const struct gda_cq_attr cq = {
		.size = sizeof(cq), .flags = GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, .depth = 1,
		.dialect = GDA_WQE_FIRST,
	};
	struct gda_qp_attr qp = {
		.size = sizeof(qp), .flags = attr->flags, .sq_depth = attr->sq_depth,
		.timeout_ns = attr->timeout_ns,
	};
	int err = gda_cq_create(q->cuda->ctx, &cq, &q->cq);

	if (err)
		return err;
	qp.cq = q->cq;
	err = gda_qp_create(q->cuda->ctx, &qp, &q->qp);
	if (err)
		return err;
	q->view = *gda_qp_view(q->qp);
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
		[GDA_CUDA_MAP_CQ] = { q->cq->region, &q->view.cq },
	};
	int err = 0;
	int i;

	for (i = 0; i < GDA_CUDA_MAPS && !err; i++)
		err = gda_cuda_map_get(q->cuda, parts[i].region, *parts[i].addr, parts[i].addr,
				       &q->maps[i]);
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
	if (q->place & GDA_CUDA_VIEW_HOST)
		memcpy(q->host + (q->view_addr - q->host_addr), image, words);
	else
		err = gda_cu_errno(gda_cu.stream_copy(q->view_addr, (uintptr_t)image, words,
						      stream));
	if (!err && q->copier.base.cq)
		err = gda_cu_errno(gda_cu.stream_copy(q->copier.base.cq,
						      (uintptr_t)image + words,
						      gda_cqe_bytes(GDA_WQE_FIRST), stream));
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

GDA_EXPORT struct gda_view *gda_cuda_qp_view_sized(struct gda_cuda_qp *qp, size_t size)
{
	int err = gda_view_fits(size);

	if (!err)
		return (struct gda_view *)(uintptr_t)qp->view_addr;
	gda_called(err, "gda_cuda_qp_view", "%p", (void *)qp);
	return NULL;
}

GDA_EXPORT void gda_cuda_qp_abort(struct gda_cuda_qp *qp)
{
	gda_nic_store32((uint32_t *)(void *)(qp->host + GDA_CUDA_ABORT), 1);
}
