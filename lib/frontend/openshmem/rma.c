// SPDX-License-Identifier: MIT
/*
 * Put and get of blocks, of strided elements and of single ones, and put with signal. With direct
 * access a nonblocking call is complete when it returns, which the specification allows.
 */
#include "define.h"
#include "reach.h"

/* Copied by size, so that an element of 2, 4 or 8 bytes is one store. */
#define GDA_OSH_COPY(n) \
	do { \
		for (i = 0; i < w->nelems; i++) \
			memcpy(to + i * (size_t)w->dst * (n), from + i * (size_t)w->sst * (n), n); \
	} while (0)

static void copy_strided(char *to, const char *from, const struct gda_osh_strided *w)
{
	size_t i;

	switch (w->bytes) {
	case 1:
		GDA_OSH_COPY(1);
		break;
	case 2:
		GDA_OSH_COPY(2);
		break;
	case 4:
		GDA_OSH_COPY(4);
		break;
	case 8:
		GDA_OSH_COPY(8);
		break;
	default:
		GDA_OSH_COPY(w->bytes);
	}
}

/*
 * Does not return unless all elements at @addr are within one symmetric range. Return: the bytes
 * from the first element to the end of the last.
 */
static size_t span(const char *call, const struct gda_osh_strided *w, const void *addr,
		   ptrdiff_t stride, int pe)
{
	size_t bytes;

	if (stride < 1 && w->nelems > 1)
		gda_osh_die(call, pe, "the stride of symmetric elements is %td: pass 1 or more",
			    stride);
	if (__builtin_mul_overflow(w->nelems - 1, (size_t)stride, &bytes) || bytes == SIZE_MAX)
		bytes = SIZE_MAX - 1;
	bytes = gda_osh_bytes(bytes + 1, w->bytes);
	if (!gda_shmem_is_symmetric(gda_osh.s, addr, bytes))
		gda_osh_bad(call, addr, bytes, pe);
	return bytes;
}

void gda_osh_iput(const char *call, const struct gda_osh_strided *w, int pe)
{
	char *at = NULL;

	if (w->nelems)
		at = gda_osh_mapped(call, w->dest, span(call, w, w->dest, w->dst, pe), pe);
	if (at)
		copy_strided(at, w->source, w);
	else if (w->nelems)
		gda_osh_queue_iput(call, w, pe);
}

static void iget(const char *call, const struct gda_osh_strided *w, int pe)
{
	char *at = NULL;

	if (w->nelems)
		at = gda_osh_mapped(call, w->source, span(call, w, w->source, w->sst, pe), pe);
	if (at)
		copy_strided(w->dest, at, w);
	else if (w->nelems)
		gda_osh_queue_iget(call, w, pe);
}

static void put_signal(const char *call, const struct gda_osh_put_signal *w, int pe)
{
	uint64_t *word = (uint64_t *)gda_osh_mapped(call, w->word, sizeof(*word), pe);

	if (w->op != SHMEM_SIGNAL_SET && w->op != SHMEM_SIGNAL_ADD)
		gda_osh_die(call, pe,
			    "there is no signal operation %d: pass SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD",
			    w->op);
	if (!word) {
		gda_osh_queue_put_signal(call, w, pe);
		return;
	}
	gda_osh_put(call, w->dest, w->source, w->bytes, pe);
	if (w->op == SHMEM_SIGNAL_SET)
		__atomic_store_n(word, w->value, __ATOMIC_RELEASE);
	else
		__atomic_fetch_add(word, w->value, __ATOMIC_RELEASE);
}

/* By queue: a value of up to 8 bytes, whatever its type, is passed in a register. */
static inline void queue_p(const char *call, void *dest, const void *value, size_t bytes, int pe)
{
	uint64_t word;

	if (bytes == sizeof(word)) {
		memcpy(&word, value, sizeof(word));
		gda_osh_queue_p64(call, dest, word, pe);
	} else {
		/* @value is a local variable of the caller */
		gda_osh_queue_put(call, dest, value, bytes, pe);
	}
}

/* Blocks, out of line, so that the caller is a leaf function for one element. */
#define GDA_OSH_BLOCK(name, TO, FROM) \
	static __attribute__((noinline)) void name##_block(TO *dest, FROM *source, size_t bytes, \
							   int pe, const char *call) \
	{ \
		gda_osh_##name(call, dest, source, bytes, pe); \
	}

GDA_OSH_BLOCK(put, void, const void)
GDA_OSH_BLOCK(get, void, const void)
GDA_OSH_BLOCK(put_nbi, void, const void)
GDA_OSH_BLOCK(get_nbi, void, const void)

/* The address here of one element of @pe; NULL: the call for blocks then finds out why. */
static inline __attribute__((always_inline)) char *one(const void *addr, size_t bytes, int pe)
{
	const struct gda_shmem *s = gda_osh.s;
	uint64_t heap = (uintptr_t)addr - s->heap, data, at;
	const struct gda_shmem_peer *p;

	if (!gda_osh_likely((uint32_t)pe < s->npes))
		return NULL;
	p = (const struct gda_shmem_peer *)(uintptr_t)s->peers + (uint32_t)pe;
	if (!gda_osh_likely(p->heap))
		return NULL;
	/* the heap is at least as large as the library's part */
	if (gda_osh_likely(heap <= s->heap_bytes - bytes)) {
		at = p->heap + heap;
	} else {
		data = (uintptr_t)addr - s->data;
		if (data >= s->data_bytes || bytes > s->data_bytes - data)
			return NULL;
		at = p->data + data;
	}
	/* nothing is mapped at address 0, so callers need not compare with NULL again */
	if (!at)
		__builtin_unreachable();
	return (char *)(uintptr_t)at;
}

/* One element, which many programs move, is one load and one store of its size, as in shmem_p(). */
#define GDA_OSH_PUT(T, name) \
	const int to = GDA_OSH_PE(ctx, pe); \
	char *at = gda_osh_likely(nelems == 1) ? one(dest, sizeof(T), to) : NULL; \
	if (gda_osh_likely(at)) \
		memcpy(at, source, sizeof(T)); \
	else \
		name##_block(dest, source, GDA_OSH_BYTES(T), to, GDA_OSH_CALL_NAME)
#define GDA_OSH_GET(T, name) \
	const int from = GDA_OSH_PE(ctx, pe); \
	const char *at = gda_osh_likely(nelems == 1) ? one(source, sizeof(T), from) : NULL; \
	if (gda_osh_likely(at)) \
		memcpy(dest, at, sizeof(T)); \
	else \
		name##_block(dest, source, GDA_OSH_BYTES(T), from, GDA_OSH_CALL_NAME)
#define GDA_OSH_DO_put(T)	GDA_OSH_PUT(T, put)
#define GDA_OSH_DO_get(T)	GDA_OSH_GET(T, get)
#define GDA_OSH_DO_put_nbi(T)	GDA_OSH_PUT(T, put_nbi)
#define GDA_OSH_DO_get_nbi(T)	GDA_OSH_GET(T, get_nbi)
#define GDA_OSH_PUT_SIGNAL(T, is_nbi) \
	const struct gda_osh_put_signal w = { \
		.dest = dest, .source = source, .bytes = GDA_OSH_BYTES(T), .word = sig_addr, \
		.value = signal, .op = sig_op, .nbi = is_nbi, \
	}; \
	put_signal(GDA_OSH_CALL_NAME, &w, GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_put_signal(T)	GDA_OSH_PUT_SIGNAL(T, false)
#define GDA_OSH_DO_put_signal_nbi(T)	GDA_OSH_PUT_SIGNAL(T, true)
#define GDA_OSH_STRIDED(T) \
	(&(const struct gda_osh_strided) { \
		.dest = dest, .source = source, .dst = dst, .sst = sst, .nelems = nelems, \
		.bytes = sizeof(T), })
#define GDA_OSH_DO_iput(T) \
	gda_osh_iput(GDA_OSH_CALL_NAME, GDA_OSH_STRIDED(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_iget(T) \
	iget(GDA_OSH_CALL_NAME, GDA_OSH_STRIDED(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_p(T)	\
	const int to = GDA_OSH_PE(ctx, pe); \
	const struct gda_shmem_peer *p = gda_osh_peer(GDA_OSH_CALL_NAME, dest, sizeof(T), to); \
	if (gda_osh_likely(p->heap)) \
		*(volatile T *)gda_osh_mapped_of(GDA_OSH_CALL_NAME, p, dest, sizeof(T), to) = \
			value; \
	else \
		queue_p(GDA_OSH_CALL_NAME, dest, &value, sizeof(T), to)
#define GDA_OSH_DO_g(T)	\
	const int from = GDA_OSH_PE(ctx, pe); \
	volatile T *at = (T *)gda_osh_mapped(GDA_OSH_CALL_NAME, source, sizeof(T), from); \
	T value; \
	if (gda_osh_likely(at)) \
		return *at; \
	gda_osh_queue_get(GDA_OSH_CALL_NAME, &value, source, sizeof(T), from); \
	return value

GDA_OSH_RMA_CTX(GDA_OSH_DEFINE_CTX)

GDA_OSH_PUBLIC void pshmem_fence(void)
{
	gda_osh_fence();
}

GDA_OSH_PUBLIC void pshmem_ctx_fence(shmem_ctx_t ctx)
{
	if (ctx != SHMEM_CTX_INVALID)
		gda_osh_fence();
}

GDA_OSH_PUBLIC void pshmem_quiet(void)
{
	gda_osh_quiet(GDA_OSH_CALL_NAME);
}

GDA_OSH_PUBLIC void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
	if (ctx != SHMEM_CTX_INVALID)
		gda_osh_quiet(GDA_OSH_CALL_NAME);
}

GDA_OSH_ORDER(GDA_OSH_WEAK_CALL)
