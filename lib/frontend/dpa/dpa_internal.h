/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/frontend/dpa: the memory that host and tasks share, the pool, and a context.
 *
 * The memory of a context is one memfd (struct gda_dpa_map): a header, a slot for each thread, the
 * ring of launches, the log, the events, the heap. Tasks may overwrite any of it. So the host keeps
 * its own records of allocations and launches, the pool copies each launch out of the ring once,
 * and both check what they read before they use it. Events and heap are the context's MR; peers
 * reach nothing else.
 *
 * Waiting: a thread that has spun for a while increments header.sleepers, reads the event again,
 * and sleeps on header.bell. An update changes the event, then loads header.sleepers, and rings the
 * bell if that is not 0. All four accesses are sequentially consistent, so one of the two threads
 * sees the other's.
 */
#ifndef GDA_DPA_INTERNAL_H
#define GDA_DPA_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <gda/barrier.h>
#include <gda/dpa.h>
#include "gda_internal.h"

#define GDA_DPA_LINE	64U
#define GDA_DPA_COUNTERS	64U
#define GDA_DPA_TASKS_MAX	1024U
#define GDA_DPA_MAX_EVENTS	65536U
#define GDA_DPA_MAX_LAUNCHES	65536U
#define GDA_DPA_MAX_LINES	65536U
#define GDA_DPA_MAX_HEAP	(1ULL << 40)
#define GDA_DPA_MAX_RUN_NS	(3600ULL * 1000000000)

/*
 * Flag in gda_dpa_word.publishers: updates may be silent, so a sleeping waiter polls every
 * millisecond.
 */
#define GDA_DPA_SILENT	(1U << 31)

#define GDA_DPA_NAP_NS	1000000U	/* sleep between two polls, if updates may be silent */
#define GDA_DPA_SLEEP_NS	10000000000ULL	/* ... and if they are not */

/*
 * Kinds of threads that sleep on the bell: the lookout; idle threads of the pool; and waiters for
 * an event, by its handle. The last bit marks waiters for an event that peers update, too.
 */
#define GDA_DPA_LOOKOUT	1U
#define GDA_DPA_BENCH	2U
#define GDA_DPA_FOR_PEERS	4U
#define GDA_DPA_FOR(handle)	(8U << (handle) % 29)

/* --- shared memory --- */

/* The reason why the context became fatal: set once, from 0, by the first thread that notices. */
#define GDA_DPA_FATAL(reason, thread)	((uint64_t)(reason) << 32 | ((thread) + 1))

struct gda_dpa_header {
	uint32_t bell;		/* futex word, incremented by each ring */
	uint32_t sleepers;	/* threads that sleep for an event */
	uint32_t bench;		/* 1: no lookout is polling, so wake an idle thread */
	uint32_t stop;		/* 1: end every wait of a task, and start no task */
	uint64_t fatal;		/* GDA_DPA_FATAL(), or 0 */
	/* written by the process of tasks as it crashes: */
	uint32_t crash_thread;	/* 1 + its index */
	uint32_t crash_kind;	/* enum gda_dpa_reason; stored last */
	uint32_t crash_signal;
	uint64_t crash_address;

	uint64_t tail __attribute__((aligned(64)));	/* launches written to the ring */

	uint64_t ended __attribute__((aligned(64)));	/* launches that have ended */

	uint64_t log_tail __attribute__((aligned(64)));	/* lines reserved */
	uint64_t log_dropped;

	uint64_t log_head __attribute__((aligned(64)));	/* lines taken */
} __attribute__((aligned(64)));

/* The task that a thread of the pool is running. */
struct gda_dpa_slot {
	uint64_t started_ns;	/* 0: nothing; set last at the start, cleared first at the end */
	uint32_t task;
	uint32_t rank;
	uint32_t threads;
} __attribute__((aligned(64)));

/* A launch in the ring. */
struct gda_dpa_entry {
	uint64_t threshold;
	uint64_t value;
	uint32_t flags;
	uint32_t task;
	uint32_t source;	/* event handle, or GDA_DPA_COUNTER + n, or 0: none */
	uint32_t done;		/* event handle; 0: none */
	uint32_t threads;
	uint32_t bytes;
	uint8_t args[GDA_DPA_MAX_ARGS] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

#define GDA_DPA_COUNTER	(1U << 31)

struct gda_dpa_line {
	uint64_t number;	/* number of the line, from 1; stored last */
	uint32_t bytes;
	uint32_t rank;
	char text[GDA_DPA_LINE_BYTES];
} __attribute__((aligned(64)));

struct gda_dpa_word {
	uint64_t value;
	uint32_t publishers;	/* 0: not in use; GDA_DPA_SILENT: updates may be silent */
	uint32_t subscribers;
} __attribute__((aligned(64)));

/* Precedes the first buffer of an array in the heap. */
struct gda_dpa_array {
	uint64_t magic;
	uint64_t count;
};

#define GDA_DPA_ARRAY_MAGIC	0x6764615f62756673ULL

/* The addresses of these parts in this process. */
struct gda_dpa_map {
	uint32_t threads;
	uint32_t events;
	uint32_t launches;
	uint32_t lines;
	uint64_t heap_bytes;
	uint64_t mr_offset;	/* where the peers' part begins: events, then heap */
	uint64_t mr_bytes;
	uint64_t bytes;
	uint64_t spin_ns;
	char *base;
	struct gda_dpa_header *header;
	struct gda_dpa_slot *slots;
	struct gda_dpa_entry *ring;
	struct gda_dpa_line *log;
	struct gda_dpa_word *words;	/* by handle; handle 0 is not used */
	char *heap;
};

/* --- map.c --- */

/* Compute sizes from the four numbers and @heap_bytes of @m; maps nothing. */
void gda_dpa_map_layout(struct gda_dpa_map *m);
/* Map it from @fd. */
int gda_dpa_map_open(struct gda_dpa_map *m, int fd);
void gda_dpa_map_close(struct gda_dpa_map *m);

/*
 * The heap begins at address GDA_DPA_LINE, so 0 is not a valid address. NULL if the range is not
 * all inside.
 */
static inline void *gda_dpa_map_at(const struct gda_dpa_map *m, uint64_t addr, uint64_t bytes)
{
	if (addr < GDA_DPA_LINE || addr > m->heap_bytes || bytes > m->heap_bytes - addr)
		return NULL;
	return m->heap + addr;
}

/* --- event_wait.c: events and waiting, for host and tasks --- */

/*
 * After an update, wake the lookout and the sleepers of kind @who. If there is no lookout, wake an
 * idle thread, which becomes the lookout.
 */
void gda_dpa_bell_ring(const struct gda_dpa_map *m, uint32_t who);
/* Wake @n idle threads of the pool, or all sleepers. */
void gda_dpa_bell_bench(const struct gda_dpa_map *m, int n);
void gda_dpa_bell_all(const struct gda_dpa_map *m);
/*
 * Sleep until the bell differs from @bell, or for @ns. @who: the kind of sleeper, from the bits
 * above.
 */
void gda_dpa_bell_sleep(const struct gda_dpa_map *m, uint32_t bell, uint64_t ns, uint32_t who);

/* Make the context fatal, unless it is. Return: whether this was the first reason. */
bool gda_dpa_fatal(const struct gda_dpa_map *m, uint32_t reason, uint32_t thread);

/* The word of a handle, if @place is among its publishers or subscribers. 0, -EINVAL, -EACCES. */
int gda_dpa_word_publish(const struct gda_dpa_map *m, uint32_t handle, uint32_t place,
			 struct gda_dpa_word **word);
int gda_dpa_word_subscribe(const struct gda_dpa_map *m, uint32_t handle, uint32_t place,
			   struct gda_dpa_word **word);

static inline uint64_t gda_dpa_word_value(const struct gda_dpa_word *w)
{
	return __atomic_load_n(&w->value, __ATOMIC_ACQUIRE);
}

void gda_dpa_word_add(const struct gda_dpa_map *m, struct gda_dpa_word *w, uint64_t value);
void gda_dpa_word_set(const struct gda_dpa_map *m, struct gda_dpa_word *w, uint64_t value);

/* The condition that a wait is for. */
struct gda_dpa_wait {
	struct gda_dpa_word *word;
	uint64_t than;
	uint64_t mask;
	bool differs;		/* != and not > */
};

/*
 * Wait until @deadline. Return: 0; -ETIMEDOUT; -ESHUTDOWN if the context is fatal or, with @task,
 * is being destroyed.
 */
int gda_dpa_word_wait(const struct gda_dpa_map *m, const struct gda_dpa_wait *wait,
		      uint64_t deadline, bool task);

/* --- pool.c --- */

struct gda_dpa_pool;

/*
 * A task that was launched, by its number. Name and function are copies: the caller's struct
 * gda_dpa_task may hold another task at the next launch, or be freed before this one runs.
 */
struct gda_dpa_known {
	gda_dpa_function *function;	/* NULL: tasks run in another process */
	char name[GDA_DPA_NAME_BYTES];
};

/*
 * Return: the number of the one of @n tasks that has @name and @function, or @n if there is none.
 */
uint32_t gda_dpa_known_find(const struct gda_dpa_known *tasks, uint32_t n, const char *name,
			    gda_dpa_function *function);

/* A launch that was copied out of the ring. */
struct gda_dpa_pending {
	struct gda_dpa_pending *next;	/* next with the same source, next ready or next unused */
	uint64_t threshold;
	uint64_t value;
	uint32_t flags;
	uint32_t task;
	uint32_t done;
	uint32_t threads;
	uint32_t begun;			/* threads that were started */
	uint32_t left;			/* threads that have not ended yet */
	uint8_t args[GDA_DPA_MAX_ARGS] __attribute__((aligned(16)));
};

/* A word that launches wait for, with its launches in order of their thresholds. */
struct gda_dpa_source {
	const uint64_t *word;
	struct gda_dpa_pending *first;
	struct gda_dpa_pending *last;
	uint32_t armed;			/* 1 + index in pool.armed; 0: no launch waits */
	uint32_t silent;		/* 1: updates of the word ring no bell */
};

/* An RDMA handle, as tasks use it. */
struct gda_dpa_handle {
	struct gda_view *view;		/* atomic; NULL: the number is not in use */
	uint64_t fetched;		/* receives old values of additions */
	uint32_t key;
	uint32_t user;			/* 1 + index of the thread that uses it; atomic */
};

struct gda_dpa_thread {
	struct gda_dpa_pool *pool;
	struct gda_dpa_slot *slot;
	struct gda_view *view;		/* of this thread's queue for copies */
	uint32_t index;
	uint32_t rank;
	uint32_t threads;
	uint64_t uses[GDA_DPA_MAX_THREADS / 64];	/* handles, a bit each */
	pthread_t pthread;
};

/* The threads and their work. Under @lock except where noted. */
struct gda_dpa_pool {
	struct gda_dpa_map *map;
	pthread_mutex_t lock;
	uint64_t taken;			/* launches copied from the ring so far */
	struct gda_dpa_pending *pending;	/* an array; unused ones are listed in @free */
	struct gda_dpa_pending *unused;
	struct gda_dpa_pending *ready;
	struct gda_dpa_pending **ready_end;
	struct gda_dpa_source *sources;	/* first by event handle, then counters */
	uint32_t *armed;		/* sources that launches wait for */
	uint32_t narmed;
	uint32_t nsilent;		/* how many of the armed ones are silent */
	uint32_t nready;
	uint32_t ncounters;
	bool lookout;			/* a thread is the lookout */
	uint32_t idle;			/* threads on the bench */
	uint32_t alive;			/* threads that have not ended yet */
	uint32_t started;		/* threads ever started; the first of @threads */
	pthread_cond_t ended;
	struct gda_dpa_known *tasks;	/* by number; set before any launch uses the number */
	uint32_t ntasks;		/* atomic */
	/* if buffers' pointers are valid only in another process: */
	bool foreign;
	uint32_t mr_key;
	uint64_t mr_iova;
	struct gda_dpa_handle handles[GDA_DPA_MAX_THREADS];
	struct gda_dpa_thread threads[];
};

/* @views: the threads' queues for copies. */
int gda_dpa_pool_create(struct gda_dpa_map *map, struct gda_view **views,
			struct gda_dpa_pool **pool);
/* Let launches wait for @word; *@source is its number. 0 or -ENOSPC. */
int gda_dpa_pool_counter(struct gda_dpa_pool *pool, const uint64_t *word, uint32_t *source);
/* Register a task; @name is shorter than GDA_DPA_NAME_BYTES. 0 or -ENOSPC. */
int gda_dpa_pool_task(struct gda_dpa_pool *pool, const char *name, gda_dpa_function *function,
		      uint32_t *number);
/* Register an RDMA handle; *@handle is its number. 0 or -ENOSPC. */
int gda_dpa_pool_handle(struct gda_dpa_pool *pool, struct gda_view *view,
			const struct gda_dpa_buf *fetched, uint32_t *handle);
void gda_dpa_pool_handle_free(struct gda_dpa_pool *pool, uint32_t handle);
/* End all threads, until @deadline. 0; -EBUSY some have not ended: may be called again. */
int gda_dpa_pool_stop(struct gda_dpa_pool *pool, uint64_t deadline);
void gda_dpa_pool_free(struct gda_dpa_pool *pool);

/* The pool thread that the caller is, or NULL. */
extern _Thread_local struct gda_dpa_thread *gda_dpa_self;

/* --- serve.c --- */

/* Called by each thread of a pool as it begins. */
void gda_dpa_serve_thread(void);

/* --- task_rdma.c --- */

/* Release the handles that a thread used, when its task has ended. */
void gda_dpa_rdma_leave(struct gda_dpa_thread *t);

/* --- dpa.c --- */

struct gda_dpa_piece;

struct gda_dpa_event {
	struct gda_dpa *dpa;
	struct gda_dpa_event *next;	/* of the context's */
	uint32_t handle;
	uint32_t publishers;
	uint32_t subscribers;
};

struct gda_dpa_rdma {
	struct gda_dpa *dpa;
	struct gda_dpa_rdma *next;	/* of the context's */
	struct gda_qp *qp;
	uint64_t scratch;		/* address in the heap, or 0 */
	struct gda_dpa_buf fetched;	/* the same */
	uint32_t handle;		/* 0: not registered with the pool */
};

struct gda_dpa {
	struct gda_context *ctx;
	struct gda_dpa_attr attr;
	struct gda_dpa_map map;
	int fd;
	bool atomic_cpu;		/* atomic additions also hold against processors */
	unsigned int generation;	/* gda_fork_generation() of its process */
	struct gda_mr *mr;
	struct gda_qp **qps;		/* the threads' queues for copies */
	struct gda_dpa_pool *pool;	/* NULL: tasks run in a process of their own */
	pid_t pid;			/* that process, or 0 */
	int pidfd;
	int socket;
	uint32_t serial;		/* number of the last question */
	bool reaped;			/* @pid was waited for, and is not valid any more */
	pthread_mutex_t lock;		/* guards all below, and the socket */
	struct gda_dpa_known *tasks;	/* by number */
	uint32_t ntasks;		/* atomic */
	struct gda_dpa_event *events;
	struct gda_dpa_rdma *rdmas;
	uint8_t *event_used;		/* by handle */
	struct gda_dpa_piece *pieces;	/* pieces of the heap, by address */
	uint64_t launched;
	struct gda_dpa_report report;	/* .reason is 0 until the context is fatal */
	pthread_t watch;		/* watch.c */
	int watch_fd;			/* an eventfd that ends the watchdog */
	struct gda_cq *wake_cq;		/* for immediates to handles; NULL: no GDA_DPA_WAKE */
	int wake_fd;			/* an eventfd that immediates signal, or -1 */
	uint64_t log_next;		/* of gda_dpa_log_read() */
	uint32_t gpus;			/* how many have the events mapped */
};

/* Begin a call. Return: 0, -ENODEV or -ENOTRECOVERABLE. */
int gda_dpa_enter(struct gda_dpa *dpa);

/* Reserve @n of the threads of this process, or release them. 0 or -ENOSPC. */
int gda_dpa_threads_take(uint32_t n);
void gda_dpa_threads_give(uint32_t n);

/* --- rdma.c --- */

/* Has the queue what tasks rely on? Return: 0; or -EOPNOTSUPP with a reason that names it. */
int gda_dpa_check_view(const struct gda_view *view);


void gda_dpa_rdma_drop_all(struct gda_dpa *dpa);

/* --- path.c --- */

/* Find the program gda-dpa. 0; or -ENOENT, -EACCES, -EINVAL with a reason. */
int gda_dpa_path(char path[PATH_MAX]);
/*
 * A copy of @from without relative directories in LD_LIBRARY_PATH, to be freed by free(3); or NULL.
 */
char **gda_dpa_path_environ(char **from);

/* --- process.c --- */

/* Requests to the pool, in whichever process it is. For tasks and counters under dpa->lock. */
int gda_dpa_number_task(struct gda_dpa *dpa, const struct gda_dpa_task *task, uint32_t *number);
int gda_dpa_number_counter(struct gda_dpa *dpa, struct gda_counter *count, uint32_t *source);
int gda_dpa_number_handle(struct gda_dpa *dpa, const struct gda_dpa_rdma *r, uint32_t *number);
void gda_dpa_drop_handle(struct gda_dpa *dpa, uint32_t number);

int gda_dpa_process_create(struct gda_dpa *dpa, const char *program);
/* Wait until @deadline for running tasks to end. */
void gda_dpa_process_stop(struct gda_dpa *dpa, uint64_t deadline);
void gda_dpa_process_kill(struct gda_dpa *dpa);
/* The process's status if it has ended, reported once; else -1. */
int gda_dpa_process_reap(struct gda_dpa *dpa, bool wait);
/* Kill the process and wait for it. */
void gda_dpa_process_destroy(struct gda_dpa *dpa);

/* --- heap.c --- */

int gda_dpa_heap_create(struct gda_dpa *dpa);
void gda_dpa_heap_destroy(struct gda_dpa *dpa);

/* --- watch.c: the thread that ends what runs too long, and rings the bell for peers --- */

/* Let immediates of peers ring the bell. Called before gda_dpa_watch_start(). */
int gda_dpa_wake_create(struct gda_dpa *dpa);
void gda_dpa_wake_destroy(struct gda_dpa *dpa);

int gda_dpa_watch_start(struct gda_dpa *dpa);
void gda_dpa_watch_stop(struct gda_dpa *dpa);
/* Copy the reason from the shared header, if there is one. Under dpa->lock. */
void gda_dpa_watch_note(struct gda_dpa *dpa);

#endif /* GDA_DPA_INTERNAL_H */
