/* SPDX-License-Identifier: MIT */
/*
 * Copies of mapped memory by threads of a GPU, for gda/shmem.h. Not to be called by programs.
 *
 * A copy of any alignment is three ranges: a head that ends where the target is aligned to a
 * vector of 16 bytes, vectors, and a tail. Vectors are loaded and stored whole. If the source is
 * not aligned as the target, two neighbours are loaded and shifted. Nothing is loaded that is not
 * of the source, and nothing else stored than the target. Head and tail are copied in units of the
 * largest size to which both ends and the length are aligned: so a word is stored once.
 *
 * Many loads are begun before the first is stored, because each takes a third of a microsecond.
 * Loads and stores have no order and bypass the first-level cache: the bytes may be another GPU's,
 * and may have changed. The caller has a fence behind them.
 *
 * Plain C, so that a CPU can test it (selftests/lib/copy.c); nothing else of a CPU calls it.
 */
#ifndef GDA_SHMEM_COPY_H
#define GDA_SHMEM_COPY_H

#include <string.h>
#include <gda/barrier.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define GDA_SHMEM_VECTOR	16U
/*
 * Vectors, pairs of them that are shifted, and units that a thread has in flight. More would be
 * faster, but callers keep what they have in registers beside these.
 */
#define GDA_SHMEM_FLIGHT	8U
#define GDA_SHMEM_PAIRS		1U
#define GDA_SHMEM_UNITS		2U

/* Unroll the loop that follows, whose variables are then registers. */
#define GDA_SHMEM_UNROLL	GDA_HERE(, _Pragma("unroll"))
/* Do not: it would take more registers. */
#define GDA_SHMEM_LOOP		GDA_HERE(, _Pragma("unroll 1"))

/**
 * struct gda_shmem_vector - sixteen bytes that a thread loads and stores at once
 * @word: the bytes
 *
 * Not for programs: it exists only during a copy.
 */
struct gda_shmem_vector {
	uint32_t word[4];
};

/**
 * struct gda_shmem_plan - how a copy is divided, by gda_shmem_copy_plan()
 * @head: bytes before the first vector
 * @rest: bytes before and behind the vectors
 * @vectors: number of vectors
 * @shift: bytes of the source from the vectors that are loaded
 * @unit: width of the loads and stores of @rest
 *
 * Not for programs: it exists only during a copy.
 */
struct gda_shmem_plan {
	uint64_t head;
	uint64_t rest;
	uint64_t vectors;
	uint32_t shift;
	uint32_t unit;
};

GDA_HELPER struct gda_shmem_plan gda_shmem_copy_plan(const char *to, const char *from,
						     uint64_t bytes)
{
	struct gda_shmem_plan p;
	uint64_t used;

	p.unit = (uint32_t)((uintptr_t)to | (uintptr_t)from | bytes | 8);
	p.unit &= -p.unit;
	p.shift = (uint32_t)((uintptr_t)from - (uintptr_t)to) % GDA_SHMEM_VECTOR;
	p.head = -(uintptr_t)to % GDA_SHMEM_VECTOR;
	/* the first vector that is loaded begins @shift before its first byte */
	if (p.head < p.shift)
		p.head += GDA_SHMEM_VECTOR;
	/* and the last one ends behind its last byte */
	used = p.head + (p.shift ? GDA_SHMEM_VECTOR - p.shift : 0);
	p.vectors = bytes > used ? (bytes - used) / GDA_SHMEM_VECTOR : 0;
	p.rest = bytes - p.vectors * GDA_SHMEM_VECTOR;
	if (p.head > p.rest)
		p.head = p.rest;
	return p;
}

#ifdef __CUDA_ARCH__

GDA_HELPER struct gda_shmem_vector gda_shmem_vector_load(const char *from)
{
	struct gda_shmem_vector v;

	asm volatile("ld.relaxed.sys.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
		     : "l"(from) : "memory");
	return v;
}

GDA_HELPER void gda_shmem_vector_store(char *to, struct gda_shmem_vector v)
{
	asm volatile("st.relaxed.sys.v4.u32 [%0], {%1, %2, %3, %4};"
		     ::"l"(to), "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
		     : "memory");
}

GDA_HELPER uint64_t gda_shmem_unit_load(const char *from, uint32_t unit)
{
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	if (unit == 8) {
		asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(wide) : "l"(from) : "memory");
		return wide;
	}
	if (unit == 2) {
		asm volatile("ld.relaxed.sys.u16 %0, [%1];" : "=h"(half) : "l"(from) : "memory");
		return half;
	}
	if (unit == 4)
		asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
	else
		asm volatile("ld.relaxed.sys.u8 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
	return word;
}

GDA_HELPER void gda_shmem_unit_store(char *to, uint64_t value, uint32_t unit)
{
	if (unit == 8)
		asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
	else if (unit == 4)
		asm volatile("st.relaxed.sys.u32 [%0], %1;"
			     ::"l"(to), "r"((uint32_t)value) : "memory");
	else if (unit == 2)
		asm volatile("st.relaxed.sys.u16 [%0], %1;"
			     ::"l"(to), "h"((uint16_t)value) : "memory");
	else
		asm volatile("st.relaxed.sys.u8 [%0], %1;"
			     ::"l"(to), "r"((uint32_t)value) : "memory");
}

/* The upper word's low bits above the lower word's high ones; @bits below 32. */
GDA_HELPER uint32_t gda_shmem_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return __funnelshift_r(low, high, bits);
}

#else /* on a CPU */

GDA_HELPER struct gda_shmem_vector gda_shmem_vector_load(const char *from)
{
	struct gda_shmem_vector v;

	memcpy(&v, __builtin_assume_aligned(from, GDA_SHMEM_VECTOR), sizeof(v));
	return v;
}

GDA_HELPER void gda_shmem_vector_store(char *to, struct gda_shmem_vector v)
{
	memcpy(__builtin_assume_aligned(to, GDA_SHMEM_VECTOR), &v, sizeof(v));
}

GDA_HELPER uint64_t gda_shmem_unit_load(const char *from, uint32_t unit)
{
	uint64_t value = 0;

	memcpy(&value, from, unit);
	return value;
}

GDA_HELPER void gda_shmem_unit_store(char *to, uint64_t value, uint32_t unit)
{
	memcpy(to, &value, unit);
}

GDA_HELPER uint32_t gda_shmem_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return (uint32_t)(((uint64_t)high << 32 | low) >> bits);
}

#endif

/* The 16 bytes that begin @shift bytes into two neighbours. No index is variable: no memory. */
GDA_HELPER struct gda_shmem_vector gda_shmem_vector_shift(struct gda_shmem_vector low,
							  struct gda_shmem_vector high,
							  uint32_t shift)
{
	uint32_t w[8], i, bits = shift % 4 * 8;
	struct gda_shmem_vector v;

	GDA_SHMEM_UNROLL
	for (i = 0; i < 4; i++) {
		w[i] = low.word[i];
		w[i + 4] = high.word[i];
	}
	GDA_SHMEM_UNROLL
	for (i = 0; i < 6; i++)
		w[i] = shift & 8 ? w[i + 2] : w[i];
	GDA_SHMEM_UNROLL
	for (i = 0; i < 5; i++)
		w[i] = shift & 4 ? w[i + 1] : w[i];
	GDA_SHMEM_UNROLL
	for (i = 0; i < 4; i++)
		v.word[i] = gda_shmem_funnel(w[i], w[i + 1], bits);
	return v;
}

/*
 * Copy every @step-th vector, the first one at @to, of @left. Also the last ones are all loaded
 * before one is stored.
 */
GDA_HELPER void gda_shmem_copy_vectors(char *to, const char *from, int64_t left, uint32_t step)
{
	const uint64_t apart = (uint64_t)step * GDA_SHMEM_VECTOR;
	const int64_t all = (int64_t)step * GDA_SHMEM_FLIGHT;
	struct gda_shmem_vector v[GDA_SHMEM_FLIGHT];
	uint32_t k;

	GDA_SHMEM_LOOP
	for (; left > all - step; left -= all) {
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_FLIGHT; k++)
			v[k] = gda_shmem_vector_load(from + k * apart);
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_FLIGHT; k++)
			gda_shmem_vector_store(to + k * apart, v[k]);
		from += GDA_SHMEM_FLIGHT * apart;
		to += GDA_SHMEM_FLIGHT * apart;
	}
	GDA_SHMEM_UNROLL
	for (k = 0; k < GDA_SHMEM_FLIGHT; k++)
		if (left > (int64_t)k * step)
			v[k] = gda_shmem_vector_load(from + k * apart);
	GDA_SHMEM_UNROLL
	for (k = 0; k < GDA_SHMEM_FLIGHT; k++)
		if (left > (int64_t)k * step)
			gda_shmem_vector_store(to + k * apart, v[k]);
}

/* The same from vectors that are loaded at @from, of whose bytes the first @shift are not meant. */
GDA_SLOW void gda_shmem_copy_shifted(char *to, const char *from, int64_t left, uint32_t step,
				       uint32_t shift)
{
	const uint64_t apart = (uint64_t)step * GDA_SHMEM_VECTOR;
	struct gda_shmem_vector low[GDA_SHMEM_PAIRS], high[GDA_SHMEM_PAIRS];
	uint32_t k;

	GDA_SHMEM_LOOP
	while (left > 0) {
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_PAIRS; k++) {
			if (left <= (int64_t)k * step)
				continue;
			low[k] = gda_shmem_vector_load(from + k * apart);
			high[k] = gda_shmem_vector_load(from + k * apart + GDA_SHMEM_VECTOR);
		}
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_PAIRS; k++)
			if (left > (int64_t)k * step)
				gda_shmem_vector_store(to + k * apart,
						       gda_shmem_vector_shift(low[k], high[k],
									      shift));
		from += GDA_SHMEM_PAIRS * apart;
		to += GDA_SHMEM_PAIRS * apart;
		left -= (int64_t)step * GDA_SHMEM_PAIRS;
	}
}

/* Copy units of head and tail, every @step-th of them from @at on; @unit is a constant. */
GDA_HELPER void gda_shmem_copy_units(char *to, const char *from, const struct gda_shmem_plan *p,
				     uint32_t at, uint32_t step, uint32_t unit)
{
	const uint32_t head = (uint32_t)p->head / unit, n = (uint32_t)p->rest / unit;
	const uint64_t middle = p->vectors * GDA_SHMEM_VECTOR;
	uint64_t value[GDA_SHMEM_UNITS];
	uint32_t k, i;

	GDA_SHMEM_LOOP
	for (; at < n; at += GDA_SHMEM_UNITS * step) {
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_UNITS; k++) {
			i = at + k * step;
			if (i < n)
				value[k] = gda_shmem_unit_load(from + (uint64_t)i * unit +
							       (i < head ? 0 : middle), unit);
		}
		GDA_SHMEM_UNROLL
		for (k = 0; k < GDA_SHMEM_UNITS; k++) {
			i = at + k * step;
			if (i < n)
				gda_shmem_unit_store(to + (uint64_t)i * unit +
						     (i < head ? 0 : middle), value[k], unit);
		}
	}
}

/*
 * Head and tail, by threads as above. Inlined: where a function that is not inlined calls another
 * one, nvcc 13.0 takes threads that have no edge, and so return early, for converged with the
 * rest, and leaves out the __syncwarp() of the caller behind the copy.
 */
GDA_HELPER void gda_shmem_copy_edges(char *to, const char *from, struct gda_shmem_plan p,
				     uint32_t rank, uint32_t size)
{
	if (p.unit == 8)
		gda_shmem_copy_units(to, from, &p, rank, size, 8);
	else if (p.unit == 4)
		gda_shmem_copy_units(to, from, &p, rank, size, 4);
	else if (p.unit == 2)
		gda_shmem_copy_units(to, from, &p, rank, size, 2);
	else
		gda_shmem_copy_units(to, from, &p, rank, size, 1);
}

/* Copy by @size threads, of which this is number @rank. */
GDA_HELPER void gda_shmem_copy_part(char *to, const char *from, uint64_t bytes, uint32_t rank,
				    uint32_t size)
{
	struct gda_shmem_plan p;
	uint64_t at;
	int64_t left;

	/* one word, the commonest of short copies, needs no plan */
	if (bytes == 8 && !(((uintptr_t)to | (uintptr_t)from) & 7)) {
		if (!rank)
			gda_shmem_unit_store(to, gda_shmem_unit_load(from, 8), 8);
		return;
	}
	p = gda_shmem_copy_plan(to, from, bytes);
	at = p.head + (uint64_t)rank * GDA_SHMEM_VECTOR;
	left = (int64_t)p.vectors - rank;
	if (p.shift)
		gda_shmem_copy_shifted(to + at, from + at - p.shift, left, size, p.shift);
	else
		gda_shmem_copy_vectors(to + at, from + at, left, size);
	if (p.rest)
		gda_shmem_copy_edges(to, from, p, rank, size);
}

/* The same for one thread, and for several: distances that are constants need no arithmetic. */
GDA_SLOW void gda_shmem_copy_alone(char *to, const char *from, uint64_t bytes)
{
	gda_shmem_copy_part(to, from, bytes, 0, 1);
}

GDA_SLOW void gda_shmem_copy_together(char *to, const char *from, uint64_t bytes, uint32_t rank,
				      uint32_t size)
{
	gda_shmem_copy_part(to, from, bytes, rank, size);
}

GDA_HELPER void gda_shmem_copy_mapped(void *to, const void *from, uint64_t bytes, uint32_t rank,
				      uint32_t size)
{
	if (size == 1)
		gda_shmem_copy_alone((char *)to, (const char *)from, bytes);
	else
		gda_shmem_copy_together((char *)to, (const char *)from, bytes, rank, size);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_COPY_H */
