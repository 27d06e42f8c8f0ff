// SPDX-License-Identifier: MIT
/*
 * Opens libibverbs and librdmacm. They stay loaded, because the drivers that libibverbs loads keep
 * state.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "gda_internal.h"
#include "library.h"

struct gda_ibv gda_ibv;
struct gda_rdma gda_rdma;

struct gda_verbs_symbol {
	const char *name;
	size_t at;
};

static const struct gda_verbs_symbol gda_ibv_symbols[] = {
	{ "ibv_get_device_list", offsetof(struct gda_ibv, get_device_list) },
	{ "ibv_free_device_list", offsetof(struct gda_ibv, free_device_list) },
	{ "ibv_get_device_name", offsetof(struct gda_ibv, get_device_name) },
	{ "ibv_open_device", offsetof(struct gda_ibv, open_device) },
	{ "ibv_close_device", offsetof(struct gda_ibv, close_device) },
	{ "ibv_query_device", offsetof(struct gda_ibv, query_device) },
	{ "ibv_query_port", offsetof(struct gda_ibv, query_port) },
	{ "ibv_alloc_pd", offsetof(struct gda_ibv, alloc_pd) },
	{ "ibv_dealloc_pd", offsetof(struct gda_ibv, dealloc_pd) },
	{ "ibv_reg_mr_iova", offsetof(struct gda_ibv, reg_mr_iova) },
	{ "ibv_dereg_mr", offsetof(struct gda_ibv, dereg_mr) },
	{ "ibv_create_cq", offsetof(struct gda_ibv, create_cq) },
	{ "ibv_destroy_cq", offsetof(struct gda_ibv, destroy_cq) },
	{ "ibv_create_qp", offsetof(struct gda_ibv, create_qp) },
	{ "ibv_destroy_qp", offsetof(struct gda_ibv, destroy_qp) },
	{ "ibv_modify_qp", offsetof(struct gda_ibv, modify_qp) },
};

static const struct gda_verbs_symbol gda_rdma_symbols[] = {
	{ "rdma_create_event_channel", offsetof(struct gda_rdma, create_event_channel) },
	{ "rdma_destroy_event_channel", offsetof(struct gda_rdma, destroy_event_channel) },
	{ "rdma_create_id", offsetof(struct gda_rdma, create_id) },
	{ "rdma_destroy_id", offsetof(struct gda_rdma, destroy_id) },
	{ "rdma_bind_addr", offsetof(struct gda_rdma, bind_addr) },
	{ "rdma_listen", offsetof(struct gda_rdma, listen) },
	{ "rdma_get_src_port", offsetof(struct gda_rdma, get_src_port) },
	{ "rdma_resolve_addr", offsetof(struct gda_rdma, resolve_addr) },
	{ "rdma_resolve_route", offsetof(struct gda_rdma, resolve_route) },
	{ "rdma_init_qp_attr", offsetof(struct gda_rdma, init_qp_attr) },
	{ "rdma_connect", offsetof(struct gda_rdma, connect) },
	{ "rdma_establish", offsetof(struct gda_rdma, establish) },
	{ "rdma_accept", offsetof(struct gda_rdma, accept) },
	{ "rdma_reject", offsetof(struct gda_rdma, reject) },
	{ "rdma_disconnect", offsetof(struct gda_rdma, disconnect) },
	{ "rdma_get_cm_event", offsetof(struct gda_rdma, get_event) },
	{ "rdma_ack_cm_event", offsetof(struct gda_rdma, ack_event) },
};

#define GDA_VERBS_COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static_assert(GDA_VERBS_COUNT(gda_ibv_symbols) == sizeof(struct gda_ibv) / sizeof(void *),
	      "one symbol a call");
static_assert(GDA_VERBS_COUNT(gda_rdma_symbols) == sizeof(struct gda_rdma) / sizeof(void *),
	      "one symbol a call");

struct gda_verbs_library {
	const char *name;
	const char *variable;
	const char *package;
	const struct gda_verbs_symbol *symbols;
	size_t nsymbols;
	char *calls;
	const char *missing;		/* missing symbol, or "" for a missing library; else NULL */
	int err;			/* of gda_library_open() */
};

static struct gda_verbs_library gda_verbs_libraries[] = {
	{ "libibverbs.so.1", "GDA_LIBIBVERBS", "libibverbs1", gda_ibv_symbols,
	  GDA_VERBS_COUNT(gda_ibv_symbols), (char *)&gda_ibv, NULL, 0 },
	{ "librdmacm.so.1", "GDA_LIBRDMACM", "librdmacm1", gda_rdma_symbols,
	  GDA_VERBS_COUNT(gda_rdma_symbols), (char *)&gda_rdma, NULL, 0 },
};

static pthread_once_t gda_verbs_once = PTHREAD_ONCE_INIT;

/* Return: as gda_verbs_library.missing. */
static const char *gda_verbs_resolve(struct gda_verbs_library *l)
{
	void *library;
	size_t i;

	l->err = gda_library_open(l->name, l->variable, &library);
	if (l->err)
		return "";
	for (i = 0; i < l->nsymbols; i++) {
		void *symbol = dlsym(library, l->symbols[i].name);

		if (!symbol)
			return l->symbols[i].name;
		memcpy(l->calls + l->symbols[i].at, &symbol, sizeof(symbol));
	}
	return NULL;
}

static void gda_verbs_load_once(void)
{
	size_t i;

	for (i = 0; i < GDA_VERBS_COUNT(gda_verbs_libraries); i++)
		gda_verbs_libraries[i].missing = gda_verbs_resolve(&gda_verbs_libraries[i]);
}

int gda_verbs_load(void)
{
	size_t i;

	pthread_once(&gda_verbs_once, gda_verbs_load_once);
	for (i = 0; i < GDA_VERBS_COUNT(gda_verbs_libraries); i++) {
		const struct gda_verbs_library *l = &gda_verbs_libraries[i];

		if (!l->missing)
			continue;
		if (l->err == -EINVAL || l->err == -EACCES)
			gda_library_because(l->err, l->name, l->variable);
		if (!*l->missing)
			return gda_because(-EOPNOTSUPP,
					   "there is no %s: is package %s installed? (%s: another)",
					   l->name, l->package, l->variable);
		return gda_because(-EOPNOTSUPP,
				   "%s is too old, it has no %s: install a later one",
				   l->name, l->missing);
	}
	return 0;
}
