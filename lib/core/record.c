// SPDX-License-Identifier: MIT
/*
 * Reading records (gda/record.h): of a context, which the device writes, and of this program,
 * which the posts and waits of a program compiled with GDA_RECORD write.
 *
 * A reader keeps its position; each record in the ring has its number. A reader that was lapped
 * continues half a ring behind the newer record that it found, so that it is not lapped again at
 * once.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

struct gda_record_reader {
	struct gda_context *ctx;	/* NULL: of the program's ring */
	struct gda_region *region;
	const struct gda_record *records;
	uint32_t mask;
	uint64_t pos;
};

/* Begin with the oldest record in the ring. */
static void gda_reader_rewind(struct gda_record_reader *r)
{
	uint64_t oldest = 0;
	uint32_t i;

	for (i = 0; i <= r->mask; i++) {
		uint64_t seq = __atomic_load_n(&r->records[i].seq, __ATOMIC_RELAXED);

		if (seq && !(seq & GDA_RECORD_BUSY) && (!oldest || seq < oldest))
			oldest = seq;
	}
	r->pos = oldest ? oldest - 1 : 0;
}

/* Skip the record at r->pos, which was overwritten or will never be written. */
static void gda_reader_skip(struct gda_record_reader *r)
{
	uint64_t seq = __atomic_load_n(&r->records[r->pos & r->mask].seq, __ATOMIC_RELAXED);

	seq &= ~GDA_RECORD_BUSY;
	if (seq > r->pos + 1 && seq - 1 - r->mask / 2 > r->pos)
		r->pos = seq - 1 - r->mask / 2;
	else
		r->pos++;
}

/* Count a reader in or out; the device records while there is one. ctx->lock orders the calls. */
static int gda_reader_start(struct gda_context *ctx, struct gda_record_set *arg)
{
	int err;

	pthread_mutex_lock(&ctx->lock);
	err = gda_ioctl(ctx, GDA_IOC_RECORD, arg);
	ctx->recorders += !err;
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

static void gda_reader_stop(struct gda_context *ctx)
{
	struct gda_record_set off = { .size = sizeof(off) };

	pthread_mutex_lock(&ctx->lock);
	/* fails after a shutdown, which has stopped the recorder */
	if (!--ctx->recorders)
		gda_ioctl(ctx, GDA_IOC_RECORD, &off);
	pthread_mutex_unlock(&ctx->lock);
}

/* ctx->lock is not held. After a failure this reader has switched nothing on. */
static int gda_reader_attach(struct gda_record_reader *r, uint32_t records)
{
	struct gda_record_set arg = { .size = sizeof(arg), .records = records };
	void *part;
	int err = gda_reader_start(r->ctx, &arg);

	if (err)
		return err;
	err = gda_region_get(r->ctx, &arg.ring, &r->region, &part);
	if (err) {
		gda_reader_stop(r->ctx);
		return err;
	}
	r->records = part;
	r->mask = arg.records - 1;
	return 0;
}

static int gda_why_record(int err, uint32_t records)
{
	if (err == -EINVAL)
		gda_because(err, "records %u: set it to a power of two from %u to %u", records,
			    GDA_RECORD_MIN, GDA_RECORD_MAX);
	else if (err == -EOPNOTSUPP || err == -ENOTTY)
		gda_because(err,
			    "the device keeps no records of work: use soft0 or the in-process device");
	return err;
}

static int gda_reader_new(struct gda_context *ctx, uint32_t records,
			  struct gda_record_reader **reader)
{
	struct gda_record_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->ctx = ctx;
	if (!records && ctx)
		err = -EINVAL;
	else if (ctx)
		err = gda_reader_attach(r, records);
	else
		err = gda_program_ring_get(records, &r->records, &r->mask);
	if (err) {
		free(r);
		return gda_why_record(err, records);
	}
	gda_reader_rewind(r);
	*reader = r;
	return 0;
}

GDA_EXPORT int gda_record_open(struct gda_context *ctx, uint32_t records,
			       struct gda_record_reader **reader)
{
	return gda_called(gda_reader_new(ctx, records, reader), "gda_record_open",
			  "fd %d, records %u", ctx ? ctx->fd : -1, records);
}

GDA_EXPORT int gda_record_next(struct gda_record_reader *reader, struct gda_record *record)
{
	struct gda_record copy;
	int ret = gda_record_at(reader->records, reader->mask, reader->pos, &copy);

	if (ret < 0)
		gda_reader_skip(reader);
	if (ret <= 0)
		return ret;
	reader->pos++;
	*record = copy;
	return 1;
}

GDA_EXPORT void gda_record_close(struct gda_record_reader *reader)
{
	if (!reader)
		return;
	if (reader->ctx) {
		gda_region_put(reader->ctx, reader->region);
		gda_reader_stop(reader->ctx);
	}
	free(reader);
}

GDA_EXPORT void gda_record_posted(const struct gda_view *v, uint64_t index, uint32_t n)
{
	while (n) {
		struct gda_record r;

		gda_entry_read(v, index, n, &r);
		r.kind = GDA_RECORD_POSTED;
		gda_program_ring_write(&r);
		if (!r.aux || r.aux > n)
			break;
		index += r.aux;
		n -= r.aux;
	}
}

GDA_EXPORT void gda_record_observed(const struct gda_view *v, int64_t ticket, int done)
{
	struct gda_record r = {
		.kind = GDA_RECORD_OBSERVED,
		.ticket = (uint64_t)ticket,
		.qpn = v->qpn,
		.aux = done < 0 ? (uint32_t)-done : 0,
	};

	if (ticket >= 0)
		gda_program_ring_write(&r);
}

GDA_EXPORT int gda_entry_decode(const struct gda_view *v, uint64_t index, uint32_t slots,
				struct gda_record *record)
{
	if (!slots || slots > v->mask + 1)
		return -EINVAL;
	gda_entry_read(v, index, slots, record);
	return 0;
}
