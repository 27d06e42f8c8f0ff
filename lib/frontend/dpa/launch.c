// SPDX-License-Identifier: MIT
/*
 * The host's side of launches: check them, number them, write them to the ring. The host counts its
 * launches itself, and reads from shared memory only how many have ended.
 */
#include <errno.h>
#include <string.h>
#include "dpa_internal.h"

static int gda_dpa_launch_check(const struct gda_dpa *dpa, const struct gda_dpa_launch_attr *l)
{
	const struct gda_dpa_task *t = l->task;

	if (l->flags & ~GDA_DPA_DONE_SET)
		return gda_because(-EOPNOTSUPP,
				   "flags %#x: only GDA_DPA_DONE_SET is known",
				   l->flags);
	if (t && t->size >= sizeof(*t) && !t->reserved && t->name && !t->function && !dpa->pid)
		return gda_because(-EINVAL,
				   "task \"%s\" has a name alone, and the context no gda_dpa_attr.program: define the task with GDA_DPA_TASK()",
				   t->name);
	if (!t || t->size < sizeof(*t) || t->reserved || !t->name)
		return gda_because(-EINVAL,
				   "task is not initialized: define it with GDA_DPA_TASK(), or set its size and name");
	if (!l->threads || l->threads > dpa->map.threads)
		return gda_because(-EINVAL, "threads %u: set it to 1 to %u", l->threads,
				   dpa->map.threads);
	if (l->bytes > GDA_DPA_MAX_ARGS || (l->bytes && !l->args))
		return gda_because(-EINVAL,
				   "args is NULL, or its %u bytes are over %u: put more into the heap",
				   l->bytes, GDA_DPA_MAX_ARGS);
	if ((l->wait && l->wait->dpa != dpa) || (l->done && l->done->dpa != dpa))
		return gda_because(-EINVAL,
				   "wait or done is an event of another gda_dpa context: pass one of this");
	if (l->wait && !(l->wait->subscribers & GDA_DPA_TASKS))
		return gda_because(-EACCES,
				   "tasks are no subscriber of wait: create the event with GDA_DPA_TASKS among subscribers");
	if (l->done && !(l->done->publishers & GDA_DPA_TASKS))
		return gda_because(-EACCES,
				   "tasks are no publisher of done: create the event with GDA_DPA_TASKS among publishers");
	if (l->counter && (l->wait || !l->arrivals))
		return gda_because(-EINVAL,
				   "with counter, set wait to NULL and arrivals to at least 1");
	if (l->counter && l->counter->ctx != dpa->ctx)
		return gda_because(-EINVAL,
				   "counter is of another context: create it with that of gda_dpa_create()");
	return 0;
}

/* Translate the condition of a launch for the ring. Under dpa->lock. */
static int gda_dpa_launch_source(struct gda_dpa *dpa, const struct gda_dpa_launch_attr *l,
				 struct gda_dpa_entry *e)
{
	int err;

	e->threshold = l->threshold;
	e->source = l->wait ? l->wait->handle : 0;
	if (!l->counter)
		return 0;
	e->threshold = l->arrivals - 1;
	err = gda_dpa_number_counter(dpa, l->counter, &e->source);
	if (err)
		gda_because(err,
			    "launches wait for %u counters already: let one end before",
			    GDA_DPA_COUNTERS);
	return err;
}

/* Under dpa->lock. */
static int gda_dpa_launch_push(struct gda_dpa *dpa, const struct gda_dpa_entry *e)
{
	struct gda_dpa_map *m = &dpa->map;
	uint64_t ended = __atomic_load_n(&m->header->ended, __ATOMIC_ACQUIRE);

	if (ended > dpa->launched) {
		gda_dpa_fatal(m, GDA_DPA_CORRUPTED, UINT32_MAX);
		return -ENOTRECOVERABLE;
	}
	if (dpa->launched - ended >= m->launches)
		return gda_because(-EAGAIN,
				   "%u launches have not ended: wait for one, or set a larger gda_dpa_attr.launches",
				   m->launches);
	memcpy(&m->ring[dpa->launched % m->launches], e,
	       offsetof(struct gda_dpa_entry, args) + e->bytes);
	dpa->launched++;
	__atomic_store_n(&m->header->tail, dpa->launched, __ATOMIC_SEQ_CST);
	return 0;
}

/*
 * Will the bell be rung when the launch may start? Then the launch itself need not ring: this
 * follows the store of the tail, so an update not seen here rings the bell for a pool that sees the
 * tail.
 */
static bool gda_dpa_launch_waits(const struct gda_dpa *dpa, const struct gda_dpa_launch_attr *l)
{
	const struct gda_dpa_word *w;

	if (!l->wait)
		return false;
	w = &dpa->map.words[l->wait->handle];
	return !(__atomic_load_n(&w->publishers, __ATOMIC_RELAXED) & GDA_DPA_SILENT) &&
	       __atomic_load_n(&w->value, __ATOMIC_SEQ_CST) <= l->threshold;
}

static int gda_dpa_launch_one(struct gda_dpa *dpa, const struct gda_dpa_launch_attr *theirs)
{
	struct gda_dpa_launch_attr l;
	struct gda_dpa_entry e;
	int err = gda_dpa_enter(dpa);

	if (!err)
		err = gda_struct_read(&l, sizeof(l), GDA_THROUGH(struct gda_dpa_launch_attr, args),
				      theirs);
	if (!err)
		err = gda_dpa_launch_check(dpa, &l);
	if (err)
		return err;
	e.value = l.value;
	e.flags = l.flags;
	e.done = l.done ? l.done->handle : 0;
	e.threads = l.threads;
	e.bytes = l.bytes;
	if (l.bytes)
		memcpy(e.args, l.args, l.bytes);
	pthread_mutex_lock(&dpa->lock);
	err = gda_dpa_number_task(dpa, l.task, &e.task);
	if (!err)
		err = gda_dpa_launch_source(dpa, &l, &e);
	if (!err)
		err = gda_dpa_launch_push(dpa, &e);
	pthread_mutex_unlock(&dpa->lock);
	if (!err && !gda_dpa_launch_waits(dpa, &l))
		gda_dpa_bell_ring(&dpa->map, 0);
	/* report the reason, if it is known yet */
	if (err == -ENOTRECOVERABLE)
		gda_dpa_enter(dpa);
	return err;
}

GDA_EXPORT int gda_dpa_launch(struct gda_dpa *dpa, const struct gda_dpa_launch_attr *launch)
{
	return gda_called(gda_dpa_launch_one(dpa, launch), "gda_dpa_launch", "%p",
			  (const void *)launch);
}
