/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Rings of records (gda/record.h), for any host of the engine. Portable like the engine.
 *
 * A context always has a ring of control events and errors, and optionally a work ring of all
 * events. Any thread writes to either without a lock. An atomic add hands out a position; the
 * writer then claims the record at that position by an exchange of its seq. A writer drops its
 * record if the old one is still being written, or if a writer of a later lap came first. So no
 * writer waits, and no record mixes two writers.
 *
 * User space maps the records of a work ring read-only; @next is not mapped.
 */
#ifndef GDA_CONTROL_RECORD_H
#define GDA_CONTROL_RECORD_H

#include "engine.h"

/**
 * struct gda_record_ring - a ring of records
 * @records: zeroed at first
 * @mask: the number of records, less 1
 * @next: the position that the next writer gets
 */
struct gda_record_ring {
	struct gda_record *records;
	u32 mask;
	u64 next;
};

/**
 * struct gda_record_rings - the rings of a context
 * @control: control events and errors, GDA_RECORD_MIN records
 * @work: &@ring, or NULL if work is not recorded; writers read the pointer once
 * @ring: the work ring, valid while @work points to it
 */
struct gda_record_rings {
	struct gda_record_ring control;
	struct gda_record_ring *work;
	struct gda_record_ring ring;
};

/**
 * gda_record_publish - begin to record all work
 * @rings: rings without a work ring
 * @records: memory of the work ring, zeroed
 * @n: how many
 *
 * The work ring begins with a copy of the ring of control events.
 */
void gda_record_publish(struct gda_record_rings *rings, struct gda_record *records, u32 n);

/**
 * gda_record_withdraw - stop recording work
 * @rings: rings with a work ring; the host waits for its writers before it frees the memory
 */
void gda_record_withdraw(struct gda_record_rings *rings);

/**
 * gda_record_visit - note at the start of a visit whether the queue's work is recorded
 * @rings: of the queue's context
 * @q: the queue, which the caller visits
 *
 * Return: whether its work is recorded, so that the host reads the clock.
 */
static inline bool gda_record_visit(const struct gda_record_rings *rings, struct gda_engine_qp *q)
{
	bool on = READ_ONCE(rings->work);

	if (likely(!(on | q->record)))
		return false;
	q->record = (u8)((q->record & GDA_ENGINE_SELECTS) | (on ? GDA_ENGINE_RECORD : 0));
	return on;
}

/**
 * gda_record_write - write one record
 * @ring: the ring
 * @r: the record without its seq
 */
void gda_record_write(struct gda_record_ring *ring, const struct gda_record *r);

/**
 * gda_record_read - read the record at a position
 * @records: of the ring
 * @mask: the number of records, less 1
 * @pos: the position
 * @r: out
 *
 * Return: 1; 0 not written yet; -EOVERFLOW overwritten, or never to be written.
 */
int gda_record_read(const struct gda_record *records, u32 mask, u64 pos, struct gda_record *r);

/**
 * gda_record_copy - copy the newest records of a ring, oldest first
 * @ring: the ring; writers may continue meanwhile
 * @to: room for @n
 * @n: how many records at most
 *
 * Return: how many were copied.
 */
u32 gda_record_copy(struct gda_record_ring *ring, struct gda_record *to, u32 n);

/**
 * gda_record_keep - write a record to the rings of a context that take its kind
 * @rings: the rings; @rings->work is not freed during the call
 * @r: the record without its seq
 */
void gda_record_keep(struct gda_record_rings *rings, const struct gda_record *r);

/**
 * gda_record_wanted - would gda_record_keep() write a record of this kind?
 * @rings: the rings
 * @kind: enum gda_record_kind
 *
 * Return: whether any ring takes it. The host reads the clock only then.
 */
bool gda_record_wanted(const struct gda_record_rings *rings, u8 kind);

/**
 * gda_record_mem - make the record of an MR
 * @mem: the MR; its key may be set meanwhile
 * @kind: %GDA_RECORD_REGISTERED or %GDA_RECORD_REVOKED
 * @cause: enum gda_cause
 *
 * Return: the record without seq and ns.
 */
struct gda_record gda_record_mem(const struct gda_mem *mem, u8 kind, u8 cause);

/**
 * gda_control_check_record - check the size of a record ring
 * @records: the number of records that GDA_IOC_RECORD asks for
 *
 * Return: 0; -EINVAL.
 */
int gda_control_check_record(u32 records);

#endif /* GDA_CONTROL_RECORD_H */
