// SPDX-License-Identifier: MIT
/*
 * Doorbell by fault, as in kmod/gda_core/doorbell.c, worker.c, mmap.c and export.c: no
 * doorbell is lost, whatever the order of stores, faults, the worker going idle, kicks,
 * and a device that stores without faulting: through a pin, a dma-buf or for a polled
 * queue. And the model can tell: with a rule taken away, one is lost.
 *
 * One doorbell page. A poster's store is one step if the page is mapped, else it faults
 * and tries again. The kernel's functions are written out with a step before each
 * access to something shared; their names are kept.
 *
 * Memory is sequentially consistent. The model shows the need of a barrier by the order that
 * could be without it: the smp_rmb() between the count of who holds the page and the
 * look, by looking first (HOLDERS_FIRST); the order of a store before the holder lets
 * go, by a store that lands after it (RELEASE).
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
	SEE_EXPORTS,		/* ... and one with a dma-buf */
	SEE_POLLED,		/* ... and one with a polled queue */
	POLL_ACTIVATES,		/* which makes a silent page active */
	HOLDERS_FIRST,		/* who holds the page is asked before the last look */
	RELEASE,		/* who lets go of it has stored before */
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
	[SEE_EXPORTS] = "dma-bufs of the page not looked at",
	[SEE_POLLED] = "polled queues not looked at",
	[POLL_ACTIVATES] = "a page that is to be polled stays silent",
	[HOLDERS_FIRST] = "who holds the page asked after the look",
	[RELEASE] = "a store that lands after its holder let go",
};

static enum rule broken;

#define POSTERS		2
#define POSTS		2	/* of each; a QP of its own, one page for all */

static struct {
	bool mapped;			/* the page is in the page table */
	unsigned int refs;		/* pins of the page */
	unsigned int exports;		/* dma-bufs of the region */
	unsigned int npolled;		/* polled queues of the page */
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

static void gda_doorbell_set_active(const char *why)
{
	STEP(why, active);
	s.paced = false;
	s.active = true;
}

static void gda_doorbell_fault(void)
{
	STEP("fault: active?", active);
	if (s.active)
		return;
	gda_doorbell_set_active("fault: active = true");
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

static bool gda_doorbell_polled(void)
{
	STEP("idle: polled?", npolled);
	if (s.npolled && broken != SEE_POLLED)
		return true;
	STEP("idle: exported?", exports);
	return s.exports && broken != SEE_EXPORTS;
}

static bool gda_doorbell_shared(void)
{
	STEP("idle: pinned?", refs);
	return s.refs && broken != SEE_PINS;
}

/* Return: true if the page must stay active. */
static bool gda_doorbell_unmap(void)
{
	bool pending = false, shared = false;

	STEP("idle: active = false", active);
	s.active = false;
	if (broken == UNMAP_FIRST)
		pending = gda_doorbell_pending();
	unmap_mapping_range();
	if (broken != HOLDERS_FIRST)
		shared = gda_doorbell_shared();
	if (broken != UNMAP_FIRST && broken != LOOK_AGAIN)
		pending = gda_doorbell_pending();
	if (pending) {
		gda_doorbell_set_active("idle: active again");
		return false;
	}
	if (broken == HOLDERS_FIRST)
		shared = gda_doorbell_polled() || gda_doorbell_shared();
	return shared;
}

static void gda_doorbell_idle(int id)
{
	if (broken != IDLE_LOCKED)
		lock(id);
	if ((broken != HOLDERS_FIRST && gda_doorbell_polled()) || gda_doorbell_unmap()) {
		gda_doorbell_set_active("idle: active, paced");
		s.paced = true;
	}
	if (broken != IDLE_LOCKED)
		unlock();
}

static void gda_doorbell_activate(int id)
{
	lock(id);
	gda_doorbell_set_active("activate");
	unlock();
}

/* A polled queue came (@n 1) or went (@n -1). */
static void gda_doorbell_poll(int id, int n)
{
	lock(id);
	STEP("poll: npolled", npolled);
	s.npolled += (unsigned int)n;
	if (broken != POLL_ACTIVATES) {
		gda_doorbell_set_active("poll: active");
		wake_up_process();
	}
	unlock();
}

static void gda_doorbell_export(int id)
{
	STEP("export: exports + 1", exports);
	s.exports++;
	gda_doorbell_poll(id, 0);
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
	STEP("any active?", active);
	stay = s.active;
	STEP("kicked?", kick);
	stay |= s.kick && broken != KICK_BIT;
	if (broken == STATE_FIRST) {
		STEP("set_current_state", asleep);
		s.asleep = true;
	}
	if (!stay)
		explore_wait("schedule", running, 0);
	STEP("running", asleep);
	s.asleep = false;
}

/* Somebody may store without a fault. */
static bool held(void)
{
	return s.refs || s.exports || s.npolled;
}

/* usleep_range() of a paced page: the worker is back only when there is something. */
static bool worth_a_look(long arg)
{
	(void)arg;
	return s.kick || !s.paced || !held() || (s.ready && s.doorbell[0] != s.consumed[0]) ||
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

/* A device stores: nothing of it faults. */
static void device_stores(void)
{
	STEP("device stores", doorbell[1]);
	s.doorbell[1]++;
}

/*
 * ... for the last time, then what it stored through is given back: the last step that
 * unpin_user_page() or gda_export_release() has, an atomic that comes after the store.
 */
static void device_lets_go(const char *how, unsigned int *holders)
{
	if (broken != RELEASE)
		device_stores();
	explore_step(how, holders);
	--*holders;
	if (broken == RELEASE)
		device_stores();
}

/*
 * A driver pins the page of QP 1 for a device. Pins are taken through the page table: an
 * unmapped page is faulted in first.
 */
static void pin(int id)
{
	for (;;) {
		STEP("pin", refs);
		if (s.mapped)
			break;
		gda_vma_fault(id);
	}
	s.refs++;
}

static void device_pins(int id)
{
	int i;

	pin(id);
	for (i = 0; i < POSTS; i++)
		device_stores();
}

static void device_unpins(int id)
{
	pin(id);
	device_stores();
	device_lets_go("unpin", &s.refs);
}

/* The same by a dma-buf of the page, of which the page table knows nothing. */
static void device_exported(int id)
{
	gda_doorbell_export(id);
	device_stores();
	device_lets_go("gda_export_release: exports - 1", &s.exports);
}

static bool served(long arg)
{
	(void)arg;
	return s.consumed[1] == s.doorbell[1];
}

/* And for a polled queue, which then is destroyed. */
static void device_polled(int id)
{
	int i;

	gda_doorbell_poll(id, 1);
	for (i = 0; i < POSTS; i++)
		device_stores();
	explore_wait("completion", served, 0);
	gda_doorbell_poll(id, -1);
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
	explore_check(held() || (!s.active && !s.mapped));
	explore_check(!held() || s.active);
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
				{ .name = "device", .main = device_pins, .id = 3 },
			},
		},
		.tells = 1U << SEE_PINS,
	}, {
		.name = "a device that stores and unpins the page",
		.m = {
			.init = init_connected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "device", .main = device_unpins, .id = 3 },
			},
		},
		.tells = 1U << SEE_PINS | 1U << HOLDERS_FIRST | 1U << RELEASE,
	}, {
		.name = "a device that stores through a dma-buf, which is released",
		.m = {
			.init = init_connected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "device", .main = device_exported, .id = 3 },
			},
		},
		.tells = 1U << SEE_EXPORTS | 1U << POLL_ACTIVATES | 1U << HOLDERS_FIRST |
			 1U << RELEASE,
	}, {
		.name = "a device that stores for a polled queue",
		.m = {
			.init = init_connected,
			.thread = {
				WORKER,
				{ .name = "poster 0", .main = poster, .id = 0 },
				{ .name = "device", .main = device_polled, .id = 3 },
			},
		},
		.tells = 1U << SEE_POLLED | 1U << POLL_ACTIVATES,
	},
};

#define SCENARIOS	(sizeof(scenarios) / sizeof(scenarios[0]))

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");
	unsigned int i, n = 0, failed = 0, plan = SCENARIOS;
	struct explore_result r;
	bool ok;

	for (i = 0; i < SCENARIOS; i++)
		plan += (unsigned int)__builtin_popcount(scenarios[i].tells);
	printf("TAP version 13\n1..%u\n", plan);
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
