// SPDX-License-Identifier: MIT
/*
 * Put and get of blocks, of strided elements and of single ones, and put with signal. What
 * the specification lets complete later is complete when the call returns.
 */
#include "define.h"
#include "way.h"

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

static size_t span(const struct gda_osh_strided *w, ptrdiff_t stride)
{
	return ((w->nelems - 1) * (size_t)stride + 1) * w->bytes;
}

void gda_osh_iput(const char *call, const struct gda_osh_strided *w, int pe)
{
	if (w->nelems)
		copy_strided(gda_osh_at(call, w->dest, span(w, w->dst), pe), w->source, w);
}

static void iget(const char *call, const struct gda_osh_strided *w, int pe)
{
	if (w->nelems)
		copy_strided(w->dest, gda_osh_at(call, w->source, span(w, w->sst), pe), w);
}

struct signal {
	uint64_t *word;
	uint64_t value;
	int op;
};

static void raise_signal(const char *call, const struct signal *s, int pe)
{
	uint64_t *word = (uint64_t *)gda_osh_at(call, s->word, sizeof(*word), pe);

	if (s->op == SHMEM_SIGNAL_SET)
		__atomic_store_n(word, s->value, __ATOMIC_RELEASE);
	else if (s->op == SHMEM_SIGNAL_ADD)
		__atomic_fetch_add(word, s->value, __ATOMIC_RELEASE);
	else
		gda_osh_die(call, pe, "there is no signal operation %d", s->op);
}

#define GDA_OSH_BYTES(T)	(nelems * sizeof(T))
#define GDA_OSH_DO_put(T) \
	gda_osh_put(GDA_OSH_CALL_NAME, dest, source, GDA_OSH_BYTES(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_get(T) \
	gda_osh_get(GDA_OSH_CALL_NAME, dest, source, GDA_OSH_BYTES(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_put_nbi(T)	GDA_OSH_DO_put(T)
#define GDA_OSH_DO_get_nbi(T)	GDA_OSH_DO_get(T)
#define GDA_OSH_DO_put_signal(T) \
	const struct signal s = { .word = sig_addr, .value = signal, .op = sig_op }; \
	const int at = GDA_OSH_PE(ctx, pe); \
	gda_osh_put(GDA_OSH_CALL_NAME, dest, source, GDA_OSH_BYTES(T), at); \
	raise_signal(GDA_OSH_CALL_NAME, &s, at)
#define GDA_OSH_DO_put_signal_nbi(T)	GDA_OSH_DO_put_signal(T)
#define GDA_OSH_STRIDED(T) \
	(&(const struct gda_osh_strided) { \
		.dest = dest, .source = source, .dst = dst, .sst = sst, .nelems = nelems, \
		.bytes = sizeof(T), })
#define GDA_OSH_DO_iput(T) \
	gda_osh_iput(GDA_OSH_CALL_NAME, GDA_OSH_STRIDED(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_iget(T) \
	iget(GDA_OSH_CALL_NAME, GDA_OSH_STRIDED(T), GDA_OSH_PE(ctx, pe))
#define GDA_OSH_DO_p(T)	\
	(*(volatile T *)gda_osh_at(GDA_OSH_CALL_NAME, dest, sizeof(T), GDA_OSH_PE(ctx, pe)) = value)
#define GDA_OSH_DO_g(T)	\
	return *(volatile T *)gda_osh_at(GDA_OSH_CALL_NAME, source, sizeof(T), GDA_OSH_PE(ctx, pe))

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
	gda_osh_quiet();
}

GDA_OSH_PUBLIC void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
	if (ctx != SHMEM_CTX_INVALID)
		gda_osh_quiet();
}

GDA_OSH_ORDER(GDA_OSH_WEAK_CALL)
