// SPDX-License-Identifier: MIT
/*
 * Initializes views, and checks everything that the fast path relies on without a check.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <gda/queue.h>
#include "gda_internal.h"

#define GDA_DEFAULT_TIMEOUT_NS 1000000000U

/* The size of the first view of this soname; it only grows. */
#define GDA_VIEW_LEAST 512U

static_assert(sizeof(struct gda_view) >= GDA_VIEW_LEAST, "layout is ABI");
static_assert(offsetof(struct gda_view, owner) == 88, "layout is ABI");
static_assert(offsetof(struct gda_view, reserved) == 128, "layout is ABI");
static_assert(offsetof(struct gda_view, completed) == 256, "layout is ABI");
static_assert(offsetof(struct gda_view, deferred) == 384, "layout is ABI");

static int gda_aligned(const void *p, uintptr_t to)
{
	return p && (uintptr_t)p % to == 0;
}

static int gda_view_check(const struct gda_view_attr *attr)
{
	const struct {
		const char *name;
		const void *p;
		uintptr_t align;
	} parts[] = {
		{ "sq", attr->sq, 64 }, { "dbrec", attr->dbrec, 4 }, { "db", attr->db, 8 },
		{ "cq", attr->cq, 64 }, { "slots", attr->slots, 4 },
	};
	size_t i;

	if (!attr->depth || attr->depth & (attr->depth - 1))
		return gda_because(-EINVAL,
				   "depth %u is no power of two: set it to one, such as 64",
				   attr->depth);
	if (attr->depth > gda_wqe_max_depth(attr->dialect))
		return gda_because(-EINVAL, "depth %u: the most is %u", attr->depth,
				   gda_wqe_max_depth(attr->dialect));
	if (attr->qpn >> 24)
		return gda_because(-EINVAL,
				   "qpn %#x has more than 24 bits: pass that of gda_qp_query()",
				   attr->qpn);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!gda_aligned(parts[i].p, parts[i].align))
			return gda_because(-EINVAL,
					   "%s %p: set it to an address that is a multiple of %u bytes",
					   parts[i].name, parts[i].p, (unsigned int)parts[i].align);
	if (gda_cqe_unordered(attr->dialect) && !gda_aligned(attr->marks, 8))
		return gda_because(-EINVAL,
				   "marks %p: give it GDA_VIEW_MARKS_BYTES of zeros, aligned to 8 bytes",
				   attr->marks);
	/* a queue may fail as soon as it exists */
	if (!gda_cqe_is_preset(attr->dialect,
			       __atomic_load_n(gda_cqe_last(attr->dialect, (uintptr_t)attr->cq),
					       __ATOMIC_RELAXED)))
		return gda_because(-EPROTO,
				   "the entry at cq is not preset: set its bytes to 0xff before, those of a ring to 0");
	return 0;
}

int gda_view_fits(size_t size)
{
	if (size < GDA_VIEW_LEAST)
		return gda_because(-EINVAL,
				   "a view of %zu bytes is smaller than any version's: pass sizeof(struct gda_view)",
				   size);
	if (size > sizeof(struct gda_view))
		return gda_because(-E2BIG,
				   "the program's view has %zu bytes, the library's %zu: install a newer libgda",
				   size, sizeof(struct gda_view));
	return 0;
}

/* @attr is the library's copy; the caller's view has @size bytes. */
static void gda_view_fill(struct gda_view *v, size_t size, const struct gda_view_attr *attr)
{
	memset((void *)v, 0, size);
	v->size = (uint32_t)size;
	v->version = GDA_VIEW_VERSION;
	v->sq = (uintptr_t)attr->sq;
	v->dbrec = (uintptr_t)attr->dbrec;
	v->db = (uintptr_t)attr->db;
	v->cq = (uintptr_t)attr->cq;
	v->slots = (uintptr_t)attr->slots;
	v->marks = (uintptr_t)attr->marks;
	/* nobody, until the view is told */
	v->ah = (uint64_t)GDA_MAX_PEERS << 32;
	v->mask = attr->depth - 1;
	v->qpn = attr->qpn;
	v->qpn_be = gda_db_qpn(attr->dialect, attr->qpn);
	v->timeout_ns = attr->timeout_ns ? attr->timeout_ns : GDA_DEFAULT_TIMEOUT_NS;
	v->abort = (uintptr_t)&v->abort_word;
	v->error_index = GDA_NO_ERROR;
	v->dialect = attr->dialect;
	v->can = gda_wqe_can(attr->dialect);
	v->max_inline = gda_wqe_max_inline(attr->dialect, attr->depth);
	gda_view_share(v);
}

int gda_view_make(struct gda_view *v, size_t size, const struct gda_view_attr *attr)
{
	struct gda_view_attr a;
	int err = gda_view_fits(size);

	if (!err)
		err = gda_struct_read(&a, sizeof(a), GDA_THROUGH(struct gda_view_attr, slots),
				      attr);
	if (!err && !a.dialect)
		a.dialect = GDA_WQE_FIRST;
	if (!err)
		err = gda_dialect_check(&a.dialect);
	if (!err)
		err = gda_view_check(&a);
	if (!err)
		gda_view_fill(v, size, &a);
	return err;
}

GDA_EXPORT int gda_view_init_sized(struct gda_view *v, size_t size,
				   const struct gda_view_attr *attr)
{
	return gda_called(gda_view_make(v, size, attr), "gda_view_init", "%p", (void *)v);
}

GDA_EXPORT void gda_view_share(struct gda_view *v)
{
	memset((void *)(uintptr_t)v->slots, 0, ((size_t)v->mask + 1) * sizeof(uint32_t));
	v->exclusive_done = GDA_NOT_EXCLUSIVE;
	*gda_slot(v, v->reserved) = gda_slot_word(v->reserved, GDA_SLOT_HEAD);
}
