/* SPDX-License-Identifier: MIT */
/*
 * The reader of completion entries of the mlx5 dialect, for CPUs and GPUs: collapsed CQs, and
 * rings. Included by gda/wqe/mlx5.h.
 *
 * @last is the last word of an entry, as stored. An executor writes it last, in one store, so a
 * load of it with acquire order makes the rest of the entry and the moved data visible.
 */
#ifndef GDA_WQE_MLX5_CQE_H
#define GDA_WQE_MLX5_CQE_H

#include <gda/wqe/mlx5.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

GDA_HELPER const uint32_t *gda_mlx5_cqe_last(uint64_t cqe)
{
	return (const uint32_t *)(uintptr_t)(cqe + offsetof(struct gda_mlx5_cqe, wqe_counter));
}

GDA_HELPER uint32_t gda_mlx5_cqe_opcode(uint32_t last)
{
	return gda_be_byte3(last) >> 4;
}

/* The entry says that work of this queue is done. */
GDA_HELPER int gda_mlx5_cqe_is_done(uint32_t last)
{
	return gda_mlx5_cqe_opcode(last) == GDA_MLX5_CQE_REQ;
}

/* The entry says that work of this queue has failed. */
GDA_HELPER int gda_mlx5_cqe_is_error(uint32_t last)
{
	return gda_mlx5_cqe_opcode(last) == GDA_MLX5_CQE_REQ_ERR;
}

/* The entry says that an immediate has arrived. */
GDA_HELPER int gda_mlx5_cqe_is_imm(uint32_t last)
{
	return gda_mlx5_cqe_opcode(last) == GDA_MLX5_CQE_RESP_IMM;
}

/* Low 16 bits of the index that has completed. */
GDA_HELPER uint32_t gda_mlx5_cqe_counter(uint32_t last)
{
	return gda_wire32(last) >> 16;
}

/*
 * The consumer index from the low 16 bits of the last completed index. @old is an earlier value: at
 * most depth slots have completed since, and depth is at most 2^15, so only one index fits.
 */
GDA_HELPER uint64_t gda_mlx5_cqe_unwrap(uint64_t old, uint32_t last)
{
	return old + (uint16_t)(gda_mlx5_cqe_counter(last) + 1 - (uint32_t)old);
}

/* Slots before @rung that have not completed: at most a ring of them. */
GDA_HELPER uint32_t gda_mlx5_cqe_behind(uint64_t rung, uint32_t last)
{
	return (uint16_t)((uint32_t)rung - gda_mlx5_cqe_counter(last) - 1);
}

/*
 * Store the first error in the view; all threads that see it store the same. Return: 1 if the
 * entry, whose counter is @counter, names the slot that failed first.
 */
GDA_HELPER uint32_t gda_mlx5_cqe_error(struct gda_view *v, uint32_t counter)
{
	const char *cqe = (const char *)(uintptr_t)v->cq;
	__be64 first = (GDA_UAPI_FORCE __be64)gda_nic_load64((const uint64_t *)
		(cqe + offsetof(struct gda_mlx5_err_cqe, first_error)));
	/* first syndrome and vendor, then vendor and syndrome of this entry */
	uint32_t why = gda_be32_to_cpu((GDA_UAPI_FORCE __be32)gda_nic_load32((const uint32_t *)
		(cqe + offsetof(struct gda_mlx5_err_cqe, first_syndrome))));
	uint64_t failed = gda_be64_to_cpu(first);

	gda_store_relaxed64(&v->error, why >> 24 | (why >> 8 & 0xff00));
	gda_store_release64(&v->error_index, failed);
	return (why & 0xff) != GDA_MLX5_SYND_WR_FLUSH && (uint16_t)failed == counter;
}

/*
 * The consumer index according to an entry of a view's collapsed CQ; @old is the earlier value.
 * *@failed becomes 1 if the queue has failed, and the view then has the place; else 0.
 *
 * An entry that names the slot that failed first does not consume it: a queue that fails while it
 * is empty names the next slot, which is consumed only when it was posted and flushed. Entries of
 * flushed work behind it do consume it.
 */
GDA_HELPER uint64_t gda_mlx5_cqe_completed(struct gda_view *v, uint32_t last, uint64_t old,
					   int *failed)
{
	uint32_t opcode = gda_mlx5_cqe_opcode(last);
	uint64_t now = gda_mlx5_cqe_unwrap(old, last);

	*failed = opcode == GDA_MLX5_CQE_REQ_ERR;
	if (opcode == GDA_MLX5_CQE_REQ)
		return now;
	if (!*failed)
		return old;
	return now - gda_mlx5_cqe_error(v, gda_mlx5_cqe_counter(last));
}

/* Is the entry of a collapsed CQ still preset, with nothing completed? */
GDA_HELPER int gda_mlx5_cqe_is_preset(uint32_t last)
{
	return gda_mlx5_cqe_opcode(last) == GDA_MLX5_CQE_INVALID &&
	       gda_mlx5_cqe_counter(last) == 0xffff;
}

/* Copy everything that gda_mlx5_cqe_error() reads from an error's entry, except the last word. */
GDA_HELPER void gda_mlx5_cqe_copy_error(char *to, const char *cqe)
{
	const size_t at = offsetof(struct gda_mlx5_err_cqe, first_error);
	size_t i;

	for (i = at; i < at + 16; i += 8)
		gda_store_relaxed64((uint64_t *)(uintptr_t)(to + i),
				    gda_nic_load64((const uint64_t *)(uintptr_t)(cqe + i)));
}

/*
 * Write an error entry for a queue that has failed at index 0, with enum gda_cause @cause. A child
 * of fork(2) gets it in place of its parent's entry.
 */
GDA_HELPER void gda_mlx5_cqe_write_error(void *cqe, uint8_t cause)
{
	struct gda_mlx5_err_cqe failed;

	memset(&failed, 0, sizeof(failed));
	failed.first_syndrome = GDA_MLX5_WQE_CQE_QUEUE_ERROR;
	failed.first_vendor = cause;
	failed.vendor_err_synd = cause;
	failed.syndrome = GDA_MLX5_WQE_CQE_QUEUE_ERROR;
	failed.op_own = GDA_MLX5_CQE_REQ_ERR << 4;
	memcpy(cqe, &failed, sizeof(failed));
}

/* In a ring: is the entry with @last the one for @index, rather than one of the previous lap? */
GDA_HELPER int gda_mlx5_cqe_is_new(uint32_t last, uint64_t index, uint32_t mask)
{
	uint32_t owner = (index & ((uint64_t)mask + 1)) != 0;

	return (gda_be_byte3(last) & 1) == owner &&
	       gda_mlx5_cqe_opcode(last) != GDA_MLX5_CQE_INVALID;
}

/* The word at @offset of an entry. */
GDA_HELPER uint32_t gda_mlx5_cqe_word(const char *cqe, size_t offset)
{
	return gda_wire32(gda_nic_load32((const uint32_t *)(uintptr_t)(cqe + offset)));
}

GDA_HELPER uint32_t gda_mlx5_cqe_qpn(const char *cqe)
{
	return gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_cqe, sop_qpn)) & 0xffffff;
}

/* Decode an entry of a ring. The caller sets @entry->size. */
GDA_HELPER void gda_mlx5_cqe_read(const char *cqe, uint32_t last, struct gda_cq_entry *entry)
{
	uint32_t word = gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_cqe, sop_qpn));

	entry->qpn = word & 0xffffff;
	entry->wr_opcode = word >> 24;
	entry->opcode = gda_mlx5_cqe_opcode(last);
	entry->counter = gda_mlx5_cqe_counter(last);
	entry->solicited = gda_be_byte3(last) >> 1 & 1;
	entry->imm = gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_cqe, imm));
	entry->user_index = gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_cqe, srqn_uidx));
	entry->bytes = 0;
	entry->syndrome = 0;
	entry->vendor = 0;
	if (entry->opcode < GDA_MLX5_CQE_REQ_ERR) {
		entry->bytes = gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_cqe, byte_cnt));
	} else {
		word = gda_mlx5_cqe_word(cqe, offsetof(struct gda_mlx5_err_cqe, first_syndrome));
		entry->syndrome = word & 0xff;
		entry->vendor = word >> 8 & 0xff;
	}
}

/* The consumer index record of a ring after @next entries were taken, as stored. */
GDA_HELPER uint32_t gda_mlx5_cqe_record(uint64_t next)
{
	return gda_wire32((uint32_t)next & 0xffffff);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_WQE_MLX5_CQE_H */
