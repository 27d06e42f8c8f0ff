// SPDX-License-Identifier: MIT
/*
 * Splits a communicator. The first rank of each part makes an id; all ids are sent to all ranks,
 * and each rank uses that of its part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gda/barrier.h>
#include "comm_internal.h"

struct gda_comm_vote {
	uint32_t color;
	int32_t err;
	struct gda_comm_id id;
};

/* How many of the ranks before @end have this rank's color. */
static uint32_t gda_comm_count(const struct gda_comm_vote *votes, uint32_t end, uint32_t color)
{
	uint32_t i, n = 0;

	for (i = 0; i < end; i++)
		n += votes[i].color == color;
	return n;
}

static int gda_comm_part(struct gda_comm *comm, const struct gda_comm_vote *votes,
			 uint64_t deadline, struct gda_comm **part)
{
	uint32_t color = votes[comm->rank].color, first = 0;
	struct gda_comm_attr attr = {
		.size = sizeof(attr),
		.rank = gda_comm_count(votes, comm->rank, color),
		.nranks = gda_comm_count(votes, comm->nranks, color),
	};
	uint64_t now = gda_clock_ns();

	while (votes[first].color != color)
		first++;
	if (votes[first].err)
		return gda_because(votes[first].err,
				   "rank %u cannot listen for the ranks of color %u: %s",
				   first, color, gda_strerror(votes[first].err));
	attr.id = &votes[first].id;
	attr.timeout_ns = deadline > now ? deadline - now : 1;
	return gda_because_last(gda_comm_create(&attr, part));
}

static int gda_comm_divide(struct gda_comm *comm, uint32_t color, uint64_t deadline,
			   struct gda_comm **part)
{
	struct gda_comm_vote *votes = calloc(comm->nranks, sizeof(*votes));
	struct gda_comm_vote own = { .color = color };
	struct gda_comm *made = NULL;
	int err;

	if (!votes)
		return -ENOMEM;
	if (!deadline)
		deadline = gda_comm_after(gda_clock_ns(), comm->timeout_ns);
	/* the first rank of a part is known only when all colors are */
	err = gda_because_last(gda_comm_allgather(comm, &own, sizeof(own), votes, deadline));
	if (err)
		goto out;
	if (color != GDA_COMM_NO_COLOR && !gda_comm_count(votes, comm->rank, color) &&
	    gda_comm_count(votes, comm->nranks, color) > 1)
		own.err = gda_comm_id_listen(&comm->address, &own.id);
	/* all ranks of the part report the reason from its first rank's vote */
	gda_forget_reason();
	err = gda_because_last(gda_comm_allgather(comm, &own, sizeof(own), votes, deadline));
	if (!err && color != GDA_COMM_NO_COLOR)
		err = gda_comm_part(comm, votes, deadline, &made);
	if (!err) {
		if (made)
			made->timeout_ns = comm->timeout_ns;
		*part = made;
	}
	/* the part was not created: its ranks, which have the id, find a closed port */
	if (err && own.id.text[0])
		gda_comm_id_forget(&own.id);
out:
	free(votes);
	return err;
}

GDA_EXPORT int gda_comm_split(struct gda_comm *comm, uint32_t color, uint64_t deadline,
			      struct gda_comm **part)
{
	return gda_called(gda_comm_divide(comm, color, deadline, part), "gda_comm_split",
			  "%p, %u", (void *)comm, color);
}

int gda_machine_name(char name[GDA_MACHINE_BYTES])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	memset(name, 0, GDA_MACHINE_BYTES);
	if (fd < 0)
		return -errno;
	n = read(fd, name, GDA_MACHINE_BYTES);
	close(fd);
	return n == GDA_MACHINE_BYTES ? 0 : -EIO;
}

GDA_EXPORT int gda_comm_split_machine(struct gda_comm *comm, uint64_t deadline,
				      struct gda_comm **part)
{
	char (*names)[GDA_MACHINE_BYTES] = calloc(comm->nranks, sizeof(*names));
	char own[GDA_MACHINE_BYTES];
	uint32_t first = 0;
	int err;

	if (!names)
		return -ENOMEM;
	if (!deadline)
		deadline = gda_comm_after(gda_clock_ns(), comm->timeout_ns);
	/* ranks whose machine has no name (zeros) form a part of their own */
	gda_machine_name(own);
	err = gda_comm_allgather(comm, own, sizeof(own), names, deadline);
	while (!err && memcmp(names[first], own, sizeof(own)))
		first++;
	free(names);
	if (!err)
		err = gda_comm_split(comm, first, deadline, part);
	return gda_called(gda_because_last(err), "gda_comm_split_machine", "%p", (void *)comm);
}
