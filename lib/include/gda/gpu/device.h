/* SPDX-License-Identifier: MIT */
/*
 * Common to posters on a GPU: words at the scope of the GPU, entries as
 * 16-byte stores, the release before a doorbell, and the doorbell.
 *
 * On a GPU the cost of a fence depends on its scope, not its form: 600 cycles at GPU scope, 1100 at
 * system scope, after an entry. So there is one release for each ring, of the scope that the reader
 * of the queue needs (gda_release()), and a second one between record and doorbell only where the
 * device needs it (gda_ring()).
 */
#ifndef GDA_GPU_DEVICE_H
#define GDA_GPU_DEVICE_H

#ifndef __CUDACC__
#error "gda: gda/gpu/ is for CUDA device code"
#endif

#include <gda/barrier.h>
#include <gda/view.h>
#include <gda/wqe.h>

#define GDA_DEVICE static __device__ __forceinline__
/* The same for functions that users call. */
#define GDA_GPU_API GDA_DEVICE
/*
 * Out of line, for slow paths. Arguments and result are values, so nothing of the caller is
 * spilled.
 */
#define GDA_DEVICE_SLOW static __device__ __noinline__

GDA_DEVICE uint32_t gda_gpu_load32(const uint32_t *p)
{
	uint32_t v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

GDA_DEVICE uint64_t gda_gpu_load64(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

GDA_DEVICE void gda_gpu_store64(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_DEVICE uint64_t gda_gpu_fetch_add64(uint64_t *p, uint64_t v)
{
	uint64_t old;

	asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
		     : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

GDA_DEVICE void gda_gpu_max64(uint64_t *p, uint64_t v)
{
	asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_DEVICE void gda_gpu_add32(uint32_t *p, uint32_t v)
{
	asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* Acquires what others released; for its own release the caller has a fence before. */
GDA_DEVICE uint64_t gda_gpu_xor64(uint64_t *p, uint64_t v)
{
	uint64_t old;

	asm volatile("atom.acquire.gpu.global.xor.b64 %0, [%1], %2;"
		     : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

/* The same for callers that need no acquire. */
GDA_DEVICE uint64_t gda_gpu_xor64_relaxed(uint64_t *p, uint64_t v)
{
	uint64_t old;

	asm volatile("atom.relaxed.gpu.global.xor.b64 %0, [%1], %2;"
		     : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

/* The same without a result, so that nothing waits for it. */
GDA_DEVICE void gda_gpu_toggle64(uint64_t *p, uint64_t v)
{
	asm volatile("red.relaxed.gpu.global.xor.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

GDA_DEVICE uint64_t gda_gpu_cas64(uint64_t *p, uint64_t old, uint64_t v)
{
	uint64_t was;

	asm volatile("atom.acquire.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(was) : "l"(p), "l"(old), "l"(v) : "memory");
	return was;
}

GDA_DEVICE void gda_fence_block(void)
{
	asm volatile("fence.acq_rel.cta;" ::: "memory");
}

GDA_DEVICE void gda_fence_gpu(void)
{
	asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

GDA_DEVICE void gda_fence_system(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/*
 * Makes the compiler compute @v here, and not after a following atomic operation or fence, which is
 * a wait of hundreds of cycles.
 */
GDA_DEVICE void gda_need32(uint32_t v)
{
	asm volatile("" ::"r"(v));
}

GDA_DEVICE void gda_need64(uint64_t v)
{
	asm volatile("" ::"l"(v));
}

/* Release to the reader of the queue, and acquire what other posters released. */
GDA_DEVICE void gda_pass_on(uint32_t caps)
{
	if (caps & GDA_VIEW_SQ_ON_GPU)
		gda_fence_gpu();
	else
		gda_fence_system();
}

/* A PTX instruction predicated on operand @number: executed if that is not 0, without a branch. */
#define GDA_IF(number, instruction) \
	"{\n\t.reg .pred on;\n\tsetp.ne.u32 on, %" #number ", 0;\n\t@on " instruction "\n\t}"

/* Release only: values that the caller has cached stay valid. */
GDA_DEVICE void gda_release_if(uint32_t on, uint32_t caps)
{
	if (caps & GDA_VIEW_SQ_ON_GPU)
		asm volatile(GDA_IF(0, GDA_FENCE_RELEASE ".gpu;") ::"r"(on) : "memory");
	else
		asm volatile(GDA_IF(0, GDA_FENCE_RELEASE ".sys;") ::"r"(on) : "memory");
}

GDA_DEVICE void gda_release(uint32_t caps)
{
	gda_release_if(1, caps);
}

/**
 * struct gda_port - the part of a view that a poster keeps in registers
 * @view: the view
 * @sq: send queue
 * @slots: marks of its slots, for shared posting
 * @dbrec: doorbell record of the send queue
 * @db: doorbell
 * @last: word of the completion entry that tells the device's progress
 * @mask: slots - 1
 * @caps: GDA_VIEW_*: what posters may rely on
 * @qpn_be: the high half of gda_view.qpn_be
 * @dialect: enum gda_dialect, of a program that speaks several; see gda_assume_dialect()
 * @ah: efa: address handle of that QP
 * @qkey: efa: its key
 *
 * Addresses are the GPU's. A member that a poster does not use costs nothing.
 */
struct gda_port {
	struct gda_view *view;
	char *sq;
	uint32_t *slots;
	uint32_t *dbrec;
	uint64_t *db;
	const uint32_t *last;
	uint32_t mask;
	uint32_t caps;
	uint32_t qpn_be;
#ifdef GDA_WQE_EFA
	uint32_t dialect;
	uint32_t ah;
	uint32_t qkey;
#endif
};

/**
 * struct gda_turn - the state between reserving and publishing a slot, for shared posting
 * @word: old bits of the first slot, or of the one behind if @passed
 * @passed: the combining role was parked here, and was moved on
 */
struct gda_turn {
	uint64_t word;
	bool passed;
};

#ifdef GDA_WQE_EFA
GDA_DEVICE uint32_t gda_port_dialect(const struct gda_port &p)
{
	return p.dialect;
}

GDA_DEVICE void gda_port_speak(struct gda_port &p, uint32_t dialect)
{
	p.dialect = dialect;
}

/* A view of a library that knew one dialect has none. */
GDA_DEVICE void gda_port_address(struct gda_port &p, const struct gda_view *v)
{
	p.dialect = gda_wqe_is_first(v->dialect) ? GDA_WQE_FIRST : gda_wqe_other(v->dialect);
	p.ah = (uint32_t)(v->ah >> 32);
	p.qkey = v->qkey;
}

GDA_DEVICE struct gda_sq gda_sq(const struct gda_port &p)
{
	return { p.sq, (uint64_t)p.qpn_be << 32, p.mask, p.dialect, (uint64_t)p.ah << 32, p.qkey };
}
#else
GDA_DEVICE uint32_t gda_port_dialect(const struct gda_port &p)
{
	return p.view->dialect;
}

GDA_DEVICE void gda_port_speak(struct gda_port &, uint32_t)
{
}

GDA_DEVICE void gda_port_address(struct gda_port &, const struct gda_view *)
{
}

GDA_DEVICE struct gda_sq gda_sq(const struct gda_port &p)
{
	return { p.sq, (uint64_t)p.qpn_be << 32, p.mask, p.view->dialect };
}
#endif

GDA_DEVICE struct gda_port gda_port_open(struct gda_view *v)
{
	struct gda_port p;

	p.view = v;
	p.sq = (char *)v->sq;
	p.slots = (uint32_t *)v->slots;
	p.dbrec = (uint32_t *)v->dbrec;
	p.db = (uint64_t *)v->db;
	p.last = gda_cqe_last(v->dialect, v->cq);
	p.mask = v->mask;
	p.caps = v->caps;
	p.qpn_be = (uint32_t)(v->qpn_be >> 32);
	gda_port_address(p, v);
	return p;
}

/*
 * The device's progress. The poll acquires nothing, so that many can be in flight; gda_acquire()
 * makes what the device did before visible to a thread that uses the result.
 */
GDA_DEVICE uint32_t gda_port_last(const struct gda_port &p)
{
	uint32_t word;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(p.last) : "memory");
	return word;
}

GDA_DEVICE void gda_acquire(void)
{
	asm volatile(GDA_FENCE_ACQUIRE ".sys;" ::: "memory");
}

/**
 * gda_assume - tell the compiler what the device can do
 * @q: the poster's queue
 * @caps: GDA_VIEW_*, a constant
 *
 * The compiler removes branches on @caps. Costs one comparison.
 *
 * Return: true; false, and nothing is changed, if the view says otherwise.
 */
template <class queue>
GDA_GPU_API bool gda_assume(queue &q, uint32_t caps)
{
	if (q.port.caps != caps)
		return false;
	q.port.caps = caps;
	return true;
}

/**
 * gda_assume_dialect - tell the compiler which dialect the queue has
 * @q: the poster's queue
 * @dialect: enum gda_dialect, a constant
 *
 * In a program that speaks several the compiler then removes the branches between them; in others
 * the call has no effect. Costs one comparison.
 *
 * Return: true; false, and nothing is changed, if the view says otherwise.
 */
template <class queue>
GDA_GPU_API bool gda_assume_dialect(queue &q, uint32_t dialect)
{
	if (gda_port_dialect(q.port) != dialect)
		return false;
	gda_port_speak(q.port, dialect);
	return true;
}

/* Do requests of the queue complete in any order, to a ring of its own? */
GDA_DEVICE bool gda_port_unordered(const struct gda_port &p)
{
	return gda_cqe_unordered(gda_port_dialect(p));
}

/* Ring. All slots below @next are written and released, and no other thread rings. */
GDA_DEVICE void gda_port_ring_if(uint32_t on, const struct gda_port &p, uint64_t next)
{
	uint32_t record = gda_db_record(gda_port_dialect(p), next);

	if (gda_port_unordered(p)) {
		/* there is no record; the doorbell has 16 bits, of which nobody minds more */
		asm volatile(GDA_IF(2, "st.mmio.relaxed.sys.global.u32 [%0], %1;")
			     ::"l"(p.db), "r"(record), "r"(on) : "memory");
		return;
	}
	asm volatile(GDA_IF(2, "st.relaxed.sys.global.u32 [%0], %1;")
		     ::"l"(p.dbrec), "r"(record), "r"(on) : "memory");
	if (!(p.caps & GDA_VIEW_DB_UNORDERED))
		gda_release_if(on, p.caps);
	asm volatile(GDA_IF(2, "st.mmio.relaxed.sys.global.u64 [%0], %1;")
		     ::"l"(p.db), "l"(gda_db_value(gda_port_dialect(p), gda_sq(p).qpn_be, record)),
		       "r"(on) : "memory");
}

GDA_DEVICE void gda_port_ring(const struct gda_port &p, uint64_t next)
{
	gda_port_ring_if(1, p, next);
}

/* Release and ring through a view. */
GDA_DEVICE void gda_gpu_ring(const struct gda_view *v, uint64_t next)
{
	gda_release(v->caps);
	gda_port_ring(gda_port_open((struct gda_view *)v), next);
}

/*
 * The same two steps, for a caller that has loaded something that is not needed before. To the
 * compiler they may have to be repeated (a doorbell's low byte is 0), so it does not move the use
 * of the loaded value, and the wait for the load, in front of them.
 */
GDA_DEVICE void gda_port_release_as(const struct gda_port &p, uint32_t caps)
{
	do
		gda_release(caps);
	while (p.qpn_be == ~0U);
}

GDA_DEVICE void gda_port_release(const struct gda_port &p)
{
	gda_port_release_as(p, p.caps);
}

GDA_DEVICE uint32_t gda_swap32(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

GDA_DEVICE void gda_store128(char *p, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     ::"l"(p), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/* Broadcast @full, and @index of at most 63 bits, from the first lane of a warp. */
GDA_DEVICE bool gda_first_lane(bool full, uint64_t &index)
{
	int64_t both = __shfl_sync(~0U, (int64_t)(full ? ~index : index), 0);

	index = (uint64_t)(both < 0 ? ~both : both);
	return both < 0;
}

GDA_DEVICE uint32_t gda_block_rank(void)
{
	return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

GDA_DEVICE uint32_t gda_block_size(void)
{
	return blockDim.x * blockDim.y * blockDim.z;
}

/* Deadlines are those of gda/fastpath.h: absolute, 0 is the view's timeout from now. */
GDA_DEVICE uint64_t gda_gpu_deadline(const struct gda_view *v, uint64_t deadline)
{
	return deadline ? deadline : gda_clock_ns() + v->timeout_ns;
}

/* The checks of every wait besides the queue itself, once in many polls. */
GDA_DEVICE int gda_gpu_expired(const struct gda_view *v, unsigned int polls, uint64_t deadline)
{
	if (polls % GDA_POLLS)
		return 0;
	if (gda_nic_load32((const uint32_t *)v->abort))
		return -ESHUTDOWN;
	return gda_clock_ns() >= deadline ? -ETIMEDOUT : 0;
}

#endif /* GDA_GPU_DEVICE_H */
