/* SPDX-License-Identifier: MIT */
/*
 * Copies of arrays and tensors: the compiler compares types, each call compares shapes (P-02,
 * P-03). Included by gda/async.h.
 */
#ifndef GDA_ASYNC_TENSOR_H
#define GDA_ASYNC_TENSOR_H

#include <gda/async.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_ASYNC_DIMENSIONS - dimensions of a tensor
 */
#define GDA_ASYNC_DIMENSIONS	5

/* Bytes of @n elements; if that wraps, more than any window has. */
GDA_HELPER uint64_t gda_async_total(uint64_t n, uint64_t element)
{
	return n > UINT64_MAX / element ? UINT64_MAX : n * element;
}

/**
 * struct gda_async_tensor - a tensor in a window
 * @addr: address of its first element
 * @element: bytes of an element
 * @layout: any number for the layout of the elements; it is only compared
 * @shape: elements in each dimension, the last one the fastest
 * @stride: elements from one to the next, in each dimension
 *
 * Passed to inline functions only, so it never grows.
 */
struct gda_async_tensor {
	uint64_t addr;
	uint32_t element;
	uint32_t layout;
	uint64_t shape[GDA_ASYNC_DIMENSIONS];
	uint64_t stride[GDA_ASYNC_DIMENSIONS];
};

/* Is it flat: contiguous, and of one dimension? */
GDA_HELPER int gda_async_is_flat(const struct gda_async_tensor *t)
{
	int i;

	for (i = 0; i + 1 < GDA_ASYNC_DIMENSIONS; i++)
		if (t->shape[i] != 1)
			return 0;
	return t->stride[GDA_ASYNC_DIMENSIONS - 1] == 1;
}

/* Why a tensor cannot be copied to another, or 0; *@bytes: the length of both. */
GDA_HELPER uint32_t gda_async_tensors(const struct gda_async_tensor *dst,
				      const struct gda_async_tensor *src, uint64_t *bytes)
{
	uint64_t n = src->shape[GDA_ASYNC_DIMENSIONS - 1];

	*bytes = 0;
	if (!gda_async_is_flat(dst) || !gda_async_is_flat(src))
		return GDA_ASYNC_WHY_SHAPE;
	if (n != dst->shape[GDA_ASYNC_DIMENSIONS - 1] || dst->element != src->element ||
	    !src->element || dst->layout != src->layout || n > UINT64_MAX / src->element)
		return GDA_ASYNC_WHY_TYPE;
	*bytes = n * src->element;
	return 0;
}

/*
 * gda_async_get_tensor - copy a flat tensor from the peer to this rank (P-03)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: destination
 * @src: source
 * @flags: GDA_*
 *
 * Return: as gda_async_get(); 0, and nothing was posted, also if one of them is not contiguous
 * and of one dimension, or if they differ in length, element or layout.
 */
GDA_HELPER struct gda_async_event gda_async_get_tensor(struct gda_async_session *s,
						       uint32_t engine,
						       const struct gda_async_tensor *dst,
						       const struct gda_async_tensor *src,
						       unsigned int flags)
{
	uint64_t bytes;
	uint32_t why = gda_async_tensors(dst, src, &bytes);

	if (gda_unlikely(why))
		return gda_async_none(s, "gda_async_get_tensor", why);
	return gda_async_copy(s, engine, gda_async_asked(dst->addr, src->addr, bytes, 0), flags);
}

/*
 * gda_async_put_tensor - copy a flat tensor from this rank to the peer (P-15)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: destination
 * @src: source
 * @flags: GDA_*
 *
 * Return: as gda_async_put(), and as gda_async_get_tensor().
 */
GDA_HELPER struct gda_async_event gda_async_put_tensor(struct gda_async_session *s,
						       uint32_t engine,
						       const struct gda_async_tensor *dst,
						       const struct gda_async_tensor *src,
						       unsigned int flags)
{
	uint64_t bytes;
	uint32_t why = gda_async_tensors(dst, src, &bytes);

	if (gda_unlikely(why))
		return gda_async_none(s, "gda_async_put_tensor", why);
	return gda_async_copy(s, engine, gda_async_asked(dst->addr, src->addr, bytes, 1), flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}

/*
 * gda_async_get_array - gda_async_get() of elements of one type (P-02)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: the first element's destination
 * @src: the first element, of the same type: others do not compile
 * @n: number of elements
 * @flags: GDA_*
 *
 * Return: as gda_async_get().
 */
template <class T>
GDA_HELPER struct gda_async_event gda_async_get_array(struct gda_async_session *s,
						      uint32_t engine, T *dst,
						      const T *src, uint64_t n,
						      unsigned int flags)
{
	return gda_async_get(s, engine, dst, src, gda_async_total(n, sizeof(T)), flags);
}

/*
 * gda_async_put_array - gda_async_put() of elements of one type (P-02)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @dst: the first element's destination
 * @src: the first element, of the same type: others do not compile
 * @n: number of elements
 * @flags: GDA_*
 *
 * Return: as gda_async_put().
 */
template <class T>
GDA_HELPER struct gda_async_event gda_async_put_array(struct gda_async_session *s,
						      uint32_t engine, T *dst,
						      const T *src, uint64_t n,
						      unsigned int flags)
{
	return gda_async_put(s, engine, dst, src, gda_async_total(n, sizeof(T)), flags);
}

#else

/* The element size of two pointers to the same type; with different types this does not compile. */
#define GDA_ASYNC_ELEMENT(dst, src) \
	(sizeof(struct { \
		_Static_assert(__builtin_types_compatible_p(__typeof__(*(dst)), \
							    __typeof__(*(src))), \
			       "gda: source and destination are of different types"); \
		int of_one_type; \
	}) ? sizeof(*(dst)) : 0)

#define gda_async_get_array(s, engine, dst, src, n, flags) \
	gda_async_get(s, engine, dst, src, gda_async_total(n, GDA_ASYNC_ELEMENT(dst, src)), flags)

#define gda_async_put_array(s, engine, dst, src, n, flags) \
	gda_async_put(s, engine, dst, src, gda_async_total(n, GDA_ASYNC_ELEMENT(dst, src)), flags)

#endif

#endif /* GDA_ASYNC_TENSOR_H */
