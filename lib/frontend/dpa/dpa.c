// SPDX-License-Identifier: MIT
/*
 * Contexts of gda/dpa.h: create, query, destroy; and the number of threads of the process, counted
 * over all contexts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dpa_internal.h"

#define GDA_DPA_DEPTH	256U		/* depth of the queues for copies */
#define GDA_DPA_GRACE_NS	1000000000U

static uint32_t gda_dpa_in_use;		/* threads and handles of this process; atomic */

int gda_dpa_threads_take(uint32_t n)
{
	uint32_t used = __atomic_load_n(&gda_dpa_in_use, __ATOMIC_RELAXED);

	do {
		if (n > GDA_DPA_MAX_THREADS - used) {
			gda_because(-ENOSPC,
				    "%u threads and handles are in use, no room for %u: destroy a context or handle",
				    used, n);
			return -ENOSPC;
		}
	} while (!__atomic_compare_exchange_n(&gda_dpa_in_use, &used, used + n, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return 0;
}

void gda_dpa_threads_give(uint32_t n)
{
	__atomic_fetch_sub(&gda_dpa_in_use, n, __ATOMIC_RELAXED);
}

static int gda_dpa_features(struct gda_context *ctx, struct gda_query *q)
{
	*q = (struct gda_query) { .size = sizeof(*q) };
	return gda_context_query(ctx, q);
}

/* The name of a feature that tasks and copies need and the device lacks; NULL if it has all. */
static const char *gda_dpa_missing(const struct gda_query *q)
{
	if (!(q->features[0] & GDA_FEATURE_LOOPBACK))
		return "GDA_FEATURE_LOOPBACK";
	if (!(q->features[0] & GDA_FEATURE_CQ_COLLAPSED))
		return "GDA_FEATURE_CQ_COLLAPSED";
	return q->features[0] & GDA_FEATURE_MR_USER ? NULL : "GDA_FEATURE_MR_USER";
}

static int gda_dpa_ask(struct gda_context *ctx, struct gda_dpa_limits *limits)
{
	struct gda_dpa_limits l = {
		.size = sizeof(l), .max_threads = GDA_DPA_MAX_THREADS,
		.max_args = GDA_DPA_MAX_ARGS, .max_events = GDA_DPA_MAX_EVENTS,
		.max_launches = GDA_DPA_MAX_LAUNCHES, .max_heap = GDA_DPA_MAX_HEAP,
		.max_run_ns = GDA_DPA_MAX_RUN_NS,
	};
	int err = gda_struct_check(limits, GDA_THROUGH(struct gda_dpa_limits, reserved));
	struct gda_query q;

	if (!err)
		err = gda_dpa_features(ctx, &q);
	if (err)
		return err;
	l.supported = !gda_dpa_missing(&q);
	l.threads_in_use = __atomic_load_n(&gda_dpa_in_use, __ATOMIC_RELAXED);
	gda_struct_write(limits, &l, sizeof(l));
	return 0;
}

GDA_EXPORT int gda_dpa_query(struct gda_context *ctx, struct gda_dpa_limits *limits)
{
	return gda_called(gda_dpa_ask(ctx, limits), "gda_dpa_query", "%p", (void *)limits);
}

static int gda_dpa_power(const char *name, uint32_t value, uint32_t most)
{
	if (value && value <= most && !(value & (value - 1)))
		return 0;
	return gda_because(-EINVAL, "%s %u: set it to a power of two up to %u", name, value, most);
}

static int gda_dpa_attr_check(const struct gda_dpa_attr *a)
{
	int err;

	if (a->flags & ~GDA_DPA_WAKE)
		return gda_because(-EOPNOTSUPP, "flags %#x: only GDA_DPA_WAKE is known", a->flags);
	if (a->threads > GDA_DPA_MAX_THREADS)
		return gda_because(-EINVAL, "threads %u: the most is %u", a->threads,
				   GDA_DPA_MAX_THREADS);
	if (a->events > GDA_DPA_MAX_EVENTS)
		return gda_because(-EINVAL, "events %u: the most is %u", a->events,
				   GDA_DPA_MAX_EVENTS);
	if (a->heap_bytes > GDA_DPA_MAX_HEAP)
		return gda_because(-EINVAL, "heap_bytes %llu: the most is %llu",
				   (unsigned long long)a->heap_bytes,
				   (unsigned long long)GDA_DPA_MAX_HEAP);
	if (a->run_limit_ns > GDA_DPA_MAX_RUN_NS)
		return gda_because(-EINVAL, "run_limit_ns %llu: the most is %llu",
				   (unsigned long long)a->run_limit_ns,
				   (unsigned long long)GDA_DPA_MAX_RUN_NS);
	err = gda_dpa_power("launches", a->launches, GDA_DPA_MAX_LAUNCHES);
	return err ? err : gda_dpa_power("log_lines", a->log_lines, GDA_DPA_MAX_LINES);
}

static int gda_dpa_attr_read(struct gda_dpa_attr *a, const struct gda_dpa_attr *theirs)
{
	int err = 0;

	memset(a, 0, sizeof(*a));
	if (theirs)
		err = gda_struct_read(a, sizeof(*a), GDA_THROUGH(struct gda_dpa_attr, program),
				      theirs);
	if (err)
		return err;
	a->threads = a->threads ? a->threads : 4;
	a->events = a->events ? a->events : 256;
	a->launches = a->launches ? a->launches : 1024;
	a->log_lines = a->log_lines ? a->log_lines : 256;
	a->heap_bytes = a->heap_bytes ? a->heap_bytes : 4U << 20;
	a->run_limit_ns = a->run_limit_ns ? a->run_limit_ns : 10000000000U;
	a->spin_ns = a->spin_ns ? a->spin_ns : 1000000;
	/* a spinning thread would hold the only processor that the awaited thread could run on */
	if (gda_crowded_by(2))
		a->spin_ns = UINT64_MAX;
	return gda_dpa_attr_check(a);
}

static int gda_dpa_memory_create(struct gda_dpa *dpa)
{
	struct gda_dpa_map *m = &dpa->map;
	int err;

	m->threads = dpa->attr.threads;
	m->events = dpa->attr.events;
	m->launches = dpa->attr.launches;
	m->lines = dpa->attr.log_lines;
	m->heap_bytes = dpa->attr.heap_bytes;
	m->spin_ns = dpa->attr.spin_ns;
	gda_dpa_map_layout(m);
	gda_fd_lock();
	dpa->fd = gda_fd_list(memfd_create("gda-dpa", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	gda_fd_unlock();
	if (dpa->fd < 0)
		return -errno;
	/* seal the size, so that no other process can take pages away */
	if (ftruncate(dpa->fd, (off_t)m->bytes) ||
	    fcntl(dpa->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return gda_because(-errno,
				   "memory of %llu bytes: %s: set a smaller heap_bytes, fewer threads or launches",
				   (unsigned long long)m->bytes, strerror(errno));
	err = gda_dpa_map_open(m, dpa->fd);
	if (err)
		return err;
	madvise(m->base, m->bytes, MADV_DONTFORK);
	return gda_because_last(gda_mr_reg(dpa->ctx, m->base + m->mr_offset, m->mr_bytes,
					   GDA_ACCESS_ALL, 0, &dpa->mr));
}

/* Create a queue that is connected to itself. */
static int gda_dpa_queue_create(struct gda_dpa *dpa, uint32_t i)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = GDA_DPA_DEPTH };
	struct gda_address own;
	int err = gda_qp_create(dpa->ctx, &attr, &dpa->qps[i]);

	if (!err)
		err = gda_qp_address(dpa->qps[i], &own);
	if (!err)
		err = gda_qp_connect(dpa->qps[i], &own);
	return gda_because_last(err);
}

static int gda_dpa_pool_new(struct gda_dpa *dpa)
{
	struct gda_view **views = calloc(dpa->map.threads, sizeof(struct gda_view *));
	int err = views ? 0 : -ENOMEM;
	uint32_t i;

	for (i = 0; !err && i < dpa->map.threads; i++) {
		err = gda_dpa_queue_create(dpa, i);
		if (err)
			break;
		views[i] = gda_qp_view(dpa->qps[i]);
		err = views[i] ? gda_dpa_check_view(views[i]) : -EINVAL;
		if (!err)
			views[i]->abort = (uintptr_t)&dpa->map.header->stop;
	}
	if (!err && dpa->attr.program)
		err = gda_dpa_process_create(dpa, dpa->attr.program);
	else if (!err)
		err = gda_dpa_pool_create(&dpa->map, views, &dpa->pool);
	/* the caller may free the string */
	dpa->attr.program = NULL;
	free(views);
	return err;
}

static void gda_dpa_release(struct gda_dpa *dpa)
{
	struct gda_dpa_event *e;
	struct gda_reason reason;
	uint32_t i;

	gda_reason_save(&reason);
	gda_dpa_rdma_drop_all(dpa);
	if (dpa->pool)
		gda_dpa_pool_free(dpa->pool);
	gda_dpa_process_destroy(dpa);
	for (i = 0; dpa->qps && i < dpa->map.threads; i++)
		gda_qp_destroy(dpa->qps[i]);
	gda_dpa_wake_destroy(dpa);
	gda_mr_dereg(dpa->mr);
	gda_dpa_map_close(&dpa->map);
	if (dpa->fd >= 0)
		gda_fd_close(dpa->fd);
	gda_dpa_heap_destroy(dpa);
	while ((e = dpa->events)) {
		dpa->events = e->next;
		free(e);
	}
	gda_dpa_threads_give(dpa->attr.threads);
	pthread_mutex_destroy(&dpa->lock);
	free(dpa->event_used);
	free(dpa->tasks);
	free(dpa->qps);
	free(dpa);
	gda_reason_restore(&reason);
}

static int gda_dpa_build(struct gda_dpa *dpa)
{
	int err;

	dpa->qps = calloc(dpa->attr.threads, sizeof(struct gda_qp *));
	dpa->event_used = calloc(dpa->attr.events + 1, 1);
	dpa->tasks = calloc(GDA_DPA_TASKS_MAX, sizeof(*dpa->tasks));
	if (!dpa->qps || !dpa->event_used || !dpa->tasks)
		return -ENOMEM;
	err = gda_dpa_memory_create(dpa);
	if (!err)
		err = gda_dpa_heap_create(dpa);
	if (!err && dpa->attr.flags & GDA_DPA_WAKE)
		err = gda_dpa_wake_create(dpa);
	if (!err)
		err = gda_dpa_pool_new(dpa);
	if (err)
		return err;
	err = gda_dpa_watch_start(dpa);
	if (err && dpa->pool)
		gda_dpa_pool_stop(dpa->pool, UINT64_MAX);
	return err;
}

static int gda_dpa_new(struct gda_context *ctx, const struct gda_dpa_attr *theirs,
		       struct gda_dpa **result)
{
	struct gda_dpa_attr attr;
	struct gda_query q = { 0 };
	struct gda_dpa *dpa;
	int err = gda_dpa_attr_read(&attr, theirs);

	if (!err)
		err = gda_because_last(gda_dpa_features(ctx, &q));
	if (!err && gda_dpa_missing(&q))
		err = gda_because(-EOPNOTSUPP,
				  "the device %s does not offer %s: use soft0 or the in-process device",
				  (char *)q.device, gda_dpa_missing(&q));
	if (!err)
		err = gda_dpa_threads_take(attr.threads);
	if (err)
		return err;
	dpa = calloc(1, sizeof(*dpa));
	if (!dpa) {
		gda_dpa_threads_give(attr.threads);
		return -ENOMEM;
	}
	dpa->ctx = ctx;
	dpa->attr = attr;
	dpa->atomic_cpu = q.features[0] & GDA_FEATURE_ATOMIC_CPU;
	dpa->fd = -1;
	dpa->pidfd = -1;
	dpa->socket = -1;
	dpa->watch_fd = -1;
	dpa->wake_fd = -1;
	dpa->generation = gda_fork_generation();
	pthread_mutex_init(&dpa->lock, NULL);
	err = gda_dpa_build(dpa);
	if (err) {
		gda_dpa_release(dpa);
		return err;
	}
	*result = dpa;
	return 0;
}

GDA_EXPORT int gda_dpa_create(struct gda_context *ctx, const struct gda_dpa_attr *attr,
			      struct gda_dpa **dpa)
{
	return gda_called(gda_dpa_new(ctx, attr, dpa), "gda_dpa_create", "fd %d, %p", ctx->fd,
			  (const void *)attr);
}

/*
 * Free what a child of fork(2) has of the context: neither threads nor descriptors, and the memory
 * is not mapped there.
 */
static int gda_dpa_forget(struct gda_dpa *dpa)
{
	gda_dpa_heap_destroy(dpa);
	free(dpa->event_used);
	free(dpa->tasks);
	free(dpa->qps);
	free(dpa);
	return -ENODEV;
}

static int gda_dpa_end(struct gda_dpa *dpa)
{
	uint64_t patience = GDA_DPA_GRACE_NS;
	int err;

	if (dpa->generation != gda_fork_generation())
		return gda_dpa_forget(dpa);
	if (dpa->gpus)
		return gda_because(-EBUSY,
				   "a GPU has the events: call gda_dpa_cuda_destroy() before");
	if (!gda_dpa_error(dpa, NULL))
		patience += dpa->attr.run_limit_ns;
	if (dpa->pid)
		gda_dpa_process_stop(dpa, gda_clock_ns() + patience);
	err = dpa->pid ? 0 : gda_dpa_pool_stop(dpa->pool, gda_clock_ns() + patience);
	if (err)
		return gda_because(err, "a task still runs: call again when it has ended");
	gda_dpa_watch_stop(dpa);
	gda_dpa_process_destroy(dpa);
	gda_dpa_release(dpa);
	return 0;
}

GDA_EXPORT int gda_dpa_destroy(struct gda_dpa *dpa)
{
	if (!dpa)
		return 0;
	return gda_called(gda_dpa_end(dpa), "gda_dpa_destroy", "%p", (void *)dpa);
}

static const char *gda_dpa_reason(const struct gda_dpa_report *r, char *buf, size_t len)
{
	switch (r->reason) {
	case GDA_DPA_RUN_LIMIT:
		return "ran longer than gda_dpa_attr.run_limit_ns";
	case GDA_DPA_CRASHED:
		snprintf(buf, len, r->address ? "was ended by signal %d at address %#llx" :
			 "was ended by signal %d", r->signal, (unsigned long long)r->address);
		return buf;
	case GDA_DPA_EXITED:
		snprintf(buf, len, "ended its process with exit status %d", r->status);
		return buf;
	case GDA_DPA_COPY_FAILED:
		return "copied from or to memory that is not registered";
	default:
		return "overwrote what the library keeps in shared memory";
	}
}

static int gda_dpa_fatal_why(struct gda_dpa *dpa)
{
	struct gda_dpa_report *r = &dpa->report;
	char buf[80];

	pthread_mutex_lock(&dpa->lock);
	gda_dpa_watch_note(dpa);
	gda_because(-ENOTRECOVERABLE, "task \"%s\" rank %u %s: destroy the context",
		    r->task[0] ? r->task : "?", r->rank,
		    gda_dpa_reason(r, buf, sizeof(buf)));
	pthread_mutex_unlock(&dpa->lock);
	return -ENOTRECOVERABLE;
}

int gda_dpa_enter(struct gda_dpa *dpa)
{
	if (gda_unlikely(dpa->generation != gda_fork_generation()))
		return gda_because(-ENODEV,
				   "the context belongs to the parent of this process: create another one here");
	if (gda_unlikely(__atomic_load_n(&dpa->map.header->fatal, __ATOMIC_ACQUIRE)))
		return gda_dpa_fatal_why(dpa);
	return 0;
}

static int gda_dpa_ask_error(struct gda_dpa *dpa, struct gda_dpa_report *report)
{
	int err = 0;

	if (report)
		err = gda_struct_check(report, GDA_THROUGH(struct gda_dpa_report, time_ns));
	if (err || !__atomic_load_n(&dpa->map.header->fatal, __ATOMIC_ACQUIRE))
		return err;
	pthread_mutex_lock(&dpa->lock);
	gda_dpa_watch_note(dpa);
	if (report)
		gda_struct_write(report, &dpa->report, sizeof(dpa->report));
	pthread_mutex_unlock(&dpa->lock);
	return 1;
}

GDA_EXPORT int gda_dpa_error(struct gda_dpa *dpa, struct gda_dpa_report *report)
{
	int err = dpa->generation == gda_fork_generation() ? gda_dpa_ask_error(dpa, report) :
			-ENODEV;

	return err < 0 ? gda_called(err, "gda_dpa_error", "%p", (void *)report) : err;
}
