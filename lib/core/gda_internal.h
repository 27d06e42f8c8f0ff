/* SPDX-License-Identifier: MIT */
/*
 * Between the files of libgda, nothing else: what the objects are, and the two
 * things all of them need, an ioctl that returns its errno and mapped regions.
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

/* A cookie that the kernel returns is the offset of a mmap(2), and can be above 2 GiB. */
_Static_assert(sizeof(off_t) == 8, "compile the library with -D_FILE_OFFSET_BITS=64");

struct gda_context;

/*
 * The device of a context: the kernel's devices (kernel.c) or the in-process device
 * (lib/device/inproc). All else in the library is the same for both.
 */
struct gda_device_ops {
	/* Set ctx->fd, which mmap(2) takes the cookies of, and ctx->device if need be. */
	int (*open)(struct gda_context *ctx, const char *device);
	void (*close)(struct gda_context *ctx);
	/* A call of gda/ioctl.h: 0 or a negative errno; errno stays as it was. */
	int (*ioctl)(const struct gda_context *ctx, unsigned long request, void *arg);
	/* Map a region at *@addr. Return: 0 or a negative errno; errno may change. */
	int (*map)(struct gda_context *ctx, const struct gda_region_info *info, void **addr);
	void (*unmap)(struct gda_context *ctx, void *addr, size_t length);
	/*
	 * By a thread that waits for work of a queue, or for entries in a ring: execute the
	 * queue, or some of the context. NULL: only the device can. Return: was there work?
	 */
	bool (*help)(struct gda_context *ctx, uint32_t qpn, unsigned int polls,
		     enum gda_relax_for what);
	bool (*help_all)(struct gda_context *ctx, unsigned int polls);
	/*
	 * In a child of fork(2), which has one thread: close and unmap what would keep alive in the
	 * device what the parent has there. Every later call is -ENODEV; close() and unmap() come.
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
	unsigned int recorders;		/* readers of its records; under @lock */
	struct gda_context *next;	/* of all; see fork.c */
};

/* Mapped memory of the device's; see region.c. */
struct gda_region {
	struct gda_region *next;
	uint64_t cookie;
	size_t length;
	void *addr;
	unsigned int users;
};

/*
 * The views that a ring completes, by number: open addressing, at least half of it free.
 * All of it, view->next and view->record are under @lock once there is a view.
 */
struct gda_credits {
	pthread_mutex_t lock;
	struct gda_credit {
		uint64_t cell;		/* its view polls it; 0: free */
		uint32_t qpn;
	} *table;
	uint32_t mask;
	uint32_t count;
	uint32_t slots;			/* of the queues of all: no more than entries */
	uint64_t seen;			/* entries credited; view->next is not beyond */
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
	void *record;			/* of a ring */
	uint32_t handle;
	uint32_t flags;
	uint32_t dialect;
	uint64_t orphan[GDA_CQE_MAX_BYTES / 8];	/* the ring of a child of fork(2) */
};

struct gda_qp {
	struct gda_view view;		/* first: it wants its alignment */
	struct gda_context *ctx;
	struct gda_qp *next;		/* of the context's */
	struct gda_qp **link;
	struct gda_cq *cq;
	struct gda_cq *own_cq;		/* @cq if it came along, else NULL */
	struct gda_region *sq;
	struct gda_region *dbrec;
	struct gda_region *db;
	uint32_t *slots;
	uint32_t handle;
	int has_view;
	int debug_failed;		/* its first error was printed */
	struct gda_qp *debug_next;	/* under gda_debug_lock */
	uint32_t credited;		/* slots, of a QP that its ring's credits know by @qpn */
	uint32_t qpn;
	/* completes through a ring: what stands for the entry of a collapsed CQ */
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
 * Can a structure of the caller's be served, of which the library's first version had
 * @least bytes? 0; -EINVAL too small; -E2BIG too large to be a structure.
 */
int gda_struct_check(const void *theirs, size_t least);

/*
 * Copy a structure of the caller's into @ours, of @size bytes; what the caller does not
 * know of is zero. Returns as gda_struct_check(); -E2BIG also if anything that the
 * library does not know of is not zero.
 */
int gda_struct_read(void *ours, size_t size, size_t least, const void *theirs);

/*
 * Copy the answer in @ours, of @size bytes, to a structure of the caller's that was
 * checked; what the library does not know of becomes zero. The caller's size stays.
 */
void gda_struct_write(void *theirs, const void *ours, size_t size);

/* A member of a structure of attributes, and the most that it may be. */
struct gda_range {
	const char *name;
	uint32_t value;
	uint32_t most;
};

/* 0, or -EINVAL and the first of @ranges that is exceeded is noted. */
int gda_ranges_check(const struct gda_range *ranges, size_t count);

/* dialect.c */

/*
 * In place of 0 *@dialect becomes that of a queue whose creator names none. Return: 0; -EOPNOTSUPP
 * and the reason: posters do not speak it.
 */
int gda_dialect_check(uint32_t *dialect);

/* fork.c */

/* Before the first context: have children of fork(2) lose their views. 0 or -ENOMEM. */
int gda_fork_init(void);

/* It changes in a child. */
unsigned int gda_fork_generation(void);

/* Objects with views are listed from when they are complete until they are taken apart. */
void gda_fork_add_context(struct gda_context *ctx);
void gda_fork_remove_context(struct gda_context *ctx);
void gda_fork_add_qp(struct gda_qp *qp);
void gda_fork_remove_qp(struct gda_qp *qp);
void gda_fork_add_cq(struct gda_cq *cq);
void gda_fork_remove_cq(struct gda_cq *cq);
/* fds.c: descriptors that a child of fork(2) does not keep */

/* Around the call that makes descriptors, and gda_fd_list() of each. errno stays. */
void gda_fd_lock(void);
void gda_fd_unlock(void);
/* @fd: or -1. Return: @fd; or -1 and errno, if it cannot be listed: then it is closed. */
int gda_fd_list(int fd);
/* Close one that is listed. */
void gda_fd_close(int fd);
/* By fork.c, where gda_fd_lock() is, too: before a descriptor can be listed it has its handlers. */
void gda_fd_prepare(void);
void gda_fd_parent(void);
void gda_fd_child(void);

/* inherited.c: in a child of fork(2) */

/* Before the two that follow. */
void gda_disassociate_init(void);
/* Cut an inherited view off from its queue. */
void gda_view_disassociate(struct gda_view *v);
/* It becomes a ring of one entry, which is an error. */
void gda_cq_view_disassociate(struct gda_cq *cq);

/* Is it a parent's, cut off from its queue? */
bool gda_view_is_inherited(const struct gda_view *v);

/* view.c */

/* Can a view of this size be served? 0; -EINVAL too small; -E2BIG larger than ours. */
int gda_view_fits(size_t size);

/* gda_view_init() for the library itself. */
int gda_view_make(struct gda_view *v, size_t size, const struct gda_view_attr *attr);

/* ring.c */

/*
 * Have @cq credit a QP of @depth slots at @cell. Return: 0; -ENOSPC the ring has not as
 * many entries as its QPs have slots; -ENOMEM.
 */
int gda_credits_add(struct gda_cq *cq, uint32_t qpn, void *cell, uint32_t depth);
/* Nothing if it was not added. */
void gda_credits_remove(struct gda_cq *cq, uint32_t qpn, uint32_t depth);

/* wait.c */

/* Contexts that are open in this process; atomic. */
extern unsigned int gda_contexts_open;

/* Are there fewer processors than threads that poll, as far as is known? */
bool gda_crowded(void);

/* Are there fewer processors that this thread may run on than @pollers? */
bool gda_crowded_by(unsigned int pollers);

/* lib/comm/split.c */

/* Bytes of the name of a machine: of this boot of its kernel. */
#define GDA_MACHINE_BYTES	36

/* Return: 0 or a negative errno, and the name is zeros. */
int gda_machine_name(char name[GDA_MACHINE_BYTES]);

/* lib/comm/comm.c */

struct gda_comm;

/* Are there fewer processors than threads that poll, @each of every rank on this machine? */
bool gda_comm_crowded(const struct gda_comm *comm, unsigned int each);

/* Bytes of the words at gda_comm_abort_word(@comm, 0): whole pages, with nothing else there. */
size_t gda_comm_abort_bytes(const struct gda_comm *comm);

/*
 * lib/comm/exchange.c: set-up that all ranks make together. A rank that failed takes part in every
 * exchange up to the next gda_comm_agree(), which tells the others; so nobody is left waiting.
 */

/* gda_comm_allgather(), which drops no reason that was noted, and notes its own. */
int gda_comm_exchange(struct gda_comm *ranks, const void *in, size_t bytes, void *out);
/*
 * Collective: the outcome of a step that each rank has made for itself. 0 if all succeeded; else
 * the caller's error, or that of the first rank that has one. Without @ranks: @err.
 */
int gda_comm_agree(struct gda_comm *ranks, int err);

/* kernel.c */

/* Open /dev/gda, bound to no device; gda_device_kernel.close() closes it. */
int gda_kernel_open_node(struct gda_context *ctx);

/* lib/device/inproc/device.c */

/*
 * Fill in what GDA_IOC_DEVICE_INFO says of a device that this process executes, counted by @n
 * from 0; its id is 0. Return: 0; -ENOENT there are no more.
 */
int gda_inproc_describe(uint32_t n, struct gda_device_info *info);

/* Is this the name of such a device, be it there or not? */
bool gda_inproc_has(const char *device);

/* Is it the in-process device, whose QPs reach each other and nobody else? */
bool gda_inproc_alone(const struct gda_context *ctx);

/* lib/device/inproc/record.c */

/* gda_record_read() of engine/control/record.h. */
int gda_record_at(const struct gda_record *records, uint32_t mask, uint64_t pos,
		  struct gda_record *r);

/* The program's ring, which is made if there is none. 0; -EINVAL bad size; -ENOMEM. */
int gda_program_ring_get(uint32_t records, const struct gda_record **ring, uint32_t *mask);

/* Write to it, if it is there: all but seq and ns. */
void gda_program_ring_write(struct gda_record *r);

/* lib/device/inproc/entry.c */

/* Decode the entry at @index, of the @avail slots from there on: as gda_entry_decode(). */
void gda_entry_read(const struct gda_view *v, uint64_t index, uint32_t avail,
		    struct gda_record *r);

/* device.c */

/* Write the names of all devices at @names, "soft0, inproc". */
void gda_device_names(char *names, size_t size);

/* ioctl.c */

/* A call of gda/ioctl.h on the context's device. */
int gda_ioctl(const struct gda_context *ctx, unsigned long request, void *arg);

/* GDA_IOC_DESTROY of one object. */
int gda_destroy_handle(const struct gda_context *ctx, uint32_t handle);

/* cq.c; gda_cq_create() and gda_cq_destroy() for the library itself, and its structures */
int gda_cq_new(struct gda_context *ctx, const struct gda_cq_attr *attr, struct gda_cq **cq);
int gda_cq_drop(struct gda_cq *cq);

/* the dialect */

/* The opcode of an entry, or of a record, in a word; NULL: unknown. */
const char *gda_opcode_name(uint32_t opcode);

/* last_error.c */

/*
 * Say why the control call that is under way fails, if nothing was said yet. On the way to
 * gda_called() only: what is said elsewhere would be said of the next call. Return: @err.
 */
int gda_because(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drop the reason that was noted: the call goes on in another way. */
void gda_forget_reason(void);

/*
 * The reason that was noted, over control calls on the way, which would drop it: save it
 * before, and restore it behind them. To restore none leaves what was noted since.
 */
struct gda_reason {
	char text[256];
};

void gda_reason_save(struct gda_reason *reason);
void gda_reason_restore(const struct gda_reason *reason);

/* Was anything said? */
int gda_reason_known(void);

/*
 * The end of every exported control call: make what was said, or else the text of @err, the
 * thread's last error, and print the call with its arguments if GDA_DEBUG says so.
 * Return: @err.
 */
int gda_called(int err, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* How many calls of this thread have failed: did one that was made on the way? */
unsigned long gda_failures(void);

/* Does GDA_DEBUG ask for lines on stderr? */
int gda_debugging(void);

/* Print one of them. */
void gda_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Room for the text of the last error. */
#define GDA_LAST_TEXT	512U

/* The text of the thread's last error, and how many have been that. */
const char *gda_last_text(unsigned long *number);
/* ": ", and @text as far as there is room. */
void gda_last_text_add(const char *text);

/* The end of a wait that failed: the text is the thread's last error. */
void gda_said(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* waited.c */

/* @err of a control call that was made on the way: its reason is that of the call under way. */
int gda_because_last(int err);

/* Queues are about to go: no device is asked any more about waits for them. */
void gda_waited_destroyed(void);
/* While the process forks, no device is being asked. */
void gda_waited_hold(void);
void gda_waited_release(void);

/* explain.c */

/*
 * gda_explain() of a queue of libgda's that only asks, and does not watch the worker for a
 * moment.
 */
int gda_explain_at_once(struct gda_view *v, int64_t ticket, char *buf, size_t len);
/*
 * A remedy for the program behind ": ", where an error is about the arguments of the post; or "".
 */
const char *gda_cause_remedy(uint32_t cause);

/* debug.c; both do nothing without GDA_DEBUG */

/* Watch a QP that is complete. */
void gda_debug_add(struct gda_qp *qp);

/* A QP is about to be destroyed, or with NULL all that are left of @ctx. */
void gda_debug_remove(const struct gda_context *ctx, const struct gda_qp *qp);

/* rules.c; all return @err, the outcome of a call, for which they look for a reason */

/* Common to all ways of registering memory. */
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
int gda_why_counter(const struct gda_context *ctx, int err);
int gda_why_export(const struct gda_context *ctx, int err, const char *object, uint32_t type);
int gda_why_busy(int err);
int gda_why_mr(const struct gda_context *ctx, int err, const struct gda_mr_rule *rule);
int gda_why_mr_user(int err, const struct gda_mr_rule *rule);
int gda_why_mr_dmabuf(int err, int fd);
int gda_why_mr_peer(int err);

/* The errors of peer clients. */
const char *gda_peer_strerror(int error);

/* region.c */

/*
 * Map the region that @info names, or take one more reference to its mapping, and
 * point @part at the object's part of it.
 */
int gda_region_get(struct gda_context *ctx, const struct gda_region_info *info,
		   struct gda_region **region, void **part);

/*
 * The part of the queue at @place, if that is not NULL: memory of the caller, so there is
 * no region. Otherwise as gda_region_get().
 */
int gda_place_get(struct gda_context *ctx, const struct gda_place *place,
		  const struct gda_region_info *info, struct gda_region **region,
		  void **part);

/*
 * Copy a place of the caller's into @copy and point *@place at the copy, if there is
 * one. Returns as gda_struct_read().
 */
int gda_place_read(const struct gda_place **place, struct gda_place *copy);

/* A place as the kernel reads it; zero for none. */
struct gda_queue_memory gda_place_memory(const struct gda_place *place);

/* Give a reference back; the last one unmaps. NULL is nothing. */
void gda_region_put(struct gda_context *ctx, struct gda_region *region);

/* Unmap all that is left of a context that is going away. */
void gda_region_drop_all(struct gda_context *ctx);

#endif /* GDA_INTERNAL_H */
