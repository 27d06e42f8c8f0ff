// SPDX-License-Identifier: MIT
/*
 * PMIx as the launcher: it provides rank and number of ranks, and carries the id from rank 0 to the
 * others. Nothing else is used, and PMIx is finalized at once.
 *
 * libpmix is loaded if the environment says that PMIx started this program. It stays loaded,
 * because it has threads. GDA_PMIX is defined if pmix.h was found at build time
 * (tools/scripts/optional.sh).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "comm_internal.h"
#include "library.h"

#ifdef GDA_PMIX
#include <dlfcn.h>
#include <pmix.h>

/* The functions that are used, with the types of the header. */
struct gda_pmix {
	__typeof__(&PMIx_Init) init;
	__typeof__(&PMIx_Finalize) finalize;
	__typeof__(&PMIx_Get) get;
	__typeof__(&PMIx_Put) put;
	__typeof__(&PMIx_Commit) commit;
	__typeof__(&PMIx_Fence) fence;
	__typeof__(&PMIx_Value_destruct) destruct;
};

static const struct gda_pmix_symbol {
	const char *name;
	size_t at;
} gda_pmix_symbols[] = {
	{ "PMIx_Init", offsetof(struct gda_pmix, init) },
	{ "PMIx_Finalize", offsetof(struct gda_pmix, finalize) },
	{ "PMIx_Get", offsetof(struct gda_pmix, get) },
	{ "PMIx_Put", offsetof(struct gda_pmix, put) },
	{ "PMIx_Commit", offsetof(struct gda_pmix, commit) },
	{ "PMIx_Fence", offsetof(struct gda_pmix, fence) },
	{ "PMIx_Value_destruct", offsetof(struct gda_pmix, destruct) },
};

#define GDA_PMIX_KEY "gda.comm.id"

static int gda_pmix_load(struct gda_pmix *pmix)
{
	void *lib;
	int err = gda_library_open("libpmix.so.2", NULL, &lib);
	size_t i;

	if (err == -EACCES)
		gda_library_because(err, "libpmix.so.2", NULL);
	if (err)
		return gda_because(-EOPNOTSUPP,
				   "PMIx started this program, and libpmix.so.2 is not there: install package libpmix2");
	for (i = 0; i < sizeof(gda_pmix_symbols) / sizeof(gda_pmix_symbols[0]); i++) {
		void *symbol = dlsym(lib, gda_pmix_symbols[i].name);

		if (!symbol)
			return gda_because(-EOPNOTSUPP,
					   "libpmix.so.2 has no %s: install a later one",
					   gda_pmix_symbols[i].name);
		memcpy((char *)pmix + gda_pmix_symbols[i].at, &symbol, sizeof(symbol));
	}
	return 0;
}

static void gda_pmix_free(const struct gda_pmix *pmix, pmix_value_t *v)
{
	pmix->destruct(v);
	free(v);
}

/* The PMIx process of a communicator's rank: ranks have the same numbers there. */
static void gda_pmix_proc(pmix_proc_t *proc, const pmix_proc_t *self, pmix_rank_t rank)
{
	memset(proc, 0, sizeof(*proc));
	memcpy(proc->nspace, self->nspace, sizeof(proc->nspace));
	proc->rank = rank;
}

static int gda_pmix_size(const struct gda_pmix *pmix, const pmix_proc_t *self, uint32_t *size)
{
	pmix_proc_t all;
	pmix_value_t *v;

	gda_pmix_proc(&all, self, PMIX_RANK_WILDCARD);
	if (pmix->get(&all, PMIX_JOB_SIZE, NULL, 0, &v) != PMIX_SUCCESS)
		return -EIO;
	*size = v->data.uint32;
	gda_pmix_free(pmix, v);
	return 0;
}

static int gda_pmix_put(const struct gda_pmix *pmix, const struct gda_comm_id *id)
{
	pmix_value_t v = { .type = PMIX_STRING };

	v.data.string = (char *)(uintptr_t)id->text;
	return pmix->put(PMIX_GLOBAL, GDA_PMIX_KEY, &v) == PMIX_SUCCESS ? 0 : -EIO;
}

static int gda_pmix_get(const struct gda_pmix *pmix, const pmix_proc_t *self,
			struct gda_comm_id *id)
{
	pmix_proc_t first;
	pmix_value_t *v;
	int err = 0;

	gda_pmix_proc(&first, self, 0);
	if (pmix->get(&first, GDA_PMIX_KEY, NULL, 0, &v) != PMIX_SUCCESS)
		return -EIO;
	/* an empty id: rank 0 could not create it */
	if (v->type != PMIX_STRING || !v->data.string[0] ||
	    strlen(v->data.string) >= sizeof(id->text))
		err = -EIO;
	else
		memcpy(id->text, v->data.string, strlen(v->data.string) + 1);
	gda_pmix_free(pmix, v);
	return err;
}

/* All ranks take part in the fence, even if the id could not be made. */
static int gda_pmix_exchange(const struct gda_pmix *pmix, const pmix_proc_t *self,
			     const char *interface, struct gda_comm_id *id)
{
	pmix_info_t info;
	int err = 0;

	memset(id, 0, sizeof(*id));
	if (!self->rank) {
		err = gda_because_last(gda_comm_id_create(interface, id));
		if (gda_pmix_put(pmix, id) && !err)
			err = -EIO;
	}
	memset(&info, 0, sizeof(info));
	memcpy(info.key, PMIX_COLLECT_DATA, sizeof(PMIX_COLLECT_DATA));
	info.value.type = PMIX_BOOL;
	info.value.data.flag = true;
	if (pmix->commit() != PMIX_SUCCESS ||
	    pmix->fence(NULL, 0, &info, 1) != PMIX_SUCCESS)
		return err ? err : -EIO;
	return err ? err : gda_pmix_get(pmix, self, id);
}

int gda_comm_pmix(const char *interface, struct gda_comm_attr *attr, struct gda_comm_id *id)
{
	struct gda_pmix pmix;
	pmix_proc_t self;
	int err;

	if (!secure_getenv("PMIX_NAMESPACE"))
		return -ENOENT;
	err = gda_pmix_load(&pmix);
	if (err)
		return err;
	if (pmix.init(&self, NULL, 0) != PMIX_SUCCESS)
		return gda_because(-EIO,
				   "PMIx_Init() failed: does the launcher that started this still run?");
	attr->rank = self.rank;
	err = gda_pmix_size(&pmix, &self, &attr->nranks);
	if (!err)
		err = gda_pmix_exchange(&pmix, &self, interface, id);
	/*
	 * initialization is counted, and the program, an MPI program perhaps, may use PMIx itself
	 */
	pmix.finalize(NULL, 0);
	if (err == -EIO)
		gda_because(err,
			    "PMIx did not carry the id from rank 0: see its output, and the launcher's");
	return err;
}

#else

int gda_comm_pmix(const char *interface, struct gda_comm_attr *attr, struct gda_comm_id *id)
{
	(void)interface;
	(void)attr;
	(void)id;
	if (!secure_getenv("PMIX_NAMESPACE"))
		return -ENOENT;
	return gda_because(-EOPNOTSUPP,
			   "libgda was built without PMIx: build it with package libpmix-dev, or use gda-run");
}

#endif
