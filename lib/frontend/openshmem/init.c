// SPDX-License-Identifier: MIT
/*
 * Start and end: find the ranks, make memory symmetric, and end what was started. If a program
 * returns from main() without shmem_finalize(), that is called, unless the program failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gda/gda.h>
#include <gda/version.h>
#include "define.h"
#include "reach.h"

#define HEAP_BYTES	(256UL << 20)

static struct gda_shmem no_shmem;

struct gda_osh gda_osh = { .me = -1, .s = &no_shmem };

static pid_t owner;

static const char *env(const char *name, const char *old)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : secure_getenv(old);
}

/* Parse "64M" or "1.5G"; without a unit the number is in bytes, as the specification says. */
static size_t heap_bytes(const char *call)
{
	const char *text = env("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE");
	const char *name = "SHMEM_SYMMETRIC_SIZE";
	static const char units[] = "kmgt";
	const char *unit;
	double bytes;
	char *end;

	if (!text || !*text) {
		/* of other libraries */
		name = "SHMEM_SYMMETRIC_HEAP_SIZE";
		text = secure_getenv(name);
	}
	if (!text || !*text)
		return HEAP_BYTES;
	bytes = strtod(text, &end);
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		end++;
		bytes *= (double)(1ULL << (10 * (unit - units + 1)));
	}
	if (end == text || *end || !(bytes >= 0 && bytes < 1e15))
		gda_osh_die(call, -1,
			    "%s=%s is no size: set it to one such as 64M",
			    name, text);
	return (size_t)bytes;
}

/* Gather @bytes from each PE; the caller frees the result. */
static void *gather(const char *call, const void *own, size_t bytes)
{
	void *all = calloc(gda_comm_size(gda_osh.comm), bytes);
	int err = all ? gda_comm_allgather(gda_osh.comm, own, bytes, all, 0) : -ENOMEM;

	if (err)
		gda_osh_die(call, -1, "%s", all ? gda_last_error() :
			    "out of memory: start fewer PEs on this machine");
	return all;
}

/* Count the processors of all PEs together: a launcher may have bound each PE to one. */
static unsigned int count_processors(const char *call)
{
	cpu_set_t own, all;
	cpu_set_t *sets;
	size_t i;

	CPU_ZERO(&own);
	CPU_ZERO(&all);
	sched_getaffinity(0, sizeof(own), &own);
	sets = gather(call, &own, sizeof(own));
	for (i = 0; i < gda_osh.npes; i++)
		CPU_OR(&all, &all, &sets[i]);
	free(sets);
	return (unsigned int)CPU_COUNT(&all);
}

/* With queues each PE has a worker that needs a processor, too. */
static void choose_spins(const char *call)
{
	unsigned int need = gda_osh.s->qps ? 2 * gda_osh.npes : gda_osh.npes;

	gda_osh_wait_init(need > count_processors(call));
}

/* All PEs must run the same build, or their variables are at different addresses. */
static void compare_builds(const char *call, const struct gda_osh_program *own)
{
	size_t n = gda_comm_size(gda_osh.comm), bytes = sizeof(own->build_id), i;
	unsigned char *all = gather(call, own->build_id, bytes);

	for (i = 0; i < n; i++)
		if (memcmp(all + i * bytes, own->build_id, bytes))
			gda_osh_die(call, (int)i,
				    "it runs another build of the program: start the same file for all PEs");
	free(all);
}

static void create_shmem(const char *call, const struct gda_osh_program *program, int data_fd)
{
	struct gda_shmem_attr attr = {
		.size = sizeof(attr),
		.heap_bytes = heap_bytes(call) + GDA_OSH_CONTROL_BYTES,
		/* its atomics and locks need a dialect that has them */
		.dialect = GDA_WQE_FIRST,
	};

	if (data_fd >= 0) {
		attr.data = (void *)program->base;
		attr.data_bytes = program->bytes;
		attr.data_fd = (uint32_t)data_fd + 1;
	}
	compare_builds(call, program);
	if (gda_shmem_create(gda_osh.comm, &attr, &gda_osh.s)) {
		/* PE 0 may be the lost one, and could not report it for all */
		if (gda_comm_failed(gda_osh.comm) >= 0)
			gda_osh_die(call, -1, "%s", gda_last_error());
		gda_osh_die_together(call, "%s (the heap is SHMEM_SYMMETRIC_SIZE)",
				     gda_last_error());
	}
	_Static_assert(sizeof(struct gda_osh_control) <= GDA_OSH_CONTROL_BYTES, "it has room");
	gda_osh.control = (struct gda_osh_control *)(uintptr_t)gda_osh.s->heap;
}

static void print_about(void)
{
	if (gda_osh.me)
		return;
	if (env("SHMEM_VERSION", "SMA_VERSION"))
		printf("OpenSHMEM %d.%d, GDA %s\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION,
		       GDA_VERSION_STRING);
	if (env("SHMEM_INFO", "SMA_INFO"))
		printf("SHMEM_SYMMETRIC_SIZE  bytes of the heap of each PE, or 64M, 1.5G  [256M]\n"
		       "SHMEM_VERSION         if set, the version is printed at the start\n"
		       "SHMEM_INFO            if set, this is printed\n"
		       "GDA_SHMEM_WAY         direct: by mapped memory; queue: by /dev/gda\n"
		       "                                             [direct on one machine]\n");
	fflush(stdout);
}

static void at_exit(int status, void *arg)
{
	(void)arg;
	if (!status && gda_osh.npes && owner == getpid())
		gda_osh_stop("shmem_finalize (at the end of the program)");
}

void gda_osh_start(const char *call, int requested)
{
	struct gda_osh_program program;
	int err, data_fd;

	if (gda_osh.npes)
		return;
	if (gda_osh.finalized)
		gda_osh_die(call, -1,
			    "called after shmem_finalize(): initialize only once in a program");
	gda_osh_program_find(&program);
	data_fd = gda_osh_data_create(&program);
	if (data_fd < 0 && data_fd != -ENOENT)
		gda_osh_die(call, -1,
			    "cannot share the program's variables, memfd_create(2) or mmap(2): %s: free memory, or raise ulimit -v and -n",
			    strerror(-data_fd));
	err = gda_comm_create(NULL, &gda_osh.comm);
	if (err)
		gda_osh_die(call, -1, "%s", gda_last_error());
	gda_osh.me = (int)gda_comm_rank(gda_osh.comm);
	create_shmem(call, &program, data_fd);
	gda_osh.threads = requested;
	gda_osh.flags = requested == SHMEM_THREAD_MULTIPLE ? 0 : GDA_EXCLUSIVE;
	gda_osh.npes = gda_osh.s->npes;
	choose_spins(call);
	owner = getpid();
	err = gda_osh_teams_init();
	if (!err)
		err = gda_osh_queue_init();
	if (!err)
		err = gda_osh_blocks_init(GDA_OSH_CONTROL_BYTES, gda_osh.s->heap_bytes);
	if (err)
		gda_osh_die(call, -1, "out of memory: start fewer PEs on this machine");
	err = gda_osh_watch_start();
	if (err)
		gda_osh_die(call, -1, "no thread can be started: %s: raise ulimit -u",
			    strerror(-err));
	/* A PE that has left the barrier may end the other PEs while they are still in it. */
	if (gda_comm_barrier(gda_osh.comm, 0)) {
		gda_osh_check(call);
		gda_osh_die(call, -1, "%s", gda_last_error());
	}
	on_exit(at_exit, NULL);
	print_about();
}

void gda_osh_forget(void)
{
	gda_osh.npes = 0;
	gda_osh.left = gda_osh.s;
	gda_osh.s = &no_shmem;
}

/* A queue of this PE may carry the last word of the barrier, and other PEs use this PE's queues. */
static void leave_queues(const char *call)
{
	gda_osh_quiet(call);
	if (gda_comm_barrier(gda_osh.comm, 0))
		gda_osh_check(call);
}

void gda_osh_stop(const char *call)
{
	struct gda_shmem *s = gda_osh.s;

	gda_osh_quiet(call);
	gda_osh.stopping = true;
	gda_osh_team_wait(call, &gda_osh.world);
	if (s->qps)
		leave_queues(call);
	gda_osh_watch_stop();
	gda_osh_forget();
	gda_osh.finalized = true;
	gda_osh_blocks_fini();
	gda_osh_teams_fini();
	gda_osh_queue_fini();
	/* Other PEs have mapped what they use, so this PE may free its own heap. */
	gda_shmem_destroy(s);
	gda_osh.left = NULL;
	gda_comm_destroy(gda_osh.comm);
	gda_osh.comm = NULL;
}

GDA_OSH_PUBLIC void pshmem_init(void)
{
	gda_osh_start(GDA_OSH_CALL_NAME, SHMEM_THREAD_SINGLE);
}

GDA_OSH_PUBLIC int pshmem_init_thread(int requested, int *provided)
{
	if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE)
		return -EINVAL;
	gda_osh_start(GDA_OSH_CALL_NAME, requested);
	*provided = gda_osh.threads;
	return 0;
}

GDA_OSH_PUBLIC void pshmem_query_thread(int *provided)
{
	*provided = gda_osh.threads;
}

GDA_OSH_PUBLIC void pshmem_finalize(void)
{
	if (gda_osh.npes)
		gda_osh_stop(GDA_OSH_CALL_NAME);
}

GDA_OSH_WEAK(init)
GDA_OSH_WEAK(init_thread)
GDA_OSH_WEAK(query_thread)
GDA_OSH_WEAK(finalize)
