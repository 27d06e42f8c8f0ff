// SPDX-License-Identifier: MIT
/*
 * The front ends: which of them work here between processes of this machine, and what the others
 * lack. It tries things out where possible.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "doctor.h"

#define BYTES	65536

/* Act as another PE: open the heap of its process through /proc, and map it. Return: an errno. */
static int map_as_peer(pid_t pid, int fd)
{
	char path[64];
	void *heap;
	int theirs;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	theirs = open(path, O_RDWR | O_CLOEXEC);
	if (theirs < 0)
		return errno;
	heap = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, theirs, 0);
	return heap == MAP_FAILED ? errno : 0;
}

void check_shmem(struct patient *p, struct answer *a)
{
	int fd = memfd_create("gdactl", MFD_CLOEXEC), status = -1;
	pid_t pid, parent = getpid();

	(void)p;
	if (fd < 0 || ftruncate(fd, BYTES)) {
		fails(a, "raise it: ulimit -n", "no memory can be shared: memfd_create(2): %s",
		      strerror(errno));
		return;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(map_as_peer(parent, fd));
	if (pid > 0)
		waitpid(pid, &status, 0);
	close(fd);
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		works(a, "between processes of a user, by mapped memory, no module needed");
	else
		fails(a, "mount /proc in this container, and let the processes be dumpable",
		      "a process may not open another one's heap by /proc: %s",
		      pid < 0 || !WIFEXITED(status) ? "no process can be made" :
						       strerror(WEXITSTATUS(status)));
}

/* Front ends whose ranks post to each other's queues. */
static void check_queues(const struct patient *p, struct answer *a, const char *threads)
{
	if (p->ctx)
		works(a, "between processes, by " GDA_DEVICE_SOFT "; between threads, by "
		      GDA_DEVICE_INPROC);
	else
		fails(a, threads,
		      "not between processes: " GDA_DEVICE_SOFT " does not work here (see above), and "
		      GDA_DEVICE_INPROC " reaches the threads of one process");
}

void check_gin(struct patient *p, struct answer *a)
{
	check_queues(p, a,
		     "see above; or an RDMA device, ib: or verbs:; or ranks as threads of one process, which works");
}

void check_async(struct patient *p, struct answer *a)
{
	check_queues(p, a,
		     "see above; or an RDMA device, ib: or verbs:; sessions within one process work");
}

void check_dpa(struct patient *p, struct answer *a)
{
	struct gda_context *ctx;
	int err = gda_open(GDA_DEVICE_INPROC, &ctx);

	(void)p;
	if (err) {
		fails(a, "see " GDA_DEVICE_INPROC " above", "%s", gda_last_error());
		return;
	}
	gda_close(ctx);
	works(a, "tasks on threads of " GDA_DEVICE_INPROC ", or in a process of gda-dpa");
}

void check_nccl(struct patient *p, struct answer *a)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	(void)p;
	if (!cuda) {
		fails(a, "only for machines with an NVIDIA GPU", "no libcuda.so.1 here");
		return;
	}
	dlclose(cuda);
	works(a, "between threads of one process, each with its GPU; ranks in several processes are refused");
}
