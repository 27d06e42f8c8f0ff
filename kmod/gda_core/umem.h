/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parts of queues in memory of the caller (umem.c): a part of gda_private.h. All but ->revoked,
 * which exporters set, is under ctx->lock.
 */
#ifndef GDA_UMEM_H
#define GDA_UMEM_H

/*
 * Where a queue lies: addresses in the calling process, or offsets in umems that it has registered.
 * Entries may be missing if none are posted. @recv: the receive queue of a QP.
 */
struct gda_umem_addresses {
	u64 entries;
	u64 record;
	u64 recv;
	u32 entries_umem;		/* handle, or 0 */
	u32 record_umem;
	u32 recv_umem;
	u32 recv_depth;
	u32 recv_shift;			/* log2 of an entry's bytes */
	u8 wide;			/* of a CQ: gda_engine_cq.wide */
};

struct gda_umem_whole;

struct gda_umem {
	struct gda_mem_backing backing;
	struct gda_object *obj;		/* whose part it is */
	/* the memory is being revoked: from now on readers see @revoked */
	void (*revoked_cb)(struct gda_umem *umem);
	struct list_head node;		/* in ctx->umems */
	struct gda_umem_whole *whole;	/* this is a part of it, without a @backing; or NULL */
	struct list_head part;		/* in whole->parts */
	void *addr;			/* NULL: the caller gave no memory */
	void *map;			/* of several pages, or NULL */
	u32 length;
	bool revoked;
};

void gda_umem_init(struct gda_umem *umem, struct gda_object *obj,
		   void (*revoked_cb)(struct gda_umem *umem));
int gda_umem_check(const struct gda_queue_memory *mem, bool given);
int gda_umem_get(struct gda_umem *umem, const struct gda_queue_memory *mem, u32 length,
		 u32 align);
int gda_umem_get_user(struct gda_umem *umem, u64 addr, u32 length, u32 align);
int gda_umem_get_at(struct gda_umem *umem, u32 handle, u64 at, u32 length, u32 align);
int gda_umem_get_both(struct gda_umem *entries, struct gda_umem *rec,
		      const struct gda_umem_addresses *user, u32 length, u32 align);
void gda_umem_put(struct gda_umem *umem);
int gda_umem_insert(struct gda_umem *umem);
void gda_umem_remove(struct gda_umem *umem);
int gda_umem_clear(struct gda_umem *umem);

/* whole.c */
int gda_umem_get_part(struct gda_umem *umem, u32 handle, u64 offset, u32 length, u32 align);
void gda_umem_put_part(struct gda_umem *umem);
bool gda_umem_part_fixed(const struct gda_umem *umem);

#endif /* GDA_UMEM_H */
