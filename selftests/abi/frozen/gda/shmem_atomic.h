/* SPDX-License-Identifier: MIT */
/*
 * Atomics of 32 and 64 bits. They are atomic against one another, from all PEs, for words
 * of the same width. An atomic has the width of its word and never touches what lies
 * beside it (I-15). Included by gda/shmem.h.
 */
#ifndef GDA_SHMEM_ATOMIC_H
#define GDA_SHMEM_ATOMIC_H

#include <gda/shmem_rma.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * enum gda_shmem_op - what an atomic does to the word
 * @GDA_SHMEM_FETCH: nothing; for those that fetch
 * @GDA_SHMEM_SET: becomes the value
 * @GDA_SHMEM_SWAP: the same
 * @GDA_SHMEM_ADD: the value is added
 * @GDA_SHMEM_AND: bitwise and
 * @GDA_SHMEM_OR: bitwise or
 * @GDA_SHMEM_XOR: bitwise exclusive or
 */
enum gda_shmem_op {
	GDA_SHMEM_FETCH,
	GDA_SHMEM_SET,
	GDA_SHMEM_SWAP = GDA_SHMEM_SET,
	GDA_SHMEM_ADD,
	GDA_SHMEM_AND,
	GDA_SHMEM_OR,
	GDA_SHMEM_XOR,
};

/* Apply a checked operation to a word that is mapped here. Return: what it was. */
GDA_HELPER uint64_t gda_shmem_apply64(uint64_t *at, uint32_t op, uint64_t value)
{
	if (op == GDA_SHMEM_SET)
		return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_ADD)
		return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_AND)
		return __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_OR)
		return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_XOR)
		return __atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL);
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

GDA_HELPER uint32_t gda_shmem_apply32(uint32_t *at, uint32_t op, uint32_t value)
{
	if (op == GDA_SHMEM_SET)
		return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_ADD)
		return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_AND)
		return __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_OR)
		return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL);
	if (op == GDA_SHMEM_XOR)
		return __atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL);
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Can the call be made at all? Of constants only the number of the PE and the address are left. */
GDA_HELPER int gda_shmem_atomic_valid(const struct gda_shmem_peer *p, const void *dest,
				      uint32_t bytes, uint32_t op)
{
	return p && gda_shmem_is_word(dest, bytes) && op <= GDA_SHMEM_XOR;
}

/**
 * gda_shmem_atomic64 - change a 64-bit word of a PE
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_atomic64(struct gda_shmem *s, uint64_t *dest, uint32_t op,
				   uint64_t value, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, op)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	gda_shmem_apply64((uint64_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic32 - change a 32-bit word of a PE
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_atomic32(struct gda_shmem *s, uint32_t *dest, uint32_t op,
				   uint32_t value, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, op)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	gda_shmem_apply32((uint32_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic_fetch64 - change a 64-bit word of a PE, fetch what it was
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: out: what the word was
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h; the word may have changed if it is
 * -ETIMEDOUT or -ESHUTDOWN.
 */
GDA_API int gda_shmem_atomic_fetch64(struct gda_shmem *s, uint64_t *dest, uint32_t op,
				     uint64_t value, uint64_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, op)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_apply64((uint64_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic_fetch32 - change a 32-bit word of a PE, fetch what it was
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: out: what the word was
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_atomic_fetch32(struct gda_shmem *s, uint32_t *dest, uint32_t op,
				     uint32_t value, uint32_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, op)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_apply32((uint32_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_compare_swap64 - set a 64-bit word of a PE if it has a value
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @cond: the word is set if it equals this
 * @value: what it is set to
 * @old: out: what the word was
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_compare_swap64(struct gda_shmem *s, uint64_t *dest, uint64_t cond,
				     uint64_t value, uint64_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, GDA_SHMEM_SWAP)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	__atomic_compare_exchange_n((uint64_t *)(void *)at, &cond, value, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	*old = cond;
	return 0;
}

/**
 * gda_shmem_compare_swap32 - set a 32-bit word of a PE if it has a value
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @cond: the word is set if it equals this
 * @value: what it is set to
 * @old: out: what the word was
 * @pe: whose word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_compare_swap32(struct gda_shmem *s, uint32_t *dest, uint32_t cond,
				     uint32_t value, uint32_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	(void)flags;
	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, GDA_SHMEM_SWAP)))
		return -EINVAL;
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	__atomic_compare_exchange_n((uint32_t *)(void *)at, &cond, value, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	*old = cond;
	return 0;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_ATOMIC_H */
