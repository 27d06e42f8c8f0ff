/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rings of records (gda/record.h), for any host of the engine. Portable like the engine.
 *
 * A context has a ring of control events and errors, always, and perhaps one of all that
 * happens. Any thread writes to either without a lock: one atomic add hands out a position, and
 * whoever has it claims the record there, by its seq, from the position a lap before. A writer
 * that finds that one still being written, or was itself overtaken, drops its record: nobody
 * waits, and no record is ever of two writers.
 *
 * User space maps the records of a work ring read-only; @next is nowhere but here.
 */
#ifndef GDA_CONTROL_RECORD_H
#define GDA_CONTROL_RECORD_H

#include "engine.h"

/**
 * struct gda_record_ring - a ring of records
 * @records: zero at first
 * @mask: how many there are, less 1
 * @next: the position that is handed out next
 */
struct gda_record_ring {
	struct gda_record *records;
	u32 mask;
	u64 next;
};

/**
 * struct gda_record_rings - the rings of a context
 * @control: of control events and errors, GDA_RECORD_MIN records
 * @work: of everything: &@ring, or NULL; writers read it once
 * @ring: while @work points to it
 */
struct gda_record_rings {
	struct gda_record_ring control;
	struct gda_record_ring *work;
	struct gda_record_ring ring;
};

/**
 * gda_record_publish - have all work recorded
 * @rings: there is no ring of work
 * @records: memory of the ring, zero
 * @n: how many
 *
 * The ring begins with what is in that of control events.
 */
void gda_record_publish(struct gda_record_rings *rings, struct gda_record *records, u32 n);

/**
 * gda_record_withdraw - have work not recorded any more
 * @rings: there is a ring of work; the host waits for its writers before it frees the memory
 */
void gda_record_withdraw(struct gda_record_rings *rings);

/**
 * gda_record_visit - a visit of a queue begins
 * @rings: of the queue's context
 * @q: the queue, in the hands of the caller
 *
 * Return: whether its work is recorded, so that the host notes the time.
 */
static inline bool gda_record_visit(const struct gda_record_rings *rings, struct gda_engine_qp *q)
{
	bool on = READ_ONCE(rings->work);

	if (likely(!(on | q->record)))
		return false;
	q->record = on;
	return on;
}

/**
 * gda_record_write - write one record
 * @ring: the ring
 * @r: all but its seq
 */
void gda_record_write(struct gda_record_ring *ring, const struct gda_record *r);

/**
 * gda_record_read - read the record of a position
 * @records: of the ring
 * @mask: how many, less 1
 * @pos: the position
 * @r: out
 *
 * Return: 1; 0 it is not written yet; -EOVERFLOW it is gone, or will never be written.
 */
int gda_record_read(const struct gda_record *records, u32 mask, u64 pos, struct gda_record *r);

/**
 * gda_record_copy - copy the newest records of a ring, the oldest of them first
 * @ring: the ring; writers may go on
 * @to: room for @n
 * @n: most records
 *
 * Return: how many were copied.
 */
u32 gda_record_copy(struct gda_record_ring *ring, struct gda_record *to, u32 n);

/**
 * gda_record_keep - write a record to the rings of a context that take its kind
 * @rings: the rings; @rings->work is not freed during the call
 * @r: all but its seq
 */
void gda_record_keep(struct gda_record_rings *rings, const struct gda_record *r);

/**
 * gda_record_wanted - would gda_record_keep() write a record of this kind?
 * @rings: the rings
 * @kind: enum gda_record_kind
 *
 * Return: whether any ring takes it. The host then reads the clock for it.
 */
bool gda_record_wanted(const struct gda_record_rings *rings, u8 kind);

/**
 * gda_record_mem - make the record of an MR
 * @mem: the MR; its key may be set meanwhile
 * @kind: %GDA_RECORD_REGISTERED or %GDA_RECORD_REVOKED
 * @cause: enum gda_cause
 *
 * Return: all of it but seq and ns.
 */
struct gda_record gda_record_mem(const struct gda_mem *mem, u8 kind, u8 cause);

/**
 * gda_control_check_record - may a ring have so many records?
 * @records: as GDA_IOC_RECORD asks
 *
 * Return: 0; -EINVAL.
 */
int gda_control_check_record(u32 records);

#endif /* GDA_CONTROL_RECORD_H */
