// SPDX-License-Identifier: MIT
/*
 * Doorbell by fault, as in kmod/gda_core/doorbell.c, worker.c and mmap.c: no doorbell is
 * lost, whatever the order of stores, faults, the worker going idle, kicks and a device
 * that pins the page. And the model can tell: with a rule taken away, one is lost.
 *
 * One doorbell page. A poster's store is one step if the page is mapped, else it faults
 * and tries again. The kernel's functions are written out with a step before each
 * access to something shared; their names are kept.
 */
#include <stdio.h>
#include <string.h>
#include "explore.h"

/* Rules that can be taken away. */
enum rule {
	NONE,
	LOOK_AGAIN,		/* after the unmapping, look for work once more */
	UNMAP_FIRST,		/* ... after it, not before */
	INSTALL_LOCKED,		/* the handler maps the page itself, under the mutex */
	IDLE_LOCKED,		/* the worker goes idle under the mutex */
	STATE_FIRST,		/* the worker says that it sleeps, then looks */
	WAKE,			/* the handler wakes the worker */
	KICK_BIT,		/* a kick leaves a bit that the worker looks at before it sleeps */
	SEE_PINS,		/* a page with references beyond ours is polled */
	RULES
};

static const char *const rule_names[RULES] = {
	[NONE] = "as it is",
	[LOOK_AGAIN] = "no second look after the unmapping",
	[UNMAP_FIRST] = "second look before the unmapping",
	[INSTALL_LOCKED] = "page mapped after the handler's mutex",
	[IDLE_LOCKED] = "going idle without the mutex",
	[STATE_FIRST] = "looking before the task's state is set",
	[WAKE] = "the handler wakes nobody",
	[KICK_BIT] = "a kick leaves no bit",
	[SEE_PINS] = "pins of the page not looked at",
};

static enum rule broken;

#define POSTERS		2
#define POSTS		2	/* of each; a QP of its own, one page for all */

static struct {
	bool mapped;			/* the page is in the page table */
	unsigned int refs;		/* pins of the page */
	int map_lock;			/* owner + 1 */
	bool active;			/* of struct gda_ctx */
	bool paced;
	bool asleep;			/* task state is not running */
	bool kick;			/* GDA_WORKER_KICK */
	bool ready;			/* QP 0 is connected */
	uint8_t doorbell[POSTERS];	/* indices stored */
	uint8_t consumed[POSTERS];
} s;

#define STEP(name, field)	explore_step(name, &s.field)

static bool unlocked(long arg)
{
	(void)arg;
	return !s.map_lock;
}

static void lock(int id)
{
	explore_wait("lock map_lock", unlocked, 0);
	s.map_lock = id + 1;
}

static void unlock(void)
{
	STEP("unlock map_lock", map_lock);
	s.map_lock = 0;
}

static void wake_up_process(void)
{
	STEP("wake_up_process", asleep);
	s.asleep = false;
}

/* --- mmap.c and doorbell.c --- */

static void gda_doorbell_fault(void)
{
	STEP("fault: active?", active);
	if (s.active)
		return;
	STEP("fault: active = true", active);
	s.paced = false;
	s.active = true;
	if (broken != WAKE)
		wake_up_process();
}

static void gda_vma_fault(int id)
{
	lock(id);
	gda_doorbell_fault();
	if (broken == INSTALL_LOCKED)
		unlock();
	STEP("install the page", mapped);
	s.mapped = true;
	if (broken != INSTALL_LOCKED)
		unlock();
}

static bool gda_doorbell_pending(void)
{
	int i;

	for (i = 0; i < POSTERS; i++) {
		STEP("pending?", doorbell[i]);
		if ((i || s.ready) && s.doorbell[i] != s.consumed[i])
			return true;
	}
	return false;
}

static void unmap_mapping_range(void)
{
	STEP("unmap and flush", mapped);
	s.mapped = false;
}

static void gda_doorbell_idle(int id)
{
	bool pending = false;

	if (broken != IDLE_LOCKED)
		lock(id);
	STEP("idle: active = false", active);
	s.active = false;
	if (broken == UNMAP_FIRST)
		pending = gda_doorbell_pending();
	unmap_mapping_range();
	if (broken != UNMAP_FIRST && broken != LOOK_AGAIN)
		pending = gda_doorbell_pending();
	if (pending) {
		STEP("idle: active again", active);
		s.active = true;
		s.paced = false;
	} else if (broken != SEE_PINS) {
		STEP("idle: pinned?", refs);
		if (s.refs) {
			STEP("idle: active, paced", active);
			s.active = true;
			s.paced = true;
		}
	}
	if (broken != IDLE_LOCKED)
		unlock();
}

static void gda_doorbell_activate(int id)
{
	lock(id);
	STEP("activate", active);
	s.active = true;
	s.paced = false;
	unlock();
}

/* --- worker.c --- */

static bool gda_worker_scan(void)
{
	bool progress = false;
	int i;

	for (i = 0; i < POSTERS; i++) {
		STEP("visit", doorbell[i]);
		if ((i || s.ready) && s.doorbell[i] != s.consumed[i]) {
			s.consumed[i] = s.doorbell[i];
			progress = true;
		}
	}
	return progress;
}

static bool running(long arg)
{
	(void)arg;
	return !s.asleep;
}

static void gda_worker_sleep(void)
{
	bool stay;

	if (broken != STATE_FIRST) {
		STEP("set_current_state", asleep);
		s.asleep = true;
	}
	STEP("kicked?", kick);
	stay = s.kick && broken != KICK_BIT;
	STEP("any active?", active);
	stay |= s.active;
	if (broken == STATE_FIRST) {
		STEP("set_current_state", asleep);
		s.asleep = true;
	}
	if (!stay)
		explore_wait("schedule", running, 0);
	STEP("running", asleep);
	s.asleep = false;
}

/* usleep_range() of a paced page: the worker is back only when there is something. */
static bool worth_a_look(long arg)
{
	(void)arg;
	return s.kick || !s.paced || !s.refs || (s.ready && s.doorbell[0] != s.consumed[0]) ||
	       s.doorbell[1] != s.consumed[1];
}

static void worker(int id)
{
	for (;;) {
		bool all, progress = false;

		STEP("test and clear kick", kick);
		all = s.kick && broken != KICK_BIT;
		s.kick = false;
		STEP("pass: active?", active);
		if (all && !s.active && gda_doorbell_pending())
			gda_doorbell_activate(id);
		STEP("pass: active?", active);
		if (s.active) {
			progress = gda_worker_scan();
			if (!progress)
				gda_doorbell_idle(id);
		}
		STEP("active?", active);
		if (progress)
			continue;
		if (!s.active)
			gda_worker_sleep();
		else if (s.paced)
			explore_wait("usleep_range", worth_a_look, 0);
	}
}

/* --- who stores --- */

static void store_doorbell(int id, int qp)
{
	for (;;) {
		STEP("store", doorbell[qp]);
		if (s.mapped) {
			s.doorbell[qp]++;
			return;
		}
		gda_vma_fault(id);
	}
}

static void poster(int id)
{
	int i;

	for (i = 0; i < POSTS; i++)
		store_doorbell(id, id);
}

/* GDA_IOC_QP_CONNECT by the peer: work may have been posted already. */
static void connector(int id)
{
	(void)id;
	STEP("connect: ready", ready);
	s.ready = true;
	STEP("kick: bit", kick);
	s.kick = true;
	wake_up_process();
}

/*
 * A driver pins the page of QP 1 for a device, which then stores without faulting. Pins
 * are taken through the page table: an unmapped page is faulted in first.
 */
static void device(int id)
{
	int i;

	for (;;) {
		STEP("pin", refs);
		if (s.mapped)
			break;
		gda_vma_fault(id);
	}
	s.refs++;
	for (i = 0; i < POSTS; i++) {
		STEP("device stores", doorbell[1]);
		s.doorbell[1]++;
	}
}

static void init_connected(void)
{
	s.ready = true;
	s.asleep = true;
}

static void init_unconnected(void)
{
	s.asleep = true;
}

static void finished(void)
{
	explore_check(s.consumed[0] == s.doorbell[0] && s.consumed[1] == s.doorbell[1]);
	explore_check(!s.map_lock);
	/* idle is idle, unless a device may store at any time */
	explore_check(s.refs || (!s.active && !s.mapped));
	explore_check(!s.refs || s.active);
}

#define WORKER	{ .name = "worker", .main = worker, .id = 4, .daemon = true }

static struct scenario {
	const char *name;
	struct explore_model m;
	unsigned int tells;		/* which broken rules it finds, a bit each */
} scenarios[] = {
	{
		.name = "two posters on one page",
		.m = {
			.init = init_connected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "poster 1", .main = poster, .id = 1 },
			},
		},
		.tells = 1U << LOOK_AGAIN | 1U << UNMAP_FIRST | 1U << INSTALL_LOCKED |
			 1U << IDLE_LOCKED | 1U << STATE_FIRST | 1U << WAKE,
	}, {
		.name = "posting while the peer connects",
		.m = {
			.init = init_unconnected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "poster 1", .main = poster, .id = 1 },
				{ .name = "connect", .main = connector, .id = 2 },
			},
		},
		.tells = 1U << KICK_BIT,
	}, {
		.name = "a device that pinned the page",
		.m = {
			.init = init_connected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "device", .main = device, .id = 3 },
			},
		},
		.tells = 1U << SEE_PINS,
	},
};

#define SCENARIOS	(sizeof(scenarios) / sizeof(scenarios[0]))

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");
	unsigned int i, n = 0, failed = 0;
	struct explore_result r;
	bool ok;

	printf("TAP version 13\n1..%u\n", (unsigned int)SCENARIOS + RULES - 1);
	for (i = 0; i < SCENARIOS; i++) {
		struct scenario *sc = &scenarios[i];

		sc->m.shared = &s;
		sc->m.shared_bytes = sizeof(s);
		sc->m.finished = finished;
		for (broken = NONE; broken < RULES; broken++) {
			if (broken != NONE && !(sc->tells & 1U << broken))
				continue;
			explore(&sc->m, &r, verbose || broken == NONE);
			ok = broken == NONE ? r.complete && r.runs : r.failure[0] != 0;
			failed += !ok;
			printf("# %llu states, %llu steps, %llu ends; %s\n",
			       (unsigned long long)r.states, (unsigned long long)r.steps,
			       (unsigned long long)r.runs,
			       r.failure[0] ? r.failure : "no failure");
			printf("%sok %u %s: %s%s\n", ok ? "" : "not ", ++n, sc->name,
			       broken == NONE ? "" : "found: ", rule_names[broken]);
		}
	}
	return failed != 0;
}
