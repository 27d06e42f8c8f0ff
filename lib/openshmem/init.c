// SPDX-License-Identifier: MIT
/*
 * The beginning and the end: ranks are found, memory is made symmetric, and what was
 * started is ended. A program that returns from main() without shmem_finalize() has it
 * called, unless it failed.
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
#include "way.h"

#define HEAP_BYTES	(256UL << 20)
#define SPINS		4000U		/* where each PE has a processor of its own */
#define SPINS_SHARED	20U

struct gda_osh gda_osh = { .me = -1 };

static pid_t owner;

static const char *env(const char *name, const char *old)
{
	const char *value = getenv(name);

	return value && *value ? value : getenv(old);
}

/* "64M", "1.5G": the unit of the specification is a byte. */
static size_t heap_bytes(const char *call)
{
	const char *text = env("SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE");
	static const char units[] = "kmgt";
	const char *unit;
	double bytes;
	char *end;

	if (!text || !*text)
		return HEAP_BYTES;
	bytes = strtod(text, &end);
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit) {
		end++;
		bytes *= (double)(1ULL << (10 * (unit - units + 1)));
	}
	if (end == text || *end || !(bytes >= 0 && bytes < 1e15))
		gda_osh_die(call, -1, "SHMEM_SYMMETRIC_SIZE=%s is no size, such as 64M", text);
	return (size_t)bytes;
}

/* A heap of that size, and room for what the library keeps in it. */
static size_t segment_bytes(const char *call)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (heap_bytes(call) + GDA_OSH_CONTROL_BYTES + page - 1) & ~(page - 1);
}

static unsigned int choose_spins(unsigned int npes)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return SPINS_SHARED;
	return npes <= (unsigned int)CPU_COUNT(&set) ? SPINS : SPINS_SHARED;
}

static void create_segments(const char *call)
{
	size_t bytes = segment_bytes(call);
	int err = gda_osh_heap_create(&gda_osh.heap, bytes);

	if (err)
		gda_osh_die(call, -1, "no symmetric heap of %zu bytes (SHMEM_SYMMETRIC_SIZE): %s",
			    bytes, strerror(-err));
	err = gda_osh_data_create(&gda_osh.data);
	if (err)
		gda_osh_die(call, -1, "cannot share the program's variables: %s", strerror(-err));
}

static void map_segments(const char *call)
{
	unsigned int pe;
	int err = gda_osh_segments_map(&gda_osh, &pe);

	if (err == -EXDEV)
		gda_osh_die(call, (int)pe, "it runs another build of the program");
	if (err == -EDOM)
		gda_osh_die(call, (int)pe, "its SHMEM_SYMMETRIC_SIZE is another than here");
	if (err)
		gda_osh_die(call, (int)pe, "%s: PEs are processes of one user on one machine",
			    strerror(-err));
}

static void check_way(const char *call)
{
	const char *way = getenv("GDA_SHMEM_WAY");

	if (way && *way && strcmp(way, "direct"))
		gda_osh_die(call, -1, "GDA_SHMEM_WAY=%s: the only way here is direct, by mapped memory",
			    way);
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
		       "GDA_SHMEM_WAY         direct: by mapped memory                    [direct]\n");
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
	unsigned int npes;
	int err;

	if (gda_osh.npes)
		return;
	if (gda_osh.finalized)
		gda_osh_die(call, -1, "called after shmem_finalize()");
	check_way(call);
	/* Before there are threads, which could write to variables while they are moved. */
	create_segments(call);
	err = gda_comm_create(NULL, &gda_osh.comm);
	if (err)
		gda_osh_die(call, -1, "%s", gda_last_error());
	gda_osh.me = (int)gda_comm_rank(gda_osh.comm);
	npes = gda_comm_size(gda_osh.comm);
	map_segments(call);
	gda_osh.spins = choose_spins(npes);
	gda_osh.threads = requested;
	gda_osh.control = (struct gda_osh_control *)gda_osh.heap.base;
	owner = getpid();
	gda_osh.npes = npes;
	gda_osh_teams_init();
	err = gda_osh_blocks_init(GDA_OSH_CONTROL_BYTES, gda_osh.heap.bytes);
	if (!err)
		err = gda_osh_watch_start();
	if (!err)
		err = gda_comm_barrier(gda_osh.comm, 0);
	if (err)
		gda_osh_die(call, -1, "cannot start: %s", strerror(-err));
	on_exit(at_exit, NULL);
	print_about();
}

/* The own heap stays: a program may look at what it computed there. */
void gda_osh_stop(const char *call)
{
	gda_osh_quiet();
	gda_osh_team_wait(call, &gda_osh.world);
	gda_osh_watch_stop();
	gda_osh.npes = 0;
	gda_osh.finalized = true;
	gda_osh_segments_unmap(&gda_osh);
	gda_osh_blocks_fini();
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
