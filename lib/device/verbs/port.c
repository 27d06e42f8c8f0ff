// SPDX-License-Identifier: MIT
/*
 * Finds the IP address at which peers reach a context: one that belongs to the RDMA device
 * according to rdma_cm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <ifaddrs.h>
#include "verbs_internal.h"

/* Use the address if peers can name it. Return: whether they can. */
static bool gda_verbs_take(const struct sockaddr *sa, struct gda_cm_address *a)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;

	a->port = 0;
	if (sa && sa->sa_family == AF_INET) {
		memcpy(a->ip, gda_fabric_mapped, sizeof(gda_fabric_mapped));
		memcpy(a->ip + sizeof(gda_fabric_mapped), &in->sin_addr, sizeof(in->sin_addr));
		return true;
	}
	/* a link-local address is useless without its link */
	if (!sa || sa->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		return false;
	memcpy(a->ip, &in6->sin6_addr, sizeof(a->ip));
	return true;
}

/* Bind a new id to verbs->address. Return: 0; -EADDRNOTAVAIL the RDMA device does not have it. */
static int gda_verbs_bind_to(struct gda_verbs *verbs)
{
	const char *name = gda_ibv.get_device_name(verbs->dev->device);
	struct sockaddr_storage sa;
	struct rdma_cm_id *id;

	if (gda_rdma.create_id(verbs->channel, &id, NULL, RDMA_PS_TCP))
		return -errno;
	gda_fabric_sockaddr(&sa, verbs->address.ip, verbs->address.port);
	if (!gda_rdma.bind_addr(id, (struct sockaddr *)&sa) && id->verbs &&
	    !strcmp(gda_ibv.get_device_name(id->verbs->device), name)) {
		verbs->listener = id;
		return 0;
	}
	gda_rdma.destroy_id(id);
	return -EADDRNOTAVAIL;
}

int gda_verbs_bind(struct gda_verbs *verbs)
{
	struct ifaddrs *all, *i;
	int err = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return -errno;
	for (i = all; i && err == -EADDRNOTAVAIL; i = i->ifa_next)
		if (gda_verbs_take(i->ifa_addr, &verbs->address))
			err = gda_verbs_bind_to(verbs);
	freeifaddrs(all);
	if (err == -EADDRNOTAVAIL)
		gda_because(err,
			    "%s has no IP address of an interface that is up: see rdma link and ip address",
			    gda_ibv.get_device_name(verbs->dev->device));
	return err;
}
