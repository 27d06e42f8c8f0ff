/* SPDX-License-Identifier: MIT */
/*
 * Tasks: C functions that run on N threads once an event reaches a value, with a heap, buffers,
 * events and a log that host and tasks share. The semantics are those of DOCA DPA; the threads are
 * the processor's. This is the host half; tasks call gda/dpa_task.h.
 *
 * A context has a pool of threads. A launch names a task, the number of threads, the event or
 * counter that it waits for, and the event that is updated after the last thread. A launch that
 * waits holds no thread, so launches may come in any order. Threads of one launch start in order of
 * rank, and those of a launch that became ready earlier start before those of a later one; so
 * threads of one launch may wait for each other.
 *
 * Tasks are functions of the caller, on threads of the library in its process; or, with
 * gda_dpa_attr.program, of a shared object that a separate process loads. That process may crash,
 * exit or hang, and the caller goes on. A task that does not end within gda_dpa_attr.run_limit_ns,
 * or a process of tasks that ends, makes the context *fatal*: no task starts any more, every wait
 * ends, every call but gda_dpa_error(), gda_dpa_log_read() and those that destroy is
 * -ENOTRECOVERABLE, and gda_dpa_error() says which task it was.
 *
 * Any thread may call any function, but for destruction. Functions that return int return 0 or
 * a negative errno, and gda_last_error() says why. Every one may return -ENOTRECOVERABLE, and
 * -ENODEV in a child of fork(2).
 */
#ifndef GDA_DPA_H
#define GDA_DPA_H

#include <gda/dpa_task.h>
#include <gda/gda.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_dpa;
struct gda_dpa_event;
struct gda_dpa_rdma;

/**
 * define GDA_DPA_MAX_THREADS - most threads and RDMA handles of all contexts of a process
 */
#define GDA_DPA_MAX_THREADS	256

/**
 * struct gda_dpa_limits - the limits of contexts on a device
 * @size: sizeof(struct gda_dpa_limits); the caller sets it
 * @supported: 1 if the device has everything that a context needs
 * @max_threads: threads and RDMA handles of all contexts of this process together
 * @max_args: bytes of arguments of a launch
 * @max_events: events of a context
 * @max_launches: launches of a context that have not ended
 * @max_heap: bytes of the heap of a context
 * @max_run_ns: longest run limit of a task
 * @threads_in_use: of @max_threads
 * @reserved: 0
 */
struct gda_dpa_limits {
	uint32_t size;
	uint32_t supported;
	uint32_t max_threads;
	uint32_t max_args;
	uint32_t max_events;
	uint32_t max_launches;
	uint64_t max_heap;
	uint64_t max_run_ns;
	uint32_t threads_in_use;
	uint32_t reserved;
};

/**
 * gda_dpa_query - tell whether a device can serve contexts, and their limits
 * @ctx: a context of gda_open()
 * @limits: receives the answer; the caller sets its size
 *
 * Return: 0; -EINVAL, -E2BIG the size of @limits is wrong.
 */
int gda_dpa_query(struct gda_context *ctx, struct gda_dpa_limits *limits);

/**
 * define GDA_DPA_WAKE - updates by peers wake threads that sleep for them
 *
 * After each update of an event of such a context a peer's handle sends an immediate without bytes,
 * so it must be connected to a handle of this context. Without the flag, threads that sleep for an
 * event that peers update poll every millisecond.
 */
#define GDA_DPA_WAKE	(1U << 0)

/**
 * struct gda_dpa_attr - attributes of a context
 * @size: sizeof(struct gda_dpa_attr)
 * @flags: %GDA_DPA_WAKE, or 0
 * @threads: threads of its pool, and most threads of a launch; 0: 4
 * @events: most events; 0: 256
 * @launches: most launches that have not ended, a power of two; 0: 1024
 * @log_lines: lines that the log has room for, a power of two; 0: 256
 * @heap_bytes: of the heap; 0: 4 MiB
 * @run_limit_ns: longest run of a thread of a task; 0: 10 seconds
 * @spin_ns: time for which a wait spins before it sleeps; 0: 1 ms; UINT64_MAX: it does not spin
 * @program: path of a shared object with tasks, which run in a process of their own, as
 *	dlopen(3) takes it; NULL: tasks are functions of this process
 */
struct gda_dpa_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t threads;
	uint32_t events;
	uint32_t launches;
	uint32_t log_lines;
	uint64_t heap_bytes;
	uint64_t run_limit_ns;
	uint64_t spin_ns;
	const char *program;
};

/**
 * gda_dpa_create - create a context with its memory and its pool
 * @ctx: a context of gda_open(), which must outlive @dpa
 * @attr: attributes, or NULL for the defaults
 * @dpa: receives the context
 *
 * Events and heap are one MR of @ctx, so on a device of the kernel they count towards
 * RLIMIT_MEMLOCK. Each thread of the pool has a QP that is connected to itself, for copies.
 *
 * With a program, tasks run in gda-dpa, a child of this process that is killed when the context is
 * destroyed and ends when this process does. gda-dpa is found by %GDA_DPA in the environment, an
 * absolute path; or beside libgda.so, where that was installed, or beside this program. This
 * program must not wait for children that it did not start.
 *
 * Return: 0; -EINVAL a member is out of range, or %GDA_DPA is no absolute path; -E2BIG a member
 * that this library does not know is set; -EOPNOTSUPP unknown flags, or the device lacks what
 * gda_dpa_query() or %GDA_DPA_WAKE asks for; -ENOSPC the process has %GDA_DPA_MAX_THREADS threads,
 * or @ctx no room for the QPs; -ENOMEM out of memory or over RLIMIT_MEMLOCK; -EMFILE too many open
 * files; -EAGAIN no thread could be started; -ENOEXEC the program cannot be loaded; -ENOENT gda-dpa
 * cannot be started; -EACCES the same, or the kernel gave this program more rights than its user
 * has; -ENOTRECOVERABLE gda-dpa ended at once; -ETIMEDOUT it does not answer.
 */
int gda_dpa_create(struct gda_context *ctx, const struct gda_dpa_attr *attr,
		   struct gda_dpa **dpa);

/**
 * gda_dpa_destroy - destroy a context
 * @dpa: the context, or NULL; gone when the call returns, unless it returns -EBUSY
 *
 * Launches that have not started never will. The call waits for running tasks, at most for their
 * run limit, and wakes those that wait for an event. Events, arrays and heap are destroyed, too.
 *
 * Return: 0; -EBUSY a task of this process does not end: the context is fatal, and the call may
 * be made again later; or a GPU has its events (gda_dpa_cuda_destroy()).
 */
int gda_dpa_destroy(struct gda_dpa *dpa);

/**
 * enum gda_dpa_reason - why a context is fatal
 * @GDA_DPA_NO_ERROR: it is not
 * @GDA_DPA_RUN_LIMIT: a task ran longer than it may
 * @GDA_DPA_COPY_FAILED: a copy of a task failed, for its memory is not registered any more
 * @GDA_DPA_CORRUPTED: shared memory has values that the library never writes
 * @GDA_DPA_CRASHED: a signal ended the process of tasks
 * @GDA_DPA_EXITED: the process of tasks exited
 */
enum gda_dpa_reason {
	GDA_DPA_NO_ERROR = 0,
	GDA_DPA_RUN_LIMIT = 1,
	GDA_DPA_COPY_FAILED = 2,
	GDA_DPA_CORRUPTED = 3,
	GDA_DPA_CRASHED = 4,
	GDA_DPA_EXITED = 5,
};

/**
 * struct gda_dpa_report - the cause of a fatal context
 * @size: sizeof(struct gda_dpa_report); the caller sets it
 * @reason: enum gda_dpa_reason
 * @task: the task, if one is to blame; empty: none is known
 * @rank: of the thread in its launch
 * @threads: of the launch
 * @signal: that ended the process of tasks, SIGKILL by the library after the run limit; or 0
 * @status: exit status, or 0
 * @address: for SIGSEGV and SIGBUS, the address that could not be accessed, or 0
 * @ran_ns: time that the thread had run
 * @time_ns: when it was noticed, by gda_clock_ns()
 */
struct gda_dpa_report {
	uint32_t size;
	uint32_t reason;
	char task[GDA_DPA_NAME_BYTES];
	uint32_t rank;
	uint32_t threads;
	int32_t signal;
	int32_t status;
	uint64_t address;
	uint64_t ran_ns;
	uint64_t time_ns;
};

/**
 * gda_dpa_error - tell whether a context is fatal, and why
 * @dpa: the context
 * @report: receives the reason, if it is; the caller sets its size. NULL: only ask
 *
 * Return: 1 if it is, else 0; -EINVAL, -E2BIG the size of @report is wrong.
 */
int gda_dpa_error(struct gda_dpa *dpa, struct gda_dpa_report *report);

/**
 * gda_dpa_alloc - allocate memory of the heap
 * @dpa: the context
 * @bytes: number of bytes; aligned to 64
 * @addr: receives its address, for tasks and for the calls below; never 0
 *
 * Return: 0; -EINVAL @bytes is 0; -ENOSPC the heap has no free piece of this size.
 */
int gda_dpa_alloc(struct gda_dpa *dpa, size_t bytes, uint64_t *addr);

/**
 * gda_dpa_free - free memory of the heap
 * @dpa: the context
 * @addr: of gda_dpa_alloc(), or 0
 *
 * Return: 0; -EINVAL nothing was allocated at @addr.
 */
int gda_dpa_free(struct gda_dpa *dpa, uint64_t addr);

/**
 * gda_dpa_write - copy into the heap
 * @dpa: the context
 * @addr: destination, an address in the heap
 * @from: source, in memory of the caller
 * @bytes: number of bytes
 *
 * The copy is done when the call returns, and visible to tasks that are launched afterwards.
 *
 * Return: 0; -ERANGE not all of it lies in the heap.
 */
int gda_dpa_write(struct gda_dpa *dpa, uint64_t addr, const void *from, size_t bytes);

/**
 * gda_dpa_read - copy out of the heap
 * @dpa: the context
 * @to: destination, in memory of the caller
 * @addr: source, an address in the heap
 * @bytes: number of bytes
 *
 * The result includes what tasks wrote before they updated an event, if the caller has seen the
 * update.
 *
 * Return: 0; -ERANGE not all of it lies in the heap.
 */
int gda_dpa_read(struct gda_dpa *dpa, void *to, uint64_t addr, size_t bytes);

/**
 * gda_dpa_set - fill memory of the heap
 * @dpa: the context
 * @addr: first byte
 * @value: of each byte
 * @bytes: number of bytes
 *
 * Return: 0; -ERANGE not all of it lies in the heap.
 */
int gda_dpa_set(struct gda_dpa *dpa, uint64_t addr, int value, size_t bytes);

/**
 * gda_dpa_heap_buf - memory of the heap as a buffer
 * @dpa: the context
 * @addr: first byte
 * @bytes: number of bytes
 * @buf: receives the buffer
 *
 * Return: 0; -ERANGE not all of it lies in the heap.
 */
int gda_dpa_heap_buf(struct gda_dpa *dpa, uint64_t addr, size_t bytes, struct gda_dpa_buf *buf);

/**
 * gda_dpa_mr_buf - memory of an MR as a buffer
 * @dpa: the context
 * @mr: an MR of the context's device context, which must outlive the buffer
 * @pointer: first byte in this process
 * @bytes: number of bytes
 * @buf: receives the buffer
 *
 * Return: 0; -ERANGE not all of it lies in the MR.
 */
int gda_dpa_mr_buf(struct gda_dpa *dpa, struct gda_mr *mr, void *pointer, size_t bytes,
		   struct gda_dpa_buf *buf);

/**
 * gda_dpa_bufs_create - make an array of buffers for tasks
 * @dpa: the context
 * @bufs: the buffers: of gda_dpa_heap_buf() and gda_dpa_mr_buf(), and of peers
 * @n: number of buffers
 * @array: receives the address of the array, for gda_dpa_buf_get()
 *
 * The array lies in the heap.
 *
 * Return: 0; -EINVAL @n is 0; -ENOSPC the heap has no free piece of this size.
 */
int gda_dpa_bufs_create(struct gda_dpa *dpa, const struct gda_dpa_buf *bufs, uint32_t n,
			uint64_t *array);

/**
 * gda_dpa_bufs_destroy - free an array
 * @dpa: the context
 * @array: of gda_dpa_bufs_create(), or 0
 *
 * Return: 0; -EINVAL there is no array at @array.
 */
int gda_dpa_bufs_destroy(struct gda_dpa *dpa, uint64_t array);

/**
 * enum gda_dpa_place - who publishes and subscribes to an event
 * @GDA_DPA_HOST: by the calls of this header
 * @GDA_DPA_TASKS: by tasks and launches
 * @GDA_DPA_PEERS: by tasks of other contexts, through RDMA handles; only as a publisher
 * @GDA_DPA_GPU: by kernels and streams of a GPU (gda/dpa_cuda.h)
 */
enum gda_dpa_place {
	GDA_DPA_HOST = 1,
	GDA_DPA_TASKS = 2,
	GDA_DPA_PEERS = 4,
	GDA_DPA_GPU = 8,
};

/**
 * struct gda_dpa_event_attr - attributes of an event
 * @size: sizeof(struct gda_dpa_event_attr)
 * @flags: must be 0
 * @publishers: enum gda_dpa_place: who may update it; 0: host and tasks
 * @subscribers: enum gda_dpa_place: who may read it and wait for it; 0: host and tasks
 */
struct gda_dpa_event_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t publishers;
	uint32_t subscribers;
};

/**
 * gda_dpa_event_create - create an event, at zero
 * @dpa: the context
 * @attr: attributes, or NULL for the defaults
 * @event: receives the event
 *
 * A thread or task that sleeps for an event wakes each millisecond to read it, if a GPU updates
 * the event, or if peers do and the context was created without %GDA_DPA_WAKE.
 *
 * Return: 0; -EINVAL an unknown place, or the size of @attr; -EOPNOTSUPP unknown flags, or peers
 * and others publish the event and the device's additions are not atomic with a processor's; -E2BIG
 * a member that this library does not know is set; -ENOSPC the context has no free event.
 */
int gda_dpa_event_create(struct gda_dpa *dpa, const struct gda_dpa_event_attr *attr,
			 struct gda_dpa_event **event);

/**
 * gda_dpa_event_destroy - destroy an event
 * @event: the event, or NULL
 *
 * No unfinished launch, and no task, may use it.
 *
 * Return: 0.
 */
int gda_dpa_event_destroy(struct gda_dpa_event *event);

/**
 * gda_dpa_event_handle - the number by which tasks name an event
 * @event: the event
 *
 * Return: the handle; never 0.
 */
uint32_t gda_dpa_event_handle(const struct gda_dpa_event *event);

/**
 * gda_dpa_event_get - the value of an event
 * @event: the event
 * @value: receives it
 *
 * Everything done before the update that it shows is visible.
 *
 * Return: 0; -EACCES the host is no subscriber of it.
 */
int gda_dpa_event_get(struct gda_dpa_event *event, uint64_t *value);

/**
 * gda_dpa_event_add - add to an event
 * @event: the event
 * @value: is added, modulo 2^64
 *
 * Return: 0; -EACCES the host is no publisher of it.
 */
int gda_dpa_event_add(struct gda_dpa_event *event, uint64_t value);

/**
 * gda_dpa_event_set - set an event
 * @event: the event
 * @value: its value from now on
 *
 * A waiting thread or the pool may miss a value that is replaced soon.
 *
 * Return: 0; -EACCES the host is no publisher of it.
 */
int gda_dpa_event_set(struct gda_dpa_event *event, uint64_t value);

/**
 * gda_dpa_event_await_gt - wait until an event is greater
 * @event: the event
 * @threshold: the wait ends once (value & @mask) is greater than this
 * @mask: bits of the value that count
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * Return: 0; -EACCES the host is no subscriber of it; -ETIMEDOUT not so at @deadline; -ETIME
 * likewise, and @deadline was more than a second past when the call began.
 */
int gda_dpa_event_await_gt(struct gda_dpa_event *event, uint64_t threshold, uint64_t mask,
			   uint64_t deadline);

/**
 * gda_dpa_event_await_ne - wait until an event differs
 * @event: the event
 * @value: the wait ends once (value & @mask) differs from this
 * @mask: bits of the value that count
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * Return: as gda_dpa_event_await_gt().
 */
int gda_dpa_event_await_ne(struct gda_dpa_event *event, uint64_t value, uint64_t mask,
			   uint64_t deadline);

/**
 * gda_dpa_event_export - let peers update an event
 * @event: the event
 * @remote: receives what the peers' tasks need; may be sent to them by any means
 *
 * Return: 0; -EACCES peers are no publisher of it.
 */
int gda_dpa_event_export(struct gda_dpa_event *event, struct gda_dpa_remote_event *remote);

/**
 * struct gda_dpa_rdma_attr - attributes of an RDMA handle
 * @size: sizeof(struct gda_dpa_rdma_attr)
 * @flags: must be 0
 * @sq_depth: slots of its queue, a power of two; 0: 256
 * @reserved: must be 0
 * @timeout_ns: bound of waits for room, and of waits without a deadline; 0: one second
 */
struct gda_dpa_rdma_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t sq_depth;
	uint32_t reserved;
	uint64_t timeout_ns;
};

/**
 * gda_dpa_rdma_create - create an RDMA handle
 * @dpa: the context
 * @attr: attributes, or NULL for the defaults
 * @rdma: receives the handle
 *
 * The handle is a QP through which tasks access a peer's memory, in one direction. It counts as a
 * thread.
 *
 * Return: 0; -ENOSPC the process has %GDA_DPA_MAX_THREADS threads and handles, or no room in the
 * heap; -EOPNOTSUPP unknown flags, or a device that does not order work behind puts; and as
 * gda_qp_create().
 */
int gda_dpa_rdma_create(struct gda_dpa *dpa, const struct gda_dpa_rdma_attr *attr,
			struct gda_dpa_rdma **rdma);

/**
 * gda_dpa_rdma_destroy - destroy an RDMA handle
 * @rdma: the handle, or NULL
 *
 * No unfinished task may use it.
 *
 * Return: 0.
 */
int gda_dpa_rdma_destroy(struct gda_dpa_rdma *rdma);

/**
 * gda_dpa_rdma_address - read the address of a handle's QP
 * @rdma: the handle
 * @addr: receives the address, which the peer needs
 *
 * Return: 0 or a negative errno.
 */
int gda_dpa_rdma_address(struct gda_dpa_rdma *rdma, struct gda_address *addr);

/**
 * gda_dpa_rdma_connect - name the peer of a handle
 * @rdma: the handle
 * @peer: the address of the peer's handle or QP, which names this one; or this handle's own
 *
 * Return: as gda_qp_connect().
 */
int gda_dpa_rdma_connect(struct gda_dpa_rdma *rdma, const struct gda_address *peer);

/**
 * gda_dpa_rdma_query - read the state and first error of a handle's QP
 * @rdma: the handle
 * @query: receives them; the caller sets its size, and its flags to 0
 *
 * Return: as gda_qp_query().
 */
int gda_dpa_rdma_query(struct gda_dpa_rdma *rdma, struct gda_qp_query *query);

/**
 * gda_dpa_rdma_handle - the number by which tasks name an RDMA handle
 * @rdma: the handle
 *
 * Return: the number; never 0.
 */
uint32_t gda_dpa_rdma_handle(const struct gda_dpa_rdma *rdma);

/**
 * define GDA_DPA_DONE_SET - the completion event is set, not added to
 */
#define GDA_DPA_DONE_SET	(1U << 0)

/**
 * struct gda_dpa_launch_attr - a task, when it starts, and what is updated at its end
 * @size: sizeof(struct gda_dpa_launch_attr)
 * @flags: %GDA_DPA_DONE_SET, or 0
 * @task: the task, as GDA_DPA_TASK() of gda/dpa_task.h defines it; with gda_dpa_attr.program only
 *	its size and name are needed. Name and function are copied, so the structure may be
 *	changed or freed once gda_dpa_launch() has returned
 * @wait: the task starts once this event is greater than @threshold; NULL: at once
 * @threshold: any 64-bit value
 * @counter: the task starts once this counter, of the same device context, has counted @arrivals;
 *	not with @wait
 * @arrivals: at least 1, with @counter
 * @done: updated after the last thread has returned; NULL: none
 * @value: added to @done, or the new value of @done
 * @threads: number of threads that run the task, 1 to gda_dpa_attr.threads
 * @bytes: of @args, at most %GDA_DPA_MAX_ARGS
 * @args: the arguments, which are copied
 *
 * The pool reads the event after each change, and starts the launch if the event is greater. It may
 * miss a value that is lowered again soon.
 */
struct gda_dpa_launch_attr {
	uint32_t size;
	uint32_t flags;
	const struct gda_dpa_task *task;
	struct gda_dpa_event *wait;
	uint64_t threshold;
	struct gda_counter *counter;
	uint64_t arrivals;
	struct gda_dpa_event *done;
	uint64_t value;
	uint32_t threads;
	uint32_t bytes;
	const void *args;
};

/**
 * gda_dpa_launch - launch a task
 * @dpa: the context
 * @launch: the task, and when
 *
 * Returns at once. A waiting launch holds no thread, so it may be made before the launch that it
 * waits for. The task sees everything that the caller wrote to the heap before the launch; a thread
 * that sees @done sees everything that the task wrote.
 *
 * Return: 0; -EINVAL a member is out of range, or an event belongs to another context; -ENOENT the
 * program has no such task; -E2BIG a member that this library does not know is set; -EOPNOTSUPP
 * unknown flags; -EACCES tasks are no subscriber of @wait or no publisher of @done; -EAGAIN
 * gda_dpa_attr.launches have not ended; -ENOSPC more than 64 different counters.
 */
int gda_dpa_launch(struct gda_dpa *dpa, const struct gda_dpa_launch_attr *launch);

/**
 * gda_dpa_log_read - take the next line of the log
 * @dpa: the context
 * @line: receives it, without a newline, with a terminating zero
 * @bytes: room in @line
 *
 * One thread at a time. It may be called on a fatal context.
 *
 * Return: the length of the line, which was cut if that is not less than @bytes; -EAGAIN there
 * is none.
 */
int gda_dpa_log_read(struct gda_dpa *dpa, char *line, size_t bytes);

/**
 * gda_dpa_log_dropped - count the lines that found no room in the log
 * @dpa: the context
 *
 * Return: their number since the context was created.
 */
uint64_t gda_dpa_log_dropped(struct gda_dpa *dpa);

/**
 * gda_dpa_serve - run the tasks of a context of another process
 * @socket: to the library in that process
 *
 * This is all that gda-dpa does; programs do not call it. It ends the process when the socket is
 * closed.
 *
 * Return: an exit status, if no context was behind the socket.
 */
int gda_dpa_serve(int socket);

#ifdef __cplusplus
}
#endif

#endif /* GDA_DPA_H */
