/* SPDX-License-Identifier: MIT */
/*
 * Private to libgda: its objects, and what all of them need: an ioctl that returns its errno,
 * mapped regions, and the calls between its files.
 */
#ifndef GDA_INTERNAL_H
#define GDA_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <gda/gda.h>
#include <gda/record.h>
#include <gda/ring.h>
#include <gda/view.h>

#define GDA_EXPORT __attribute__((visibility("default")))

/* A cookie of the kernel is an offset for mmap(2), which can be above 2 GiB. */
_Static_assert(sizeof(off_t) == 8, "compile the library with -D_FILE_OFFSET_BITS=64");

struct gda_context;

/*
 * The device of a context: the kernel's devices (kernel.c) or the in-process device
 * (lib/device/inproc). The rest of the library does not distinguish them.
 */
struct gda_device_ops {
	/* Open the device: set ctx->fd, for mmap(2) of cookies, and ctx->device if there is one. */
	int (*open)(struct gda_context *ctx, const char *device);
	void (*close)(struct gda_context *ctx);
	/* A call of gda/ioctl.h: 0 or a negative errno; errno stays as it was. */
	int (*ioctl)(const struct gda_context *ctx, unsigned long request, void *arg);
	/* Map a region at *@addr. Return: 0 or a negative errno; errno may change. */
	int (*map)(struct gda_context *ctx, const struct gda_region_info *info, void **addr);
	void (*unmap)(struct gda_context *ctx, void *addr, size_t length);
	/*
	 * Execute the queue @qpn, or some work of the context, on a thread that waits for it. NULL:
	 * only the device can execute. Return: whether there was work.
	 */
	bool (*help)(struct gda_context *ctx, uint32_t qpn, unsigned int polls,
		     enum gda_relax_for what);
	bool (*help_all)(struct gda_context *ctx, unsigned int polls);
	/*
	 * Called in a child of fork(2), which has one thread: close and unmap all that would keep
	 * the parent's objects in the device alive. Every later call returns -ENODEV; close() and
	 * unmap() are still called.
	 */
	void (*forked)(struct gda_context *ctx);
};

extern const struct gda_device_ops gda_device_kernel;
extern const struct gda_device_ops gda_device_inproc;

struct gda_context {
	const struct gda_device_ops *ops;
	void *device;			/* the in-process device's context */
	int fd;
	pthread_mutex_t lock;		/* guards the lists */
	struct gda_region *regions;
	struct gda_qp *qps;
	struct gda_cq *cqs;
	unsigned int recorders;		/* how many read its records; under @lock */
	struct gda_context *next;	/* of all; see fork.c */
};

/* A mapped region of the device; see region.c. */
struct gda_region {
	struct gda_region *next;
	uint64_t cookie;
	size_t length;
	void *addr;
	unsigned int users;
};

/*
 * The views that a ring completes, by QP number: an open-addressing hash table, at least half
 * empty. Once it has a view, @lock guards all of it, and view->next and view->record.
 */
struct gda_credits {
	pthread_mutex_t lock;
	struct gda_credit {
		uint64_t cell;		/* the cell that its view polls; 0: free */
		uint32_t qpn;
	} *table;
	uint32_t mask;
	uint32_t count;
	uint32_t slots;			/* of all its queues together: at most @entries */
	uint64_t seen;			/* entries credited; view->next does not pass it */
};

struct gda_cq {
	struct gda_cq_view view;	/* of a ring */
	struct gda_credits credits;	/* likewise */
	struct gda_context *ctx;
	struct gda_cq *next;		/* of the context's */
	struct gda_cq **link;
	struct gda_region *region;
	struct gda_region *dbrec;	/* of a ring, else NULL */
	void *entries;
	void *record;			/* of a ring; in @own_record where its dialect has none */
	uint32_t handle;
	uint32_t flags;
	uint32_t dialect;
	uint64_t own_record;
	uint64_t orphan[GDA_CQE_MAX_BYTES / 8];	/* stands in for the ring in a child of fork(2) */
};

struct gda_qp {
	struct gda_view view;		/* first, for its alignment */
	struct gda_context *ctx;
	struct gda_qp *next;		/* of the context's */
	struct gda_qp **link;
	struct gda_cq *cq;
	struct gda_cq *own_cq;		/* the CQ that was created with the QP, else NULL */
	struct gda_region *sq;
	struct gda_region *dbrec;
	struct gda_region *db;
	uint32_t *slots;
	uint64_t *marks;		/* gda_view.marks, or NULL */
	uint32_t own_dbrec;		/* gda_view.dbrec where its dialect has no record */
	uint32_t dialect;
	struct gda_peer peer;		/* by gda_qp_connect(), if it adds one; @target 0: none */
	uint32_t handle;
	int has_view;
	int debug_failed;		/* the first error was printed */
	struct gda_qp *debug_next;	/* under gda_debug_lock */
	uint32_t credited;		/* slots, if the credits of a ring have the QP */
	uint32_t qpn;
	/* used if the QP completes through a ring: polled in place of a collapsed CQ */
	uint8_t cell[GDA_CQE_MAX_BYTES] __attribute__((aligned(64)));
};

struct gda_counter {
	struct gda_context *ctx;
	struct gda_region *region;
	void *memory;
	uint32_t handle;
};

struct gda_mr {
	struct gda_context *ctx;
	uint64_t iova;
	uint32_t handle;
	uint32_t key;
};

/* error.c */

struct gda_error_text {
	int code;
	const char *text;
};

/* The text of @code, or NULL. */
const char *gda_error_lookup(const struct gda_error_text *table, size_t count, int code);
#define GDA_LOOKUP(table, value) \
	gda_error_lookup(table, sizeof(table) / sizeof((table)[0]), value)

/* size.c */

/* The size of a structure that ends with @member. */
#define GDA_THROUGH(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/*
 * Check the size of a caller's structure, whose first version had @least bytes. Return: 0; -EINVAL
 * too small; -E2BIG too large to be a structure.
 */
int gda_struct_check(const void *theirs, size_t least);

/*
 * Copy a caller's structure into @ours, of @size bytes; members that the caller does not know
 * become zero. Returns as gda_struct_check(); -E2BIG also if a member that the library does not
 * know is not zero.
 */
int gda_struct_read(void *ours, size_t size, size_t least, const void *theirs);

/*
 * Copy the answer in @ours, of @size bytes, to a caller's structure that was checked; members that
 * the library does not know become zero. The caller's size member stays.
 */
void gda_struct_write(void *theirs, const void *ours, size_t size);

/* A member of a structure of attributes, and its largest value. */
struct gda_range {
	const char *name;
	uint32_t value;
	uint32_t most;
};

/* Return 0, or -EINVAL after noting the first of @ranges that is exceeded. */
int gda_ranges_check(const struct gda_range *ranges, size_t count);

/* peer.c */

int gda_peer_make(struct gda_context *ctx, const struct gda_address *address,
		  struct gda_peer *peer);

/* efa.c */

/* The text of a status of the efa dialect, or NULL. */
const char *gda_efa_status_name(uint32_t status);

/* dialect.c */

/*
 * Replace a *@dialect of 0 by GDA_DIALECT of the environment, or else by the default. Return: 0;
 * or with a reason -EOPNOTSUPP, posters do not speak the dialect, or -EINVAL, GDA_DIALECT is wrong.
 */
int gda_dialect_check(uint32_t *dialect);

/*
 * The same for queues to which a program posts that speaks @spoken, a bit for each enum
 * gda_dialect. *@dialect only changes to one without %GDA_CAN_ORDER; 0 stays, for each queue to
 * have the default. Return: also -EOPNOTSUPP with a reason if the program does not speak the
 * dialect.
 */
int gda_dialect_choose(uint32_t *dialect, uint64_t spoken);

/* Return: 0; or -EOPNOTSUPP with a reason if @spoken lacks @dialect. */
int gda_dialect_spoken(uint32_t dialect, uint64_t spoken);
/*
 * Choose the dialect of a front end's queues to which kernels post: the first one. One without order
 * and atomics is refused by the name of what it lacks; the environment does not choose.
 */
int gda_dialect_kernels(uint32_t *dialect);

/* fork.c */

/* Called before the first context: register the fork handlers. 0 or -ENOMEM. */
int gda_fork_init(void);

/* A number that changes in each child. */
unsigned int gda_fork_generation(void);

/* An object with views is listed from its completion until its destruction begins. */
void gda_fork_add_context(struct gda_context *ctx);
void gda_fork_remove_context(struct gda_context *ctx);
void gda_fork_add_qp(struct gda_qp *qp);
void gda_fork_remove_qp(struct gda_qp *qp);
void gda_fork_add_cq(struct gda_cq *cq);
void gda_fork_remove_cq(struct gda_cq *cq);
/* fds.c: descriptors that a child of fork(2) does not keep */

/*
 * Lock around a call that creates descriptors, and around the gda_fd_list() of each of these. errno
 * is preserved.
 */
void gda_fd_lock(void);
void gda_fd_unlock(void);
/*
 * List @fd, which may be -1. Return: @fd; or -1 and errno if it cannot be listed: then it is
 * closed.
 */
int gda_fd_list(int fd);
/* Close a listed descriptor. */
void gda_fd_close(int fd);
/* Install the fork handlers that gda_fd_lock() needs (fork.c). */
void gda_fd_prepare(void);
void gda_fd_parent(void);
void gda_fd_child(void);

/* inherited.c: in a child of fork(2) */

/* Called before the two that follow. */
void gda_disassociate_init(void);
/* Cut an inherited view off from its queue. */
void gda_view_disassociate(struct gda_view *v);
/* Turn the CQ into a ring of one entry, which is an error. */
void gda_cq_view_disassociate(struct gda_cq *cq);

/* Is the view the copy of a parent's, cut off from its queue? */
bool gda_view_is_inherited(const struct gda_view *v);

/* view.c */

/* Can the library serve a view of this size? 0; -EINVAL too small; -E2BIG larger than it knows. */
int gda_view_fits(size_t size);

/* gda_view_init() for the library itself. */
int gda_view_make(struct gda_view *v, size_t size, const struct gda_view_attr *attr);

/* ring.c */

/*
 * Have @cq credit a QP of @depth slots at @cell. Return: 0; -ENOSPC if the ring has fewer entries
 * than its QPs would have slots; -ENOMEM.
 */
int gda_credits_add(struct gda_cq *cq, uint32_t qpn, void *cell, uint32_t depth);
/* Does nothing if the QP was not added. */
void gda_credits_remove(struct gda_cq *cq, uint32_t qpn, uint32_t depth);

/* wait.c */

/* Contexts that are open in this process; atomic. */
extern unsigned int gda_contexts_open;

/* Are there fewer processors than polling threads, as far as is known? */
bool gda_crowded(void);

/* Are there fewer processors that this thread may run on than @pollers? */
bool gda_crowded_by(unsigned int pollers);

/* lib/comm/split.c */

/* Bytes of a machine's name, which changes with each boot. */
#define GDA_MACHINE_BYTES	36

/* Return: 0, or a negative errno and a name of zeros. */
int gda_machine_name(char name[GDA_MACHINE_BYTES]);

/* lib/comm/comm.c */

struct gda_comm;

/* Do the ranks of this machine, with @each polling threads each, outnumber its processors? */
bool gda_comm_crowded(const struct gda_comm *comm, unsigned int each);

/* Bytes of the words at gda_comm_abort_word(@comm, 0): whole pages that hold nothing else. */
size_t gda_comm_abort_bytes(const struct gda_comm *comm);

/*
 * lib/comm/exchange.c: collective set-up. A rank that failed still takes part in every exchange up
 * to the next gda_comm_agree(), which tells the others, so that no rank waits forever.
 */

/* gda_comm_allgather() that keeps a reason already noted, and notes its own if it fails. */
int gda_comm_exchange(struct gda_comm *ranks, const void *in, size_t bytes, void *out);
/*
 * Collective: agree on the outcome of a step that each rank has done. Return: 0 if all succeeded;
 * else the caller's error, or that of the first rank that has one. @err if @ranks is NULL.
 */
int gda_comm_agree(struct gda_comm *ranks, int err);

/* kernel.c */

/* Open /dev/gda without choosing a device; gda_device_kernel.close() closes it. */
int gda_kernel_open_node(struct gda_context *ctx);

/* lib/device/inproc/device.c */

/*
 * Fill in GDA_IOC_DEVICE_INFO for the @n-th device, from 0, that this process executes; its id is
 * 0. Return: 0; -ENOENT if there are no more.
 */
int gda_inproc_describe(uint32_t n, struct gda_device_info *info);

/* Is @device the name of such a device, whether it exists or not? */
bool gda_inproc_has(const char *device);

/* Is this the in-process device, whose QPs can only reach each other? */
bool gda_inproc_alone(const struct gda_context *ctx);

/* lib/device/inproc/record.c */

/* gda_record_read() of engine/control/record.h. */
int gda_record_at(const struct gda_record *records, uint32_t mask, uint64_t pos,
		  struct gda_record *r);

/* Get the program's ring, created if there is none. 0; -EINVAL bad size; -ENOMEM. */
int gda_program_ring_get(uint32_t records, const struct gda_record **ring, uint32_t *mask);

/* Write to the program's ring, if it exists: all of @r but seq and ns. */
void gda_program_ring_write(struct gda_record *r);

/* lib/device/inproc/entry.c */

/* Decode the entry at @index; @avail slots from there on are valid. As gda_entry_decode(). */
void gda_entry_read(const struct gda_view *v, uint64_t index, uint32_t avail,
		    struct gda_record *r);

/* device.c */

/* Write the names of all devices to @names, like "soft0, inproc". */
void gda_device_names(char *names, size_t size);

/* ioctl.c */

/* A call of gda/ioctl.h on the context's device. */
int gda_ioctl(const struct gda_context *ctx, unsigned long request, void *arg);

/* GDA_IOC_DESTROY of one object. */
int gda_destroy_handle(const struct gda_context *ctx, uint32_t handle);

/* cq.c; gda_cq_create() and gda_cq_destroy() for callers inside the library */
int gda_cq_new(struct gda_context *ctx, const struct gda_cq_attr *attr, struct gda_cq **cq);
int gda_cq_drop(struct gda_cq *cq);

/* the dialect */

/* The name of an opcode of an entry or a record; NULL: unknown. */
const char *gda_opcode_name(uint32_t opcode);

/* last_error.c */

/*
 * Note why the current control call fails, unless a reason was noted. Call this only on the way to
 * gda_called(): a reason that is left over would be reported for the next call. Return: @err.
 */
int gda_because(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drop the noted reason: the call goes on in another way. */
void gda_forget_reason(void);

/*
 * A noted reason, saved before and restored after nested control calls, which would drop it.
 * Restoring an empty one keeps what was noted since.
 */
struct gda_reason {
	char text[256];
};

void gda_reason_save(struct gda_reason *reason);
void gda_reason_restore(const struct gda_reason *reason);

/* Was anything said? */
int gda_reason_known(void);

/*
 * Called at the end of every exported control call: make the noted reason, or else the text of
 * @err, the thread's last error; print the call with its arguments if GDA_DEBUG asks for it.
 * Return: @err.
 */
int gda_called(int err, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * How many calls of this thread have failed; compare two values to see whether a nested call did.
 */
unsigned long gda_failures(void);

/* Does GDA_DEBUG ask for lines on stderr? */
int gda_debugging(void);

/* Print one of them. */
void gda_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Size of the text of the last error. */
#define GDA_LAST_TEXT	512U

/* The text of the thread's last error; *@number counts such texts. */
const char *gda_last_text(unsigned long *number);
/* Append ": " and as much of @text as fits. */
void gda_last_text_add(const char *text);

/* Called at the end of a failed wait: the text becomes the thread's last error. */
void gda_said(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* waited.c */

/*
 * Take the reason of the nested control call that returned @err for the current call. Return: @err.
 */
int gda_because_last(int err);

/*
 * Called before queues are destroyed: from then on no device is queried about failed waits for
 * them.
 */
void gda_waited_destroyed(void);
/* Block queries of devices while the process forks. */
void gda_waited_hold(void);
void gda_waited_release(void);

/* explain.c */

/* gda_explain() of a queue of libgda, without the wait for a round of the worker. */
int gda_explain_at_once(struct gda_view *v, int64_t ticket, char *buf, size_t len);
/* ": " and a remedy, if the cause is in the arguments of the post; else "". */
const char *gda_cause_remedy(uint32_t cause);

/* debug.c; both do nothing without GDA_DEBUG */

/* Watch a complete QP. */
void gda_debug_add(struct gda_qp *qp);

/* Called before a QP is destroyed, or with NULL for all QPs of @ctx. */
void gda_debug_remove(const struct gda_context *ctx, const struct gda_qp *qp);

/* rules.c; each returns @err, the result of a failed call, and notes the reason that it finds */

/* The rules common to all ways of registering memory. */
struct gda_mr_rule {
	const char *start_name;		/* of the argument @start */
	uint64_t start;
	uint64_t length;
	uint64_t feature;		/* GDA_FEATURE_MR_* */
	uint32_t access;
	uint32_t flags;
};

int gda_why_cq(const struct gda_context *ctx, int err, const struct gda_cq_attr *attr);
int gda_why_cq_event(const struct gda_context *ctx, int err, int eventfd, uint32_t flags);
int gda_why_qp(const struct gda_context *ctx, int err, const struct gda_qp_attr *attr);
int gda_why_connect(const struct gda_context *ctx, int err);
int gda_why_peer(const struct gda_context *ctx, int err);
int gda_why_counter(const struct gda_context *ctx, int err, const struct gda_counter_attr *attr);
int gda_why_export(const struct gda_context *ctx, int err, const char *object, uint32_t type);
int gda_why_busy(int err);
int gda_why_mr(const struct gda_context *ctx, int err, const struct gda_mr_rule *rule);
int gda_why_mr_user(int err, const struct gda_mr_rule *rule);
int gda_why_mr_dmabuf(int err, int fd);
int gda_why_mr_peer(int err);

/* The texts of errors of peer clients. */
const char *gda_peer_strerror(int error);

/* region.c */

/*
 * Map the region that @info names, or take another reference to its mapping, and point @part at the
 * object's part of it.
 */
int gda_region_get(struct gda_context *ctx, const struct gda_region_info *info,
		   struct gda_region **region, void **part);

/*
 * If @place is not NULL the queue's part is in the caller's memory: there is no region. Otherwise
 * as gda_region_get().
 */
int gda_place_get(struct gda_context *ctx, const struct gda_place *place,
		  const struct gda_region_info *info, struct gda_region **region,
		  void **part);

/*
 * Copy the caller's place into @copy and point *@place at the copy, unless it is NULL. Returns as
 * gda_struct_read().
 */
int gda_place_read(const struct gda_place **place, struct gda_place *copy);

/* Convert a place to the kernel's form; NULL becomes zeros. */
struct gda_queue_memory gda_place_memory(const struct gda_place *place);

/* Drop a reference; the last one unmaps the region. Does nothing with NULL. */
void gda_region_put(struct gda_context *ctx, struct gda_region *region);

/* Unmap all remaining regions of a context that is being closed. */
void gda_region_drop_all(struct gda_context *ctx);

#endif /* GDA_INTERNAL_H */
