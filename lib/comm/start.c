// SPDX-License-Identifier: MIT
/*
 * Finds out the rank, the number of ranks and the id: from the caller, from gda-run or from PMIx.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/auxv.h>
#include "comm_internal.h"

/* Read a number from the environment. Return: 0, -ENOENT if it is not set, or -EINVAL. */
static int gda_comm_env(const char *name, uint32_t most, uint32_t *value)
{
	const char *text = secure_getenv(name);
	unsigned long n;
	char *end;

	if (!text)
		return -ENOENT;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (!*text || *end || errno || n > most || *text == '-')
		return -EINVAL;
	*value = (uint32_t)n;
	return 0;
}

static int gda_comm_env_wrong(void)
{
	return gda_because(-EINVAL,
			   "GDA_COMM_SIZE, GDA_COMM_RANK or GDA_COMM_ID is wrong or not set: start the ranks with gda-run");
}

/*
 * secure_getenv() hides the environment from a program with more rights than its user. Such a
 * program must not conclude that it is the only rank.
 */
static bool gda_comm_env_is_ignored(void)
{
	char **e;

	if (!getauxval(AT_SECURE))
		return false;
	for (e = environ; e && *e; e++)
		if (!strncmp(*e, "GDA_COMM_SIZE=", 14) || !strncmp(*e, "PMIX_NAMESPACE=", 15))
			return true;
	return false;
}

static int gda_comm_from_run(struct gda_comm_attr *attr, struct gda_comm_id *id)
{
	const char *text = secure_getenv("GDA_COMM_ID");
	int err;

	err = gda_comm_env("GDA_COMM_SIZE", GDA_COMM_MAX_RANKS, &attr->nranks);
	if (err)
		return err == -EINVAL ? gda_comm_env_wrong() : err;
	if (!attr->nranks || !text || strlen(text) >= sizeof(id->text) ||
	    gda_comm_env("GDA_COMM_RANK", GDA_COMM_MAX_RANKS, &attr->rank))
		return gda_comm_env_wrong();
	memcpy(id->text, text, strlen(text) + 1);
	return 0;
}

static int gda_comm_from_launcher(struct gda_comm_attr *attr, struct gda_comm_id *id)
{
	int err = gda_comm_from_run(attr, id);

	if (err == -ENOENT)
		err = gda_comm_pmix(secure_getenv("GDA_COMM_INTERFACE"), attr, id);
	if (err != -ENOENT)
		return err;
	if (gda_comm_env_is_ignored())
		return gda_because(-EACCES,
				   "a program with more rights than its user takes no ranks from the environment: pass rank, nranks and id in attr");
	/* no launcher: this is the only rank */
	attr->nranks = 1;
	attr->rank = 0;
	return 0;
}

/* Rank 0 creates the id, and the caller's function sends it to the others. */
static int gda_comm_from_gather(const struct gda_comm_attr *attr, struct gda_comm_id *id)
{
	struct {
		int32_t err;
		struct gda_comm_id id;
	} own = { 0 }, *all;
	int err;

	all = calloc(attr->nranks, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (!attr->rank) {
		own.err = gda_comm_id_create(secure_getenv("GDA_COMM_INTERFACE"), &own.id);
		gda_because_last(own.err);
	}
	err = attr->allgather(attr->arg, &own, sizeof(own), all);
	if (err)
		gda_because(err, "allgather, the caller's function, returned %d", err);
	else if (all[0].err)
		err = gda_because(all[0].err,
				  "rank 0 could not make the id, its own error says why: %s",
				  gda_strerror(all[0].err));
	*id = all[0].id;
	free(all);
	return err;
}

int gda_comm_start(const struct gda_comm_attr *given, struct gda_comm_attr *attr,
		   struct gda_comm_id *id)
{
	int err = 0;

	memset(attr, 0, sizeof(*attr));
	memset(id, 0, sizeof(*id));
	if (given)
		err = gda_struct_read(attr, sizeof(*attr),
				      GDA_THROUGH(struct gda_comm_attr, timeout_ns), given);
	if (err)
		return err;
	if (attr->flags)
		return gda_because(-EOPNOTSUPP, "flags has unknown bits: %#x", attr->flags);
	if (!attr->timeout_ns)
		attr->timeout_ns = GDA_COMM_TIMEOUT_NS;
	if (!attr->nranks)
		err = gda_comm_from_launcher(attr, id);
	if (err)
		return err;
	if (attr->nranks > GDA_COMM_MAX_RANKS)
		return gda_because(-EINVAL, "nranks %u: the most is %u", attr->nranks,
				   GDA_COMM_MAX_RANKS);
	if (attr->rank >= attr->nranks)
		return gda_because(-EINVAL, "rank %u: set it to one of 0 to %u", attr->rank,
				   attr->nranks - 1);
	if (!given || !given->nranks)
		return 0;
	if (attr->id)
		*id = *attr->id;
	if (attr->id || attr->nranks == 1)
		return 0;
	if (!attr->allgather)
		return gda_because(-EINVAL, "id and allgather are NULL: set one of them");
	return gda_comm_from_gather(attr, id);
}
