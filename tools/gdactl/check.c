// SPDX-License-Identifier: MIT
/*
 * Checks the machine, the driver and its executors. It reads only what an ordinary user may read,
 * and tries things out where possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "command.h"
#include "doctor.h"

void works(struct answer *a, const char *format, ...)
{
	va_list args;

	a->works = true;
	va_start(args, format);
	vsnprintf(a->reason, sizeof(a->reason), format, args);
	va_end(args);
}

void fails(struct answer *a, const char *advice, const char *format, ...)
{
	va_list args;

	a->works = false;
	snprintf(a->advice, sizeof(a->advice), "%s", advice);
	va_start(args, format);
	vsnprintf(a->reason, sizeof(a->reason), format, args);
	va_end(args);
}

static bool module_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

/* Read at most @size bytes of the file @path. Return: how many, 0 if it cannot be read. */
static ssize_t read_start(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, size);
	close(fd);
	return n < 0 ? 0 : n;
}

/* The variable's last byte is 1 if firmware verifies what it boots. */
static bool secure_boot(void)
{
	static const char path[] =
		"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	unsigned char v[5] = { 0 };

	return read_start(path, v, sizeof(v)) == sizeof(v) && v[4] == 1;
}

/* Why the kernel refuses modules without a trusted signature, or NULL. */
static const char *only_signed_modules(void)
{
	char enforced = 0, lockdown[64] = "";

	read_start("/sys/module/module/parameters/sig_enforce", &enforced, 1);
	if (enforced == 'Y')
		return "module.sig_enforce is set";
	if (secure_boot())
		return "Secure Boot is on";
	/* "[none] integrity confidentiality" if nothing is locked down. */
	if (read_start("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown) - 1) &&
	    !strstr(lockdown, "[none]"))
		return "the kernel is locked down";
	return NULL;
}

static void check_kernel(struct patient *p, struct answer *a)
{
	struct utsname uts;
	int major = 0, minor = 0;

	(void)p;
	uname(&uts);
	if (sscanf(uts.release, "%d.%d", &major, &minor) != 2 || major < 6 ||
	    (major == 6 && minor < 1))
		fails(a, "run Linux 6.1 or newer", "Linux %s is older than 6.1", uts.release);
	else
		works(a, "Linux %s", uts.release);
}

static void check_module(struct patient *p, struct answer *a)
{
	const char *signing = only_signed_modules();

	(void)p;
	if (module_loaded("gda_core"))
		works(a, "gda_core is loaded%s", module_loaded("gda_mr") ? ", gda_mr too" : "");
	else if (signing)
		fails(a, "sign the modules with a key that the kernel trusts, then modprobe gda_mr",
		      "gda_core is not loaded, and one without a signature would be refused: %s",
		      signing);
	else if (!module_installed("gda_core"))
		fails(a, "install package gda-dkms, or make install, if processes are to share queues; inproc, verbs: and OpenSHMEM work without",
		      "gda_core is not installed for this kernel");
	else
		fails(a, "as root: modprobe gda_mr", "gda_core is not loaded");
}

/* The suggested command has the user and the group in it. */
static void advise_group(struct answer *a, const struct stat *st)
{
	const struct group *group = getgrgid(st->st_gid);
	char name[64], user[64], advice[REASON_MAX];
	const struct passwd *pw = getpwuid(getuid());

	if (group)
		snprintf(name, sizeof(name), "%s", group->gr_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned int)st->st_gid);
	if (pw)
		snprintf(user, sizeof(user), "%s", pw->pw_name);
	else
		snprintf(user, sizeof(user), "'#%u'", (unsigned int)getuid());
	if (!st->st_gid)
		snprintf(advice, sizeof(advice),
			 "as root: systemd-sysusers; udevadm control --reload; udevadm trigger /dev/gda; usermod -aG gda %s; then log in again",
			 user);
	else if (group && pw)
		snprintf(advice, sizeof(advice), "as root: usermod -aG %s %s; then log in again", name,
			 user);
	else
		snprintf(advice, sizeof(advice),
			 "as root: chgrp gda /dev/gda; usermod -aG gda %s; then log in again (group %s or the user has no name here)",
			 user, name);
	fails(a, advice, "/dev/gda is for root and group %s (%u), and user %s is not in it", name,
	      (unsigned int)st->st_gid, user);
}

static void check_node(struct patient *p, struct answer *a)
{
	struct stat st;

	(void)p;
	if (stat("/dev/gda", &st)) {
		fails(a, module_loaded("gda_core") ? "let this container have /dev/gda (a systemd unit: PrivateDevices=no)" :
		      "see above", "there is no /dev/gda: gda_core makes it");
		return;
	}
	if (!access("/dev/gda", R_OK | W_OK))
		works(a, "/dev/gda may be opened");
	else
		advise_group(a, &st);
}

static void check_soft(struct patient *p, struct answer *a)
{
	int err = gda_open(GDA_DEVICE_SOFT, &p->ctx);

	p->query.size = sizeof(p->query);
	if (!err)
		err = gda_context_query(p->ctx, &p->query);
	if (err)
		fails(a, "see above", "%s", gda_last_error());
	else
		works(a, "device %s, %u queue pairs a context", (char *)p->query.device,
		      p->query.max_qp);
}

static void check_inproc(struct patient *p, struct answer *a)
{
	struct gda_context *ctx;
	int err = gda_open(GDA_DEVICE_INPROC, &ctx);

	(void)p;
	if (err == -EAGAIN) {
		fails(a, "raise it: ulimit -u, or TasksMax of the systemd unit",
		      "no thread can be made (RLIMIT_NPROC, or pids.max of the cgroup)");
		return;
	}
	if (err) {
		fails(a, "", "%s", gda_last_error());
		return;
	}
	gda_close(ctx);
	/* the device of programs that do not name one */
	works(a, "within one process, no module needed%s",
	      access("/dev/gda", F_OK) ? "; GDA_DEVICE is empty, so gda_open(NULL) takes it" : "");
}

static void check_poll(struct patient *p, struct answer *a)
{
	if (p->query.features[0] & GDA_FEATURE_QP_POLLED &&
	    p->query.features[0] & GDA_FEATURE_EXPORT)
		works(a, "queues can be exported as dma-buf, their doorbells are polled");
	else
		fails(a, "load the newest gda_core", "the driver cannot export queues");
}

const struct check checks[] = {
	{ "machine", "kernel", check_kernel, false },
	{ "driver", "module", check_module, false },
	{ "driver", "access", check_node, false },
	{ "executor", GDA_DEVICE_SOFT " (kernel)", check_soft, false },
	{ "executor", GDA_DEVICE_INPROC " (library)", check_inproc, false },
	{ "network", "RDMA device", check_rdma_device, false },
	{ "network", "address", check_rdma_address, false },
	{ "network", "memory limit", check_rdma_memory, false },
	{ "network", "verbs of users", check_rdma_user, false },
	{ "executor", "ib (kernel)", check_rdma_kernel, false },
	{ "executor", "verbs (library)", check_rdma_library, false },
	{ "executor", "verbs programs", check_rdma_programs, false },
	{ "memory", "user", check_user_memory, true },
	{ "memory", "dma-buf: udmabuf", check_udmabuf, true },
	{ "memory", "dma-buf: heap", check_dma_heap, true },
	{ "memory", "GPU, by dma-buf", check_cuda_memory, true },
	{ "memory", "peer", check_peer_memory, true },
	{ "queues", "for devices", check_poll, true },
	{ "front end", "OpenSHMEM", check_shmem, false },
	{ "front end", "gin", check_gin, false },
	{ "front end", "async", check_async, false },
	{ "front end", "dpa", check_dpa, false },
	{ "front end", "NCCL", check_nccl, false },
	{ 0 },
};
