// SPDX-License-Identifier: MIT
/*
 * RDMA devices: what leads to another machine. Read from sysfs, which any user may do; the
 * devices of GDA on them are opened for a moment.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "doctor.h"

#define RDMA_CLASS	"/sys/class/infiniband"
#define RDMA_NAME	64	/* IB_DEVICE_NAME_MAX */
#define RDMA_MAX_GIDS	256
#define LITTLE		(1UL << 20)

/* Port 1 of a device: GDA uses no other. */
struct rdma_port {
	char device[RDMA_NAME];
	char state[32];		/* "4: ACTIVE" */
	char link[32];		/* "Ethernet", "InfiniBand" */
};

/* The first line of a file of port 1. */
static bool port_read(const char *device, const char *file, char *text, int room)
{
	char path[192];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/ports/1/%s", device, file);
	f = fopen(path, "re");
	got = f && fgets(text, room, f);
	if (f)
		fclose(f);
	if (!got)
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	return got;
}

static bool port_active(const struct rdma_port *port)
{
	return strstr(port->state, "ACTIVE");
}

/* The first device whose port is active, or else the first. Return: is there any? */
static bool port_find(struct rdma_port *port)
{
	DIR *dir = opendir(RDMA_CLASS);
	struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir)) && !(found && port_active(port))) {
		struct rdma_port p;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(p.device))
			continue;
		memcpy(p.device, entry->d_name, strlen(entry->d_name) + 1);
		port_read(p.device, "state", p.state, sizeof(p.state));
		port_read(p.device, "link_layer", p.link, sizeof(p.link));
		if (!found || port_active(&p))
			*port = p;
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool need_port(struct answer *a, struct rdma_port *port)
{
	if (port_find(port))
		return true;
	fails(a, "", "needs an RDMA device, see above");
	return false;
}

void check_rdma_device(struct patient *p, struct answer *a)
{
	struct rdma_port port;

	(void)p;
	if (!port_find(&port))
		fails(a, "load the NIC's driver, or as root: rdma link add rxe0 type rxe netdev IF",
		      "no RDMA device here, or it is in another network namespace");
	else if (!port_active(&port))
		fails(a, "set its interface up (ip link), and see to the cable",
		      "port 1 of %s is %s", port.device, port.state);
	else
		works(a, "port 1 of %s is active, %s", port.device, port.link);
}

/* Is @gid an IP address of this network namespace? IPv4 addresses are mapped. */
static bool gid_is_here(const struct in6_addr *gid)
{
	struct ifaddrs *all, *i;
	bool here = false;

	if (getifaddrs(&all))
		return false;
	for (i = all; i && !here; i = i->ifa_next) {
		const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
		const struct sockaddr_in *four = (const void *)i->ifa_addr;

		if (!i->ifa_addr)
			continue;
		if (i->ifa_addr->sa_family == AF_INET6)
			here = !memcmp(&six->sin6_addr, gid, sizeof(*gid));
		else if (i->ifa_addr->sa_family == AF_INET && IN6_IS_ADDR_V4MAPPED(gid))
			here = !memcmp(&four->sin_addr, &gid->s6_addr[12], 4);
	}
	freeifaddrs(all);
	return here;
}

/* Of the addresses of the device the first that is of this namespace, IPv4 before IPv6. */
static bool address_find(const struct rdma_port *port, char *address)
{
	char file[32], text[64];
	struct in6_addr gid;
	bool found = false;

	for (int i = 0; i < RDMA_MAX_GIDS; i++) {
		snprintf(file, sizeof(file), "gids/%d", i);
		if (!port_read(port->device, file, text, sizeof(text)))
			break;
		if (inet_pton(AF_INET6, text, &gid) != 1 || !gid_is_here(&gid))
			continue;
		if (IN6_IS_ADDR_V4MAPPED(&gid)) {
			inet_ntop(AF_INET, &gid.s6_addr[12], address, INET6_ADDRSTRLEN);
			return true;
		}
		if (!found)
			inet_ntop(AF_INET6, &gid, address, INET6_ADDRSTRLEN);
		found = true;
	}
	return found;
}

/* Connections are made by IP address, with InfiniBand through the interface of ipoib. */
void check_rdma_address(struct patient *p, struct answer *a)
{
	char address[INET6_ADDRSTRLEN];
	struct rdma_port port;

	(void)p;
	if (!need_port(a, &port))
		return;
	if (strcmp(port.link, "Ethernet"))
		works(a, "%s is %s: give its ib interface an IP address", port.device, port.link);
	else if (address_find(&port, address))
		works(a, "%s has %s", port.device, address);
	else
		fails(a, "give its interface an address, or run in the namespace that has it",
		      "%s has no IP address of this network namespace", port.device);
}

/* ib_core charges memory to the process that registers it, and not to the user. */
void check_rdma_memory(struct patient *p, struct answer *a)
{
	void *mem = mmap(NULL, LITTLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit lim;

	(void)p;
	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (mem == MAP_FAILED || mlock(mem, LITTLE))
		fails(a, "raise it: ulimit -l, or memlock in /etc/security/limits.conf",
		      "RLIMIT_MEMLOCK of %llu KiB does not let a process pin 1 MiB",
		      (unsigned long long)lim.rlim_cur / 1024);
	else if (lim.rlim_cur == RLIM_INFINITY)
		works(a, "no limit (RLIMIT_MEMLOCK)");
	else
		works(a, "up to %llu KiB a process (RLIMIT_MEMLOCK)",
		      (unsigned long long)lim.rlim_cur / 1024);
	if (mem != MAP_FAILED)
		munmap(mem, LITTLE);
}

/* A node below /dev/infiniband that begins with @name can be opened. */
static int node_open(const char *name)
{
	DIR *dir = opendir("/dev/infiniband");
	struct dirent *entry;
	char path[300];
	int err = ENOENT;

	while (dir && err && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, name, strlen(name)))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%s", entry->d_name);
		err = access(path, R_OK | W_OK) ? errno : 0;
	}
	if (dir)
		closedir(dir);
	return err;
}

static bool library_is_here(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (library)
		dlclose(library);
	return library;
}

void check_rdma_user(struct patient *p, struct answer *a)
{
	static const struct {
		const char *node;
		const char *module;
		const char *library;
		const char *package;
	} needs[] = {
		{ "uverbs", "ib_uverbs", "libibverbs.so.1", "libibverbs1 and ibverbs-providers" },
		{ "rdma_cm", "rdma_ucm", "librdmacm.so.1", "librdmacm1" },
	};
	char advice[128];

	(void)p;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		int err = node_open(needs[i].node);

		snprintf(advice, sizeof(advice), "as root: modprobe %s", needs[i].module);
		if (err) {
			fails(a, err == ENOENT ? advice : "see to its mode and group",
			      "/dev/infiniband/%s*: %s", needs[i].node, strerror(err));
			return;
		}
		snprintf(advice, sizeof(advice), "install %s", needs[i].package);
		if (!library_is_here(needs[i].library)) {
			fails(a, advice, "no %s here", needs[i].library);
			return;
		}
	}
	works(a, "libibverbs and librdmacm may use the devices");
}

/* Open the device of GDA on the RDMA device for a moment. */
static void try_device(struct answer *a, const char *kind, const struct rdma_port *port)
{
	char name[RDMA_NAME + 16];
	struct gda_context *ctx;
	int err;

	snprintf(name, sizeof(name), "%s:%s", kind, port->device);
	err = gda_open(name, &ctx);
	if (err) {
		fails(a, "see above", "%s: %s (%s)", name, gda_strerror(err), gda_last_error());
		return;
	}
	gda_close(ctx);
	works(a, "%s was opened", name);
}

void check_rdma_kernel(struct patient *p, struct answer *a)
{
	struct rdma_port port;

	(void)p;
	if (!need_port(a, &port))
		return;
	if (access("/sys/module/gda_ib", F_OK))
		fails(a, "as root: modprobe gda_ib", "gda_ib is not loaded");
	else
		try_device(a, "ib", &port);
}

void check_rdma_library(struct patient *p, struct answer *a)
{
	struct rdma_port port;

	(void)p;
	if (need_port(a, &port))
		try_device(a, "verbs", &port);
}
