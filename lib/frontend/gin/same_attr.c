// SPDX-License-Identifier: MIT
/*
 * Agreement of all ranks when a communicator is created: on its attributes, and on how many ranks a
 * local team has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gin_internal.h"

int gda_gin_local(struct gda_comm *ranks, uint32_t *local)
{
	uint32_t n = gda_comm_size(ranks);
	struct gda_comm *machine;
	uint32_t own[2], *all, i;
	int err = gda_comm_split_machine(ranks, 0, &machine);

	if (err)
		return gda_because_last(err);
	own[0] = gda_comm_size(machine);
	own[1] = gda_comm_rank(machine);
	gda_comm_destroy(machine);
	all = calloc(n, sizeof(own));
	if (!all)
		return gda_comm_agree(ranks, -ENOMEM);
	err = gda_comm_exchange(ranks, own, sizeof(own), all);
	*local = own[0];
	for (i = 0; i < n; i++)
		if (all[2 * i] != own[0] || all[2 * i + 1] != i % own[0])
			*local = 1;
	free(all);
	return err;
}

static int gda_gin_attr_ranges(const struct gda_gin_attr *a, uint32_t nranks)
{
	const struct gda_range ranges[] = {
		{ "contexts", a->contexts, 1024 },
		{ "depth", a->depth, 32768 },
		{ "sharing", a->sharing, GDA_GIN_SHARE_THREAD },
		{ "connect", a->connect, GDA_GIN_NONE },
		{ "signals", a->signals, 1U << 20 },
		{ "counters", a->counters, GDA_GIN_MAX_COUNTERS },
		{ "barriers", a->barriers, 4096 },
		{ "reserved2", a->reserved2, 0 },
	};
	int err = gda_ranges_check(ranges, sizeof(ranges) / sizeof(ranges[0]));

	if (err)
		return err;
	if (a->depth && (a->depth < 4 || a->depth & (a->depth - 1)))
		return gda_because(-EINVAL,
				   "depth %u: set it to 4, 8, 16 or a higher power of two",
				   a->depth);
	if (a->connect == GDA_GIN_STRIDE && !a->stride)
		return gda_because(-EINVAL,
				   "connect is GDA_GIN_STRIDE, and stride is 0: set it to a divisor of the ranks");
	if (a->stride && nranks % a->stride)
		return gda_because(-EINVAL,
				   "stride %u does not divide %u ranks: set it to a divisor of them",
				   a->stride, nranks);
	if (a->local && nranks % a->local)
		return gda_because(-EINVAL,
				   "local %u does not divide %u ranks: set it to a divisor of them",
				   a->local, nranks);
	return 0;
}

/* Refuse, by name, a requirement that signals by arrival cannot meet. */
static int gda_gin_attr_needs(const struct gda_gin_attr *a)
{
	static const struct {
		uint32_t flag;
		const char *why;
	} needs[] = {
		{ GDA_GIN_NEED_STRONG, "GDA_GIN_NEED_STRONG: signals by arrival are weak" },
		{ GDA_GIN_NEED_ADD, "GDA_GIN_NEED_ADD: signals by arrival take Inc alone" },
		{ GDA_GIN_NEED_VA, "GDA_GIN_NEED_VA: words of windows are no arrivals" },
		{ GDA_GIN_EPOCHS, "GDA_GIN_EPOCHS: signals by arrival have no epochs" },
	};
	size_t i;

	if (a->flags & ~(GDA_GIN_ARRIVAL | GDA_GIN_NEED_STRONG | GDA_GIN_NEED_ADD |
			 GDA_GIN_NEED_VA | GDA_GIN_CHECKED | GDA_GIN_SIGNALS_GPU |
			 GDA_GIN_EPOCHS))
		return gda_because(-EOPNOTSUPP,
				   "flags %#x has unknown bits: clear them, or install a newer libgda",
				   a->flags);
	for (i = 0; a->flags & GDA_GIN_ARRIVAL && i < sizeof(needs) / sizeof(needs[0]); i++)
		if (a->flags & needs[i].flag)
			return gda_because(-EOPNOTSUPP, "%s: leave out GDA_GIN_ARRIVAL",
					   needs[i].why);
	return 0;
}

struct gda_gin_vote {
	struct gda_gin_attr attr;
	int32_t err;
};

int gda_gin_agree_attr(struct gda_comm *ranks, const struct gda_gin_attr *attr, int err)
{
	struct gda_gin_vote own = { .attr = *attr }, *all;
	uint32_t n = gda_comm_size(ranks), i;
	int failed;

	if (!err)
		err = gda_gin_attr_ranges(attr, n);
	if (!err)
		err = gda_gin_attr_needs(attr);
	own.err = err;
	/* each rank's own matter */
	own.attr.cuda = NULL;
	own.attr.place = 0;
	own.attr.dialect = gda_cqe_unordered(attr->dialect) ? attr->dialect : 0;
	all = calloc(n, sizeof(*all));
	if (!all)
		return gda_comm_agree(ranks, -ENOMEM);
	failed = gda_comm_exchange(ranks, &own, sizeof(own), all);
	err = err ? err : failed;
	for (i = 0; !err && i < n; i++) {
		if (all[i].err)
			err = gda_because(all[i].err, "rank %u: %s", i, gda_strerror(all[i].err));
		else if (memcmp(&all[i].attr, &own.attr, sizeof(own.attr)))
			err = gda_because(-EINVAL,
					  "rank %u has other attributes than rank %u: give all ranks the same",
					  i, gda_comm_rank(ranks));
	}
	free(all);
	return err;
}
