// SPDX-License-Identifier: MIT
/*
 * RDMA devices, which lead to other machines. Reads sysfs, which any user may do; GDA's devices on
 * RDMA devices are opened for a moment.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "command.h"
#include "doctor.h"
#include "library.h"

#define RDMA_CLASS	"/sys/class/infiniband"
#define RDMA_NAME	64	/* IB_DEVICE_NAME_MAX */
#define RDMA_MAX_GIDS	256
#define NETNS_MODE	"/sys/module/ib_core/parameters/netns_mode"
#define LITTLE		(1UL << 20)

/* Port 1 of a device; GDA uses no other port. */
struct rdma_port {
	char device[RDMA_NAME];
	char state[32];		/* "4: ACTIVE" */
	char link[32];		/* "Ethernet", "InfiniBand" */
};

/* Read the first line of a file; an empty line if it cannot be read. */
static bool line_read(const char *path, char *text, int room)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(text, room, f);

	if (f)
		fclose(f);
	if (!got)
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	return got;
}

static bool port_read(const char *device, const char *file, char *text, int room)
{
	char path[192];

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/ports/1/%s", device, file);
	return line_read(path, text, room);
}

/* Is the device one of gda_rdma, which reaches no other machine and has no rdma_cm? */
static bool device_is_gda(const char *device)
{
	char path[192], driver[192];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/device/driver", device);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n < 0)
		return false;
	driver[n] = 0;
	name = strrchr(driver, '/');
	return name && !strcmp(name, "/gda_rdma");
}

static bool port_active(const struct rdma_port *port)
{
	return strstr(port->state, "ACTIVE");
}

static void port_get(struct rdma_port *port, const char *device)
{
	snprintf(port->device, sizeof(port->device), "%s", device);
	port_read(device, "state", port->state, sizeof(port->state));
	port_read(device, "link_layer", port->link, sizeof(port->link));
}

/* The RDMA device that GDA_DEVICE names, or NULL. */
static const char *port_wanted(void)
{
	const char *device = getenv("GDA_DEVICE");
	const char *name = device ? strchr(device, ':') : NULL;

	if (!name || (strncmp(device, "ib:", 3) && strncmp(device, "verbs:", 6)) || !name[1] ||
	    strlen(name) > RDMA_NAME || strchr(name, '/'))
		return NULL;
	return name + 1;
}

/*
 * Find the device that GDA_DEVICE names; else the first device with an active port, or else the
 * first. Devices of gda_rdma are skipped. Return: whether there is one.
 */
static bool port_find(struct rdma_port *port)
{
	const char *wanted = port_wanted();
	DIR *dir = opendir(RDMA_CLASS);
	struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir)) && !(found && port_active(port))) {
		struct rdma_port p;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(p.device) ||
		    (wanted ? strcmp(wanted, entry->d_name) != 0 : device_is_gda(entry->d_name)))
			continue;
		port_get(&p, entry->d_name);
		if (!found || port_active(&p))
			*port = p;
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The network interface of the device, or "its interface". */
static const char *port_interface(const struct rdma_port *port, char *name, int room)
{
	char path[192];

	snprintf(path, sizeof(path), RDMA_CLASS "/%s/parent", port->device);	/* of rdma_rxe */
	if (!port_read(port->device, "gid_attrs/ndevs/0", name, room) &&
	    !line_read(path, name, room))
		snprintf(name, (size_t)room, "its interface");
	return name;
}

/* ib_core shows a device in all network namespaces, or only in its own. */
static void no_device(struct answer *a)
{
	const char *wanted = port_wanted();
	char mode[8];

	if (line_read(NETNS_MODE, mode, sizeof(mode)) && mode[0] == 'N')
		fails(a, "as root where it is (rdma dev): rdma dev set DEVICE netns NAME",
		      "no RDMA device in this network namespace; none is shared (rdma system)");
	else if (wanted)
		fails(a, "rdma link shows those that there are, or unset GDA_DEVICE",
		      "GDA_DEVICE names %s, and there is no such RDMA device here", wanted);
	else
		fails(a, "load the NIC's driver, or as root: rdma link add rxe0 type rxe netdev IF",
		      "no RDMA device here");
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
	char interface[64], advice[REASON_MAX];
	struct rdma_port port;
	const char *state;

	(void)p;
	if (!port_find(&port)) {
		no_device(a);
	} else if (!port_active(&port)) {
		snprintf(advice, sizeof(advice), "as root: ip link set %s up; then check the cable",
			 port_interface(&port, interface, sizeof(interface)));
		state = strchr(port.state, ' ');	/* "1: DOWN" */
		fails(a, advice, "port 1 of %s is %s", port.device, state ? state + 1 : port.state);
	} else {
		works(a, "port 1 of %s is active, %s", port.device, port.link);
	}
}

/* Is @gid an IP address (IPv4 is mapped) of this network namespace? */
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

/* Find the device's first address that belongs to this namespace, IPv4 before IPv6. */
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

/* Connections use IP addresses; with InfiniBand, that of the ipoib interface. */
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

/* Can this process pin memory beyond its limit (CAP_IPC_LOCK)? */
static bool may_exceed(void *mem, const struct rlimit *lim)
{
	const struct rlimit none = { .rlim_cur = 0, .rlim_max = lim->rlim_max };
	bool may;

	if (setrlimit(RLIMIT_MEMLOCK, &none))
		return false;
	may = !mlock(mem, LITTLE);
	setrlimit(RLIMIT_MEMLOCK, lim);
	return may;
}

/* ib_core charges memory to the process that registers it, not to the user. */
void check_rdma_memory(struct patient *p, struct answer *a)
{
	void *mem = mmap(NULL, LITTLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit lim;

	(void)p;
	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (mem == MAP_FAILED)
		fails(a, "", "no memory: %s", strerror(errno));
	else if (lim.rlim_cur == RLIM_INFINITY)
		works(a, "no limit (RLIMIT_MEMLOCK)");
	else if (may_exceed(mem, &lim))
		works(a, "no limit for this user (CAP_IPC_LOCK); RLIMIT_MEMLOCK is %llu KiB",
		      (unsigned long long)lim.rlim_cur / 1024);
	else if (mlock(mem, LITTLE))
		fails(a, "raise it: ulimit -l, memlock in limits.conf, LimitMEMLOCK= of systemd",
		      "RLIMIT_MEMLOCK of %llu KiB does not let a process pin 1 MiB",
		      (unsigned long long)lim.rlim_cur / 1024);
	else
		works(a, "up to %llu KiB a process (RLIMIT_MEMLOCK)",
		      (unsigned long long)lim.rlim_cur / 1024);
	if (mem != MAP_FAILED)
		munmap(mem, LITTLE);
}

/* Find out whether a node in /dev/infiniband whose name begins with @name can be opened. */
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
	void *library;

	return !gda_library_open(name, NULL, &library);
}

/* Advise how a node can be made accessible. */
static void node_advice(char *advice, size_t room, int err, const char *module)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	if (err != ENOENT)
		snprintf(advice, room, "see to its mode and group");
	else if (access(path, F_OK))
		snprintf(advice, room, module_installed(module) ? "as root: modprobe %s" :
			 "take a kernel that has %s: it is not installed for this one", module);
	else
		snprintf(advice, room, "let this container have /dev/infiniband");
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

		if (err) {
			node_advice(advice, sizeof(advice), err, needs[i].module);
			fails(a, advice, "/dev/infiniband/%s*: %s", needs[i].node, strerror(err));
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

/* Open GDA's device on the RDMA device for a moment. */
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
		fails(a, module_installed("gda_ib") ? "as root: modprobe gda_ib" :
		      "install package gda-dkms, or make install", "gda_ib is not loaded");
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

/* Find the name of gda_rdma's device. Return: whether there is one. */
static bool gda_device_find(char *name, size_t room)
{
	DIR *dir = opendir(RDMA_CLASS);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		found = entry->d_name[0] != '.' && strlen(entry->d_name) < room &&
			device_is_gda(entry->d_name);
		if (found)
			memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Unmodified programs of libibverbs, without a NIC, among processes of this machine. */
void check_rdma_programs(struct patient *p, struct answer *a)
{
	char device[RDMA_NAME], advice[128];
	int err;

	(void)p;
	if (!gda_device_find(device, sizeof(device))) {
		fails(a, module_installed("gda_rdma") ?
		      "as root, if programs of libibverbs are to run without a NIC: modprobe gda_rdma" :
		      "install package gda-dkms, or make install, if programs of libibverbs are to run without a NIC",
		      "gda_rdma is not loaded");
		return;
	}
	err = node_open("uverbs");
	if (err) {
		node_advice(advice, sizeof(advice), err, "ib_uverbs");
		fails(a, advice, "%s: /dev/infiniband/uverbs*: %s", device, strerror(err));
	} else if (!library_is_here("libibverbs.so.1")) {
		fails(a, "install libibverbs1 and ibverbs-providers", "%s: no libibverbs.so.1 here",
		      device);
	} else {
		works(a, "%s, within this machine alone: ib_write_bw -d %s", device, device);
	}
}
