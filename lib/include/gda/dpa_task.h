/* SPDX-License-Identifier: MIT */
/*
 * The task half of gda/dpa.h: what a task calls. A task is a C function that GDA_DPA_TASK()
 * defines and gda_dpa_launch() starts over a number of threads. Each of them gets its own
 * struct gda_dpa_thread, which is valid for that thread until the function returns.
 *
 * A task names memory by addresses of the context's heap (gda_dpa_alloc()), which gda_dpa_at()
 * makes pointers of, or by the buffers of an array (gda_dpa_bufs_create()). Events and RDMA
 * handles are numbers (gda_dpa_event_handle(), gda_dpa_rdma_handle()). All of these are passed
 * in the arguments of the launch.
 *
 * Every function that returns int returns 0 or a negative errno. None sets gda_last_error().
 */
#ifndef GDA_DPA_TASK_H
#define GDA_DPA_TASK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * define GDA_DPA_MAX_ARGS - most bytes of arguments of a launch
 */
#define GDA_DPA_MAX_ARGS	256

/**
 * define GDA_DPA_NAME_BYTES - most bytes of the name of a task, with its end
 */
#define GDA_DPA_NAME_BYTES	64

/**
 * define GDA_DPA_LINE_BYTES - most bytes of a line of gda_dpa_log(), with its end
 */
#define GDA_DPA_LINE_BYTES	208

struct gda_dpa_thread;

/**
 * typedef gda_dpa_function - the function that each thread of a launch runs
 * @t: the thread
 * @args: the arguments of the launch
 */
typedef void gda_dpa_function(struct gda_dpa_thread *t, const void *args);

/**
 * struct gda_dpa_task - a function that can be launched
 * @size: sizeof(struct gda_dpa_task)
 * @reserved: must be 0
 * @name: its name
 * @function: its address; NULL: the context's program finds it by @name
 */
struct gda_dpa_task {
	uint32_t size;
	uint32_t reserved;
	const char *name;
	gda_dpa_function *function;
};

#ifdef __cplusplus
#define GDA_DPA_EXTERN extern "C"
#else
#define GDA_DPA_EXTERN extern
#endif

/**
 * GDA_DPA_DECLARE() - declare a task that another file defines
 * @task: its name
 */
#define GDA_DPA_DECLARE(task) GDA_DPA_EXTERN const struct gda_dpa_task task

/**
 * GDA_DPA_TASK() - define a task
 * @task: its name, which becomes that of a struct gda_dpa_task
 *
 * The body follows. It has the parameters ``struct gda_dpa_thread *t`` and
 * ``const void *args``, the bytes that gda_dpa_launch() was given, aligned to 16.
 */
#define GDA_DPA_TASK(task) \
	static void task##_run(struct gda_dpa_thread *t, const void *args); \
	GDA_DPA_EXTERN const struct gda_dpa_task task \
		__attribute__((visibility("default"))); \
	const struct gda_dpa_task task = { \
		sizeof(struct gda_dpa_task), 0, #task, task##_run, \
	}; \
	static void task##_run(struct gda_dpa_thread *t __attribute__((unused)), \
			       const void *args __attribute__((unused)))

/**
 * struct gda_dpa_buf - a buffer: memory that work requests can name
 * @addr: address of the first byte in work requests, as in its MR's iova
 * @bytes: length in bytes
 * @key: key of its MR
 * @reserved: must be 0
 * @pointer: its address in the process that registered it; 0: it belongs to a peer
 */
struct gda_dpa_buf {
	uint64_t addr;
	uint64_t bytes;
	uint32_t key;
	uint32_t reserved;
	uint64_t pointer;
};

/**
 * gda_dpa_rank - the rank of this thread in its launch
 * @t: the thread
 *
 * Return: 0 to gda_dpa_threads() - 1, each once.
 */
unsigned int gda_dpa_rank(const struct gda_dpa_thread *t);

/**
 * gda_dpa_threads - the number of threads of the launch
 * @t: the thread
 *
 * Return: gda_dpa_launch_attr.threads.
 */
unsigned int gda_dpa_threads(const struct gda_dpa_thread *t);

/**
 * gda_dpa_at - a pointer to memory of the context's heap
 * @t: the thread
 * @addr: address in the heap
 * @bytes: number of bytes to use
 *
 * Return: the pointer; NULL if not all of it lies in the heap.
 */
void *gda_dpa_at(const struct gda_dpa_thread *t, uint64_t addr, size_t bytes);

/**
 * gda_dpa_buf_get - a buffer of an array
 * @t: the thread
 * @array: address of the array, of gda_dpa_bufs_create()
 * @index: index of the buffer
 * @buf: receives the buffer
 *
 * Return: 0; -EINVAL there is no array at @array; -ERANGE it has no buffer @index.
 */
int gda_dpa_buf_get(const struct gda_dpa_thread *t, uint64_t array, uint64_t index,
		    struct gda_dpa_buf *buf);

/**
 * gda_dpa_buf_pointer - a pointer into a buffer
 * @t: the thread
 * @buf: the buffer
 * @offset: of the first byte
 * @bytes: number of bytes to use
 *
 * Tasks in a separate process reach only the context's heap by pointers, and copy everything else
 * (gda_dpa_memcpy()).
 *
 * Return: the pointer; NULL if not all of it lies in the buffer, or if this process does not
 * have it.
 */
void *gda_dpa_buf_pointer(const struct gda_dpa_thread *t, const struct gda_dpa_buf *buf,
			  uint64_t offset, size_t bytes);

/**
 * gda_dpa_memcpy - begin to copy between two buffers
 * @t: the thread
 * @dst: destination, in this process's memory, registered for remote write
 * @dst_offset: first byte there
 * @src: source, in this process's memory
 * @src_offset: first byte there
 * @bytes: number of bytes, less than 2^31
 *
 * The call waits only for room in the thread's queue, at most a second. The bytes are undefined
 * until gda_dpa_memcpy_wait().
 *
 * Return: 0; -ERANGE a range is not inside its buffer; -EMSGSIZE too long; -EIO an earlier copy
 * of this thread has failed, and with it the context; -ETIMEDOUT no room for a second.
 */
int gda_dpa_memcpy(struct gda_dpa_thread *t, const struct gda_dpa_buf *dst, uint64_t dst_offset,
		   const struct gda_dpa_buf *src, uint64_t src_offset, size_t bytes);

/**
 * struct gda_dpa_matrix - a matrix to be transposed
 * @size: sizeof(struct gda_dpa_matrix)
 * @element: bytes of an element
 * @dst: destination; @rows elements a row
 * @dst_offset: first byte there
 * @src: source; @columns elements a row
 * @src_offset: first byte there
 * @columns: of the source
 * @rows: of the source
 *
 * Source and destination may not overlap.
 */
struct gda_dpa_matrix {
	uint32_t size;
	uint32_t element;
	const struct gda_dpa_buf *dst;
	uint64_t dst_offset;
	const struct gda_dpa_buf *src;
	uint64_t src_offset;
	uint64_t columns;
	uint64_t rows;
};

/**
 * gda_dpa_transpose - begin to copy a matrix transposed
 * @t: the thread
 * @what: the matrix
 *
 * The call waits and fails as gda_dpa_memcpy() does. It posts a work request for each element, so
 * it is meant for small matrices.
 *
 * Return: as gda_dpa_memcpy(); -EINVAL @element, @columns or @rows is 0, or the size is wrong.
 */
int gda_dpa_transpose(struct gda_dpa_thread *t, const struct gda_dpa_matrix *what);

/**
 * gda_dpa_memcpy_wait - wait for all copies that this thread has begun
 * @t: the thread
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * Return: 0 all bytes have arrived; -EIO a copy has failed, and with it the context; -ETIMEDOUT not
 * done at @deadline; -ESHUTDOWN the context has failed or is being destroyed.
 */
int gda_dpa_memcpy_wait(struct gda_dpa_thread *t, uint64_t deadline);

/**
 * gda_dpa_event_read - the value of an event
 * @t: the thread
 * @event: its handle
 * @value: receives it
 *
 * Everything done before the update that it shows is visible.
 *
 * Return: 0; -EINVAL no such event; -EACCES tasks are no subscriber of it.
 */
int gda_dpa_event_read(const struct gda_dpa_thread *t, uint32_t event, uint64_t *value);

/**
 * gda_dpa_event_update_add - add to an event
 * @t: the thread
 * @event: its handle
 * @value: is added, modulo 2^64
 *
 * This thread's earlier writes are visible to a thread that sees the update. Threads that sleep for
 * it are woken, and launches that wait for it start.
 *
 * Return: 0; -EINVAL no such event; -EACCES tasks are no publisher of it.
 */
int gda_dpa_event_update_add(struct gda_dpa_thread *t, uint32_t event, uint64_t value);

/**
 * gda_dpa_event_update_set - set an event
 * @t: the thread
 * @event: its handle
 * @value: its value from now on
 *
 * Return: as gda_dpa_event_update_add().
 */
int gda_dpa_event_update_set(struct gda_dpa_thread *t, uint32_t event, uint64_t value);

/**
 * gda_dpa_event_wait_gt - wait until an event is greater
 * @t: the thread
 * @event: its handle
 * @threshold: the wait ends once (value & @mask) is greater than this
 * @mask: bits of the value that count
 *
 * The wait occupies the thread, unlike a launch that waits. The watchdog ends a wait that exceeds
 * the run limit.
 *
 * Return: 0; -EINVAL no such event; -EACCES tasks are no subscriber of it; -ESHUTDOWN the
 * context has failed or is being destroyed.
 */
int gda_dpa_event_wait_gt(struct gda_dpa_thread *t, uint32_t event, uint64_t threshold,
			  uint64_t mask);

/**
 * gda_dpa_event_wait_ne - wait until an event differs
 * @t: the thread
 * @event: its handle
 * @value: the wait ends once (value & @mask) differs from this
 * @mask: bits of the value that count
 *
 * Return: as gda_dpa_event_wait_gt().
 */
int gda_dpa_event_wait_ne(struct gda_dpa_thread *t, uint32_t event, uint64_t value,
			  uint64_t mask);

/**
 * define GDA_DPA_REMOTE_WAKES - an update of the event is followed by an immediate
 */
#define GDA_DPA_REMOTE_WAKES	(1U << 0)

/**
 * struct gda_dpa_remote_event - an event of a peer
 * @addr: its address in work requests
 * @key: key of its MR
 * @flags: %GDA_DPA_REMOTE_WAKES, or 0
 */
struct gda_dpa_remote_event {
	uint64_t addr;
	uint32_t key;
	uint32_t flags;
};

/**
 * gda_dpa_rdma_write - begin to write to the peer of an RDMA handle
 * @t: the thread
 * @rdma: number of the handle
 * @dst: destination, in the peer's memory
 * @dst_offset: first byte there
 * @src: source, in this process's memory
 * @src_offset: first byte there
 * @bytes: number of bytes, less than 2^31
 *
 * The source may be changed after gda_dpa_rdma_wait(). A handle belongs to one thread from that
 * thread's first post until the thread has waited, or its task has ended.
 *
 * Return: 0; -EINVAL no such handle; -EBUSY another thread has it; -ERANGE a range is not inside
 * its buffer; -EMSGSIZE too long; -EIO the queue is full and has failed; -ETIMEDOUT it stayed full.
 * Wrong keys are reported by gda_dpa_rdma_wait().
 */
int gda_dpa_rdma_write(struct gda_dpa_thread *t, uint32_t rdma, const struct gda_dpa_buf *dst,
		       uint64_t dst_offset, const struct gda_dpa_buf *src, uint64_t src_offset,
		       size_t bytes);

/**
 * gda_dpa_rdma_read - begin to read from the peer of an RDMA handle
 * @t: the thread
 * @rdma: number of the handle
 * @dst: destination, in this process's memory
 * @dst_offset: first byte there
 * @src: source, in the peer's memory
 * @src_offset: first byte there
 * @bytes: number of bytes, less than 2^31
 *
 * The bytes have arrived after gda_dpa_rdma_wait().
 *
 * Return: as gda_dpa_rdma_write().
 */
int gda_dpa_rdma_read(struct gda_dpa_thread *t, uint32_t rdma, const struct gda_dpa_buf *dst,
		      uint64_t dst_offset, const struct gda_dpa_buf *src, uint64_t src_offset,
		      size_t bytes);

/**
 * gda_dpa_rdma_fetch_add - begin to add to a word of the peer
 * @t: the thread
 * @rdma: number of the handle
 * @dst: memory of the peer
 * @dst_offset: of the word, which is aligned to 8
 * @value: is added, modulo 2^64
 *
 * The old value of the word is not returned.
 *
 * Return: as gda_dpa_rdma_write(); -EINVAL also if the word is not aligned.
 */
int gda_dpa_rdma_fetch_add(struct gda_dpa_thread *t, uint32_t rdma,
			   const struct gda_dpa_buf *dst, uint64_t dst_offset, uint64_t value);

/**
 * gda_dpa_rdma_signal_add - begin to add to an event of the peer
 * @t: the thread
 * @rdma: number of the handle
 * @event: of gda_dpa_event_export() there
 * @value: is added
 *
 * A reader that sees the new value sees everything written through the handle before.
 *
 * Return: as gda_dpa_rdma_write(); -EOPNOTSUPP @event needs an immediate, which the device lacks.
 */
int gda_dpa_rdma_signal_add(struct gda_dpa_thread *t, uint32_t rdma,
			    const struct gda_dpa_remote_event *event, uint64_t value);

/**
 * gda_dpa_rdma_signal_set - begin to set an event of the peer
 * @t: the thread
 * @rdma: number of the handle
 * @event: of gda_dpa_event_export() there
 * @value: its value from then on
 *
 * A reader that sees the value sees everything written through the handle before.
 *
 * Return: as gda_dpa_rdma_signal_add().
 */
int gda_dpa_rdma_signal_set(struct gda_dpa_thread *t, uint32_t rdma,
			    const struct gda_dpa_remote_event *event, uint64_t value);

/**
 * gda_dpa_rdma_wait - wait for all that was posted to an RDMA handle
 * @t: the thread
 * @rdma: number of the handle
 * @deadline: in ns of gda_clock_ns(); 0: gda_dpa_rdma_attr.timeout_ns from now
 *
 * Afterwards another thread may use the handle.
 *
 * Return: 0; -EINVAL no such handle; -EBUSY another thread has it; -EIO some of it failed, and
 * the handle with it (gda_dpa_rdma_query()); -ETIMEDOUT not done at @deadline; -ESHUTDOWN the
 * context has failed or is being destroyed.
 */
int gda_dpa_rdma_wait(struct gda_dpa_thread *t, uint32_t rdma, uint64_t deadline);

/**
 * gda_dpa_log - write a line to the log of the context
 * @t: the thread
 * @format: format of the line, as printf(3) takes it
 *
 * The line is cut at %GDA_DPA_LINE_BYTES. gda_dpa_log_read() returns it. If the log is full the
 * line is dropped and counted.
 *
 * Return: 0; -EAGAIN it was dropped.
 */
int gda_dpa_log(struct gda_dpa_thread *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif /* GDA_DPA_TASK_H */
