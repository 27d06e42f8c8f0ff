/* SPDX-License-Identifier: MIT */
/*
 * Direct access of gda/shmem.h: loads, stores and atomics on memory that is mapped where the caller
 * runs, on a CPU and on a GPU. Not to be called by programs.
 */
#ifndef GDA_SHMEM_DIRECT_H
#define GDA_SHMEM_DIRECT_H

#include <string.h>
#include <gda/shmem_copy.h>
#include <gda/shmem_peer.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Is @bytes the width of one load or store, and is the address aligned to it? */
GDA_HELPER int gda_shmem_is_word(const void *at, uint32_t bytes)
{
	return bytes && bytes <= 8 && !(bytes & (bytes - 1)) &&
	       !((uintptr_t)at & (bytes - 1));
}

#ifdef __CUDA_ARCH__

/* Store a value of 1, 2, 4 or 8 bytes, aligned to as many, with one store. */
GDA_HELPER void gda_shmem_store(void *at, uint64_t value, uint32_t bytes)
{
	if (bytes == 8)
		asm volatile("st.release.sys.b64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
	else if (bytes == 4)
		asm volatile("st.release.sys.b32 [%0], %1;"
			     ::"l"(at), "r"((uint32_t)value) : "memory");
	else if (bytes == 2)
		asm volatile("st.release.sys.b16 [%0], %1;"
			     ::"l"(at), "h"((uint16_t)value) : "memory");
	else
		asm volatile("st.release.sys.b8 [%0], %1;"
			     ::"l"(at), "r"((uint32_t)value) : "memory");
}

GDA_HELPER uint64_t gda_shmem_load(const void *at, uint32_t bytes)
{
	uint32_t word;
	uint16_t half;

	if (bytes == 8)
		return gda_nic_load64((const uint64_t *)at);
	if (bytes == 4)
		return gda_nic_load32((const uint32_t *)at);
	if (bytes == 2) {
		asm volatile("ld.acquire.sys.b16 %0, [%1];" : "=h"(half) : "l"(at) : "memory");
		return half;
	}
	asm volatile("ld.acquire.sys.u8 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
	return word;
}

#define GDA_SHMEM_GPU_ATOMIC(name, bits, reg, type, op) \
GDA_HELPER type name(type *at, type value) \
{ \
	type old; \
\
	asm volatile("atom.acq_rel.sys." op ".b" bits " %0, [%1], %2;" \
		     : "=" reg(old) : "l"(at), reg(value) : "memory"); \
	return old; \
}

GDA_SHMEM_GPU_ATOMIC(gda_shmem_exchange64, "64", "l", uint64_t, "exch")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_and64, "64", "l", uint64_t, "and")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_or64, "64", "l", uint64_t, "or")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_xor64, "64", "l", uint64_t, "xor")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_exchange32, "32", "r", uint32_t, "exch")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_and32, "32", "r", uint32_t, "and")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_or32, "32", "r", uint32_t, "or")
GDA_SHMEM_GPU_ATOMIC(gda_shmem_xor32, "32", "r", uint32_t, "xor")

GDA_HELPER uint64_t gda_shmem_add64(uint64_t *at, uint64_t value)
{
	uint64_t old;

	asm volatile("atom.acq_rel.sys.add.u64 %0, [%1], %2;"
		     : "=l"(old) : "l"(at), "l"(value) : "memory");
	return old;
}

GDA_HELPER uint32_t gda_shmem_add32(uint32_t *at, uint32_t value)
{
	uint32_t old;

	asm volatile("atom.acq_rel.sys.add.u32 %0, [%1], %2;"
		     : "=r"(old) : "l"(at), "r"(value) : "memory");
	return old;
}

/* Return: what it was. */
GDA_HELPER uint64_t gda_shmem_cas64(uint64_t *at, uint64_t cond, uint64_t value)
{
	uint64_t old;

	asm volatile("atom.acq_rel.sys.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(old) : "l"(at), "l"(cond), "l"(value) : "memory");
	return old;
}

GDA_HELPER uint32_t gda_shmem_cas32(uint32_t *at, uint32_t cond, uint32_t value)
{
	uint32_t old;

	asm volatile("atom.acq_rel.sys.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(old) : "l"(at), "r"(cond), "r"(value) : "memory");
	return old;
}

/* Changes whose old value nobody asks for: behind one fence, and not waited for. */
#define GDA_SHMEM_GPU_CHANGE(name, bits, reg, type, op) \
GDA_HELPER void name(type *at, type value) \
{ \
	asm volatile("red.release.sys." op bits " [%0], %1;" ::"l"(at), reg(value) : "memory"); \
}

GDA_SHMEM_GPU_CHANGE(gda_shmem_change_add64, "64", "l", uint64_t, "add.u")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_and64, "64", "l", uint64_t, "and.b")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_or64, "64", "l", uint64_t, "or.b")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_xor64, "64", "l", uint64_t, "xor.b")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_add32, "32", "r", uint32_t, "add.u")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_and32, "32", "r", uint32_t, "and.b")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_or32, "32", "r", uint32_t, "or.b")
GDA_SHMEM_GPU_CHANGE(gda_shmem_change_xor32, "32", "r", uint32_t, "xor.b")

/* Order bytes that were put before in front of later stores. */
GDA_HELPER void gda_shmem_order(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Sequentially consistent: of two PEs that each put and then get, one sees the other. */
GDA_HELPER void gda_shmem_settled(void)
{
	asm volatile("fence.sc.sys;" ::: "memory");
}

#else /* on a CPU */

GDA_HELPER void gda_shmem_store(void *at, uint64_t value, uint32_t bytes)
{
	if (bytes == 8)
		__atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
	else if (bytes == 4)
		__atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
	else if (bytes == 2)
		__atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_RELEASE);
}

/*
 * Like memmove(3), but the last word, of up to 8 bytes, is stored once and after all others: a PE
 * may wait for it, and change it as soon as it arrives. memmove(3) stores some words twice. 8
 * bytes, which most calls move, are one load and one store at any alignment; if they lie in two
 * words a PE may see either word first. @bytes: at least 1
 */
GDA_HELPER void gda_shmem_copy_put(void *to, const void *from, uint64_t bytes)
{
	uint64_t end = (uintptr_t)to + bytes, word = 0;
	uint32_t width = end & 7 ? (uint32_t)(end & -end & 7) : 8;

	if (bytes == 8) {
		memcpy(to, from, 8);
		return;
	}
	while (width > bytes)
		width >>= 1;
	switch (width) {
	case 8:
		memcpy(&word, (const char *)from + bytes - 8, 8);
		break;
	case 4: {
		uint32_t low;

		memcpy(&low, (const char *)from + bytes - 4, 4);
		word = low;
		break;
	}
	case 2: {
		uint16_t low;

		memcpy(&low, (const char *)from + bytes - 2, 2);
		word = low;
		break;
	}
	default:
		word = ((const uint8_t *)from)[bytes - 1];
	}
	if (bytes > width)
		memmove(to, from, bytes - width);
	gda_shmem_store((char *)to + bytes - width, word, width);
}

GDA_HELPER uint64_t gda_shmem_load(const void *at, uint32_t bytes)
{
	if (bytes == 8)
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
	if (bytes == 4)
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
	if (bytes == 2)
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_ACQUIRE);
	return __atomic_load_n((const uint8_t *)at, __ATOMIC_ACQUIRE);
}

#define gda_shmem_exchange64(at, value)	__atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_exchange32(at, value)	__atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_add64(at, value)	__atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_add32(at, value)	__atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_and64(at, value)	__atomic_fetch_and(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_and32(at, value)	__atomic_fetch_and(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_or64(at, value)	__atomic_fetch_or(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_or32(at, value)	__atomic_fetch_or(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_xor64(at, value)	__atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL)
#define gda_shmem_xor32(at, value)	__atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL)

GDA_HELPER uint64_t gda_shmem_cas64(uint64_t *at, uint64_t cond, uint64_t value)
{
	__atomic_compare_exchange_n(at, &cond, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return cond;
}

GDA_HELPER uint32_t gda_shmem_cas32(uint32_t *at, uint32_t cond, uint32_t value)
{
	__atomic_compare_exchange_n(at, &cond, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return cond;
}

GDA_HELPER void gda_shmem_order(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

GDA_HELPER void gda_shmem_settled(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif

/* Apply a checked operation to a word that is mapped here. Return: the old value. */
GDA_HELPER uint64_t gda_shmem_apply64(uint64_t *at, uint32_t op, uint64_t value)
{
	if (op == GDA_SHMEM_SET)
		return gda_shmem_exchange64(at, value);
	if (op == GDA_SHMEM_ADD)
		return gda_shmem_add64(at, value);
	if (op == GDA_SHMEM_AND)
		return gda_shmem_and64(at, value);
	if (op == GDA_SHMEM_OR)
		return gda_shmem_or64(at, value);
	if (op == GDA_SHMEM_XOR)
		return gda_shmem_xor64(at, value);
	return gda_shmem_load(at, 8);
}

GDA_HELPER uint32_t gda_shmem_apply32(uint32_t *at, uint32_t op, uint32_t value)
{
	if (op == GDA_SHMEM_SET)
		return gda_shmem_exchange32(at, value);
	if (op == GDA_SHMEM_ADD)
		return gda_shmem_add32(at, value);
	if (op == GDA_SHMEM_AND)
		return gda_shmem_and32(at, value);
	if (op == GDA_SHMEM_OR)
		return gda_shmem_or32(at, value);
	if (op == GDA_SHMEM_XOR)
		return gda_shmem_xor32(at, value);
	return (uint32_t)gda_shmem_load(at, 4);
}

#ifdef __CUDA_ARCH__

/* The same if the old value is not asked for: of another GPU's word it takes a round trip. */
#define GDA_SHMEM_CHANGE(name, suffix, type, bytes) \
GDA_HELPER void name(type *at, uint32_t op, type value) \
{ \
	if (op == GDA_SHMEM_SET) \
		gda_shmem_store(at, value, bytes); \
	else if (op == GDA_SHMEM_ADD) \
		gda_shmem_change_add##suffix(at, value); \
	else if (op == GDA_SHMEM_AND) \
		gda_shmem_change_and##suffix(at, value); \
	else if (op == GDA_SHMEM_OR) \
		gda_shmem_change_or##suffix(at, value); \
	else if (op == GDA_SHMEM_XOR) \
		gda_shmem_change_xor##suffix(at, value); \
}

GDA_SHMEM_CHANGE(gda_shmem_change64, 64, uint64_t, 8)
GDA_SHMEM_CHANGE(gda_shmem_change32, 32, uint32_t, 4)

#else

#define gda_shmem_change64(at, op, value)	((void)gda_shmem_apply64(at, op, value))
#define gda_shmem_change32(at, op, value)	((void)gda_shmem_apply32(at, op, value))

#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#ifdef __CUDACC__
#include <gda/gpu/shmem_here.h>
#endif

#endif /* GDA_SHMEM_DIRECT_H */
