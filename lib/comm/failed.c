// SPDX-License-Identifier: MIT
/*
 * Explains why a call of a communicator failed: by the hub's text, if there is one, or from the
 * states of the ranks.
 */
#include <errno.h>
#include <stdio.h>
#include "comm_internal.h"

/* Write the list of ranks whose state is @err to @names, like "1, 3". Return: how many they are. */
static uint32_t gda_comm_why_ranks(const struct gda_comm *comm, int err, char *names, size_t size)
{
	uint32_t rank, n = 0;
	size_t at = 0;

	names[0] = 0;
	for (rank = 0; rank < comm->nranks; rank++) {
		if (comm->states[rank] != err)
			continue;
		n++;
		if (at < size - 16)
			at += (size_t)sprintf(names + at, "%s%u", at ? ", " : "", rank);
	}
	if (at >= size - 16)
		sprintf(names + at, " ...");
	return n;
}

int gda_comm_why_rank(const struct gda_comm *comm, int err)
{
	uint32_t rank;

	if (comm->failed >= 0 && comm->states[comm->failed] == err)
		return comm->failed;
	for (rank = 0; rank < comm->nranks; rank++)
		if (comm->states[rank] == err)
			return (int)rank;
	return -1;
}

static int gda_comm_why_died(const struct gda_comm *comm, int err, int rank)
{
	/*
	 * ranks that ended after the first one may only have given up because they were told of it
	 */
	if (!comm->welcome)
		return gda_because(err,
				   "a rank died before all %u had joined, its own output says why: %d",
				   comm->nranks, rank);
	return gda_because(err,
			   "rank %d of %u died, or ended without gda_comm_destroy(): its output, or gda-run's, says which; start all ranks again",
			   rank, comm->nranks);
}

static int gda_comm_why_late(const struct gda_comm *comm, int err)
{
	char names[128];
	uint32_t n = gda_comm_why_ranks(comm, err, names, sizeof(names));

	if (!n)
		return err;
	if (!comm->welcome)
		return gda_because(err,
				   "%u of %u ranks did not join in time, their own output may say why: %s",
				   n, comm->nranks, names);
	return gda_because(err,
			   "%u of %u ranks did not make this call in time: rank %s (it is late, stopped, or in another call: all ranks make the same calls; a larger timeout_ns waits longer)",
			   n, comm->nranks, names);
}

int gda_comm_why(const struct gda_comm *comm, int err)
{
	/* a rank that never reached rank 0 has no error of its own yet */
	int rank = comm->error ? comm->blamed : gda_comm_why_rank(comm, err);

	if (comm->why[0] && err == comm->error)
		return gda_because(err, "%s", comm->why);
	switch (err) {
	case -ECONNRESET:
		return rank < 0 ? err : gda_comm_why_died(comm, err, rank);
	case -ETIMEDOUT:
		return gda_comm_why_late(comm, err);
	case -ESHUTDOWN:
		return rank < 0 ? err :
		       gda_because(err,
				   "rank %d of %u has left by gda_comm_destroy(): let all ranks make the same calls before",
				   rank, comm->nranks);
	default:
		return err;
	}
}
