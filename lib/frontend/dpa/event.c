// SPDX-License-Identifier: MIT
/*
 * The host's side of events. The host's own record says who may publish and subscribe; the copy in
 * shared memory is for tasks.
 */
#include <errno.h>
#include <stdlib.h>
#include "dpa_internal.h"

#define GDA_DPA_PLACES	(GDA_DPA_HOST | GDA_DPA_TASKS)
#define GDA_DPA_UPDATES	(GDA_DPA_PLACES | GDA_DPA_PEERS | GDA_DPA_GPU)
#define GDA_DPA_READERS	(GDA_DPA_PLACES | GDA_DPA_GPU)

static int gda_dpa_event_read_attr(struct gda_dpa_event_attr *a,
				   const struct gda_dpa_event_attr *theirs)
{
	int err;

	*a = (struct gda_dpa_event_attr) { .size = sizeof(*a) };
	if (theirs) {
		err = gda_struct_read(a, sizeof(*a),
				      GDA_THROUGH(struct gda_dpa_event_attr, subscribers), theirs);
		if (err)
			return err;
	}
	if (a->flags)
		return gda_because(-EOPNOTSUPP, "flags %#x: set it to 0", a->flags);
	if (a->publishers & ~(uint32_t)GDA_DPA_UPDATES ||
	    a->subscribers & ~(uint32_t)GDA_DPA_READERS)
		return gda_because(-EINVAL,
				   "publishers %#x, subscribers %#x: only GDA_DPA_HOST, GDA_DPA_TASKS, GDA_DPA_GPU, and of publishers GDA_DPA_PEERS, are known",
				   a->publishers, a->subscribers);
	a->publishers = a->publishers ? a->publishers : GDA_DPA_PLACES;
	a->subscribers = a->subscribers ? a->subscribers : GDA_DPA_PLACES;
	return 0;
}

/* Pick a handle that is not in use; 0 if there is none. Under dpa->lock. */
static uint32_t gda_dpa_event_pick(struct gda_dpa *dpa)
{
	uint32_t i;

	for (i = 1; i <= dpa->map.events; i++)
		if (!dpa->event_used[i])
			return i;
	return 0;
}

static int gda_dpa_event_new(struct gda_dpa *dpa, const struct gda_dpa_event_attr *theirs,
			     struct gda_dpa_event **event)
{
	struct gda_dpa_event_attr attr;
	struct gda_dpa_event *e;
	struct gda_dpa_word *w;
	uint32_t silent = 0;
	int err = gda_dpa_enter(dpa);

	if (!err)
		err = gda_dpa_event_read_attr(&attr, theirs);
	if (!err && attr.publishers & GDA_DPA_PEERS && attr.publishers & GDA_DPA_PLACES &&
	    !dpa->atomic_cpu)
		err = gda_because(-EOPNOTSUPP,
				  "the device's atomics are not atomic to the processor's: let publishers be GDA_DPA_PEERS alone, or be without");
	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->dpa = dpa;
	e->publishers = attr.publishers;
	e->subscribers = attr.subscribers;
	pthread_mutex_lock(&dpa->lock);
	e->handle = gda_dpa_event_pick(dpa);
	if (!e->handle) {
		pthread_mutex_unlock(&dpa->lock);
		free(e);
		return gda_because(-ENOSPC,
				   "all %u events are in use: destroy one, or set a larger gda_dpa_attr.events",
				   dpa->map.events);
	}
	dpa->event_used[e->handle] = 1;
	e->next = dpa->events;
	dpa->events = e;
	w = &dpa->map.words[e->handle];
	__atomic_store_n(&w->value, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->subscribers, e->subscribers, __ATOMIC_RELAXED);
	if ((e->publishers & GDA_DPA_PEERS && !dpa->wake_cq) || e->publishers & GDA_DPA_GPU)
		silent = GDA_DPA_SILENT;
	__atomic_store_n(&w->publishers, e->publishers | silent, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&dpa->lock);
	*event = e;
	return 0;
}

GDA_EXPORT int gda_dpa_event_create(struct gda_dpa *dpa, const struct gda_dpa_event_attr *attr,
				    struct gda_dpa_event **event)
{
	return gda_called(gda_dpa_event_new(dpa, attr, event), "gda_dpa_event_create", "%p",
			  (const void *)attr);
}

GDA_EXPORT int gda_dpa_event_destroy(struct gda_dpa_event *event)
{
	struct gda_dpa_event **link;
	struct gda_dpa *dpa;
	uint32_t handle;

	if (!event)
		return 0;
	dpa = event->dpa;
	handle = event->handle;
	/* in a child of fork(2) the lock may be held by a thread that does not exist there */
	if (dpa->generation != gda_fork_generation()) {
		free(event);
		return 0;
	}
	pthread_mutex_lock(&dpa->lock);
	for (link = &dpa->events; *link != event;)
		link = &(*link)->next;
	*link = event->next;
	__atomic_store_n(&dpa->map.words[handle].publishers, 0, __ATOMIC_RELAXED);
	dpa->event_used[handle] = 0;
	pthread_mutex_unlock(&dpa->lock);
	free(event);
	return gda_called(0, "gda_dpa_event_destroy", "%u", handle);
}

GDA_EXPORT uint32_t gda_dpa_event_handle(const struct gda_dpa_event *event)
{
	return event->handle;
}

/* The word of an event, if the host may do this with it (@places). */
static int gda_dpa_event_word(struct gda_dpa_event *event, uint32_t places, const char *name,
			      struct gda_dpa_word **word)
{
	int err = gda_dpa_enter(event->dpa);

	if (gda_unlikely(!err && !(places & GDA_DPA_HOST)))
		err = gda_because(-EACCES,
				  "the host is no %s of the event: create it with GDA_DPA_HOST among them",
				  name);
	*word = err ? NULL : &event->dpa->map.words[event->handle];
	return err;
}

/* These calls report to gda_called() only failures, because it would dominate their time. */
static int gda_dpa_event_called(int err, const struct gda_dpa_event *event, const char *call)
{
	return gda_unlikely(err) ? gda_called(err, call, "event %u", event->handle) : 0;
}

GDA_EXPORT int gda_dpa_event_get(struct gda_dpa_event *event, uint64_t *value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_event_word(event, event->subscribers, "subscriber", &w);

	if (!err)
		*value = gda_dpa_word_value(w);
	return gda_dpa_event_called(err, event, "gda_dpa_event_get");
}

GDA_EXPORT int gda_dpa_event_add(struct gda_dpa_event *event, uint64_t value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_event_word(event, event->publishers, "publisher", &w);

	if (!err)
		gda_dpa_word_add(&event->dpa->map, w, value);
	return gda_dpa_event_called(err, event, "gda_dpa_event_add");
}

GDA_EXPORT int gda_dpa_event_set(struct gda_dpa_event *event, uint64_t value)
{
	struct gda_dpa_word *w;
	int err = gda_dpa_event_word(event, event->publishers, "publisher", &w);

	if (!err)
		gda_dpa_word_set(&event->dpa->map, w, value);
	return gda_dpa_event_called(err, event, "gda_dpa_event_set");
}

static int gda_dpa_event_await(struct gda_dpa_event *event, struct gda_dpa_wait *wait,
			       uint64_t deadline)
{
	int err = gda_dpa_event_word(event, event->subscribers, "subscriber", &wait->word);

	if (err)
		return err;
	if (!deadline)
		deadline = gda_clock_ns() + 1000000000;
	err = gda_dpa_word_wait(&event->dpa->map, wait, deadline, false);
	if (err == -ESHUTDOWN)
		return gda_dpa_enter(event->dpa);
	if (err == -ETIMEDOUT)
		gda_because(err,
			    "event %u has value %#llx, which is not %s %#llx by mask %#llx, at the deadline: does its publisher run?",
			    event->handle, (unsigned long long)gda_dpa_word_value(wait->word),
			    wait->differs ? "other than" : "more than",
			    (unsigned long long)wait->than, (unsigned long long)wait->mask);
	return err;
}

GDA_EXPORT int gda_dpa_event_await_gt(struct gda_dpa_event *event, uint64_t threshold,
				      uint64_t mask, uint64_t deadline)
{
	struct gda_dpa_wait wait = { .than = threshold, .mask = mask };

	return gda_dpa_event_called(gda_dpa_event_await(event, &wait, deadline), event,
				    "gda_dpa_event_await_gt");
}

GDA_EXPORT int gda_dpa_event_await_ne(struct gda_dpa_event *event, uint64_t value, uint64_t mask,
				      uint64_t deadline)
{
	struct gda_dpa_wait wait = { .than = value, .mask = mask, .differs = true };

	return gda_dpa_event_called(gda_dpa_event_await(event, &wait, deadline), event,
				    "gda_dpa_event_await_ne");
}
