// SPDX-License-Identifier: MIT
/*
 * Explains failed control calls. Many rules share an errno, so after a failure the arguments are
 * checked again, in the order in which a device checks them, to find the rule that they break. If
 * none is found, only the errno is reported.
 *
 * This code runs only after a failure, and does not change the result.
 */
#include <errno.h>
#include <sys/resource.h>
#include "gda_internal.h"

static int gda_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* The highest power of two that exceeds neither @n nor @most; a @most of 0 is no limit. */
static uint32_t gda_power_below(uint32_t n, uint32_t most)
{
	uint32_t power = 1;

	while (power <= n / 2 && (!most || power <= most / 2))
		power *= 2;
	return power;
}

/* The limits of the device; zeros if it does not answer any more. */
static struct gda_query gda_limits(const struct gda_context *ctx)
{
	struct gda_query q = { .size = sizeof(q) };

	if (gda_ioctl(ctx, GDA_IOC_QUERY, &q))
		q = (struct gda_query){ 0 };
	return q;
}

static int gda_why_full(const struct gda_context *ctx, int err, const char *what, uint32_t most)
{
	if (err == -ENOSPC && most && ctx->ops == &gda_device_kernel)
		gda_because(err,
			    "the context has %u %s, which is the most, or this user has max_objects (gdactl limits): destroy one",
			    most, what);
	else if (err == -ENOSPC && most)
		gda_because(err,
			    "the context has %u %s, which is the most: destroy one, or use another context",
			    most, what);
	return err;
}

static int gda_why_depth(int err, const char *name, uint32_t depth, uint32_t most)
{
	if (err != -EINVAL)
		return err;
	if (!depth)
		gda_because(err, "%s is 0: set it to a power of two", name);
	else if (!gda_power_of_two(depth))
		gda_because(err, "%s %u is no power of two: set it to %u", name, depth,
			    gda_power_below(depth, most));
	else if (most && depth > most)
		gda_because(err, "%s %u: the device takes at most %u", name, depth, most);
	return err;
}

static int gda_why_flags(int err, const char *name, uint32_t flags, uint32_t known)
{
	if (err == -EOPNOTSUPP && flags & ~known)
		gda_because(err,
			    "%s has unknown bits: %#x: clear them, or install a newer libgda and driver",
			    name, flags & ~known);
	return err;
}

/* Did the caller ask for @what although the device lacks @feature, whose bit is called @name? */
static int gda_why_lacks(int err, const struct gda_query *q, const char *what, int asked,
			 uint64_t feature, const char *name)
{
	if (err == -EOPNOTSUPP && asked && q->abi && !(q->features[0] & feature))
		gda_because(err,
			    "%s: the device %s does not offer %s: leave it out, or use another device",
			    what, q->device, name);
	return err;
}

#define gda_why_feature(err, q, what, asked, feature) \
	gda_why_lacks(err, q, what, asked, feature, #feature)

/* Explain errors of a caller's place in memory; @align is 64, or 8 for a record. */
static int gda_why_place(const struct gda_context *ctx, int err, const char *name,
			 const struct gda_place *place, uint32_t align)
{
	if (!place)
		return err;
	if (err == -EINVAL && place->offset % align)
		gda_because(err, "%s: offset %#llx: set it to a multiple of %u", name,
			    (unsigned long long)place->offset, align);
	else if (err == -EINVAL)
		gda_because(err,
			    "%s: fd %d is no dma-buf, or offset %#llx is too near its end: pass a larger one",
			    name, place->fd, (unsigned long long)place->offset);
	else if (err == -EBADF)
		gda_because(err,
			    "%s: fd %d is no open file: pass that of a dma-buf",
			    name, place->fd);
	else if (err == -EACCES)
		gda_because(err,
			    "%s: fd %d is not open for reading and writing: export it with O_RDWR",
			    name, place->fd);
	else if (err == -EBUSY)
		gda_because(err,
			    "%s: it overlaps with memory of another queue: pass another offset",
			    name);
	else if (err == -EOPNOTSUPP && gda_inproc_alone(ctx))
		gda_because(err,
			    "%s: the in-process device takes no dma-bufs: set it to NULL, or use a device of /dev/gda",
			    name);
	else if (err == -EOPNOTSUPP)
		gda_because(err,
			    "%s: the exporter of fd %d gives the CPU no address: pass memory of another exporter, udmabuf for one",
			    name, place->fd);
	return err;
}

int gda_why_cq(const struct gda_context *ctx, int err, const struct gda_cq_attr *attr)
{
	const struct gda_query q = gda_limits(ctx);

	gda_why_flags(err, "flags", attr->flags,
		      GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE | GDA_CQ_IGNORE_OVERRUN);
	gda_why_feature(err, &q, "GDA_CQ_IGNORE_OVERRUN", attr->flags & GDA_CQ_IGNORE_OVERRUN,
			GDA_FEATURE_IGNORE_OVERRUN);
	gda_why_feature(err, &q, "a ring", !(attr->flags & GDA_CQ_COLLAPSED),
			GDA_FEATURE_CQ_RING);
	if (err == -EOPNOTSUPP && attr->dialect && attr->dialect != GDA_WQE_FIRST)
		gda_because(err,
			    "dialect %u: the device %s does not offer it: set it to 0, or use another device",
			    attr->dialect, q.device);
	if (!(attr->flags & GDA_CQ_COLLAPSED))
		gda_why_depth(err, "depth", attr->depth, q.max_cq_depth);
	else if (attr->dbrec && err == -EINVAL)
		gda_because(err, "dbrec: a collapsed CQ has no record: leave it NULL");
	gda_why_full(ctx, err, "CQs", q.max_cq);
	gda_why_place(ctx, err, "memory", attr->memory, 64);
	return gda_why_place(ctx, err, "dbrec", attr->dbrec, 8);
}

int gda_why_cq_event(const struct gda_context *ctx, int err, int eventfd, uint32_t flags)
{
	const uint32_t both = GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED;
	const struct gda_query q = err == -EOPNOTSUPP ? gda_limits(ctx) : (struct gda_query) { 0 };

	gda_why_flags(err, "flags", flags, both);
	gda_why_feature(err, &q, "events", 1, GDA_FEATURE_CQ_EVENT);
	if (err == -EBADF)
		gda_because(err, "eventfd %d is no open file: pass one of eventfd(2)", eventfd);
	if (err != -EINVAL)
		return err;
	if (flags == both)
		gda_because(err,
			    "flags arms in two ways: set one GDA_CQ_ARM* flag");
	else if (eventfd == -1)
		gda_because(err, "eventfd is -1 and none was given before: pass one");
	else
		gda_because(err,
			    "eventfd %d is another kind of file: pass one of eventfd(2)",
			    eventfd);
	return err;
}

int gda_why_qp(const struct gda_context *ctx, int err, const struct gda_qp_attr *attr)
{
	const struct gda_query q = gda_limits(ctx);

	gda_why_flags(err, "flags", attr->flags, GDA_QP_POLLED);
	gda_why_feature(err, &q, "GDA_QP_POLLED", attr->flags & GDA_QP_POLLED,
			GDA_FEATURE_QP_POLLED);
	gda_why_feature(err, &q, "recv_cq", !!attr->recv_cq, GDA_FEATURE_IMM);
	gda_why_feature(err, &q, "user_index", !!attr->user_index, GDA_FEATURE_USER_INDEX);
	gda_why_feature(err, &q, "recv_counter", !!attr->recv_counter, GDA_FEATURE_RECV_COUNTER);
	gda_why_feature(err, &q, "rnr_retry", attr->rnr_retry || attr->min_rnr_timer,
			GDA_FEATURE_RNR_RETRY);
	if (attr->sq_depth)
		gda_why_depth(err, "sq_depth", attr->sq_depth, q.max_sq_depth);
	if (err == -EINVAL && attr->recv_cq && attr->recv_cq->flags & GDA_CQ_COLLAPSED)
		gda_because(err,
			    "recv_cq is collapsed, immediates need a ring: create it without GDA_CQ_COLLAPSED");
	if (err == -EBUSY && attr->cq && attr->cq->flags & GDA_CQ_COLLAPSED)
		gda_because(err,
			    "cq is collapsed and serves another QP: pass another");
	if (err == -ENOSPC && !attr->cq)
		gda_because(err,
			    "the context has %u QPs or %u CQs, which is the most: use another context",
			    q.max_qp,
			    q.max_cq);
	gda_why_full(ctx, err, "QPs", q.max_qp);
	gda_why_place(ctx, err, "sq", attr->sq, 64);
	return gda_why_place(ctx, err, "dbrec", attr->dbrec, 8);
}

int gda_why_connect(const struct gda_context *ctx, int err)
{
	if (err == -EINVAL)
		gda_because(err,
			    "peer is no address of this kind of device: pass what gda_qp_address() gave the other side");
	else if (err == -ENOENT && gda_inproc_alone(ctx))
		gda_because(err,
			    "peer is no QP of this process, and the in-process device reaches no other: use soft0 or an RDMA device (GDA_DEVICE; gdactl doctor names them), or make the ranks threads");
	else if (err == -ENOENT)
		gda_because(err,
			    "peer: no such QP (any more): exchange addresses again");
	else if (err == -EALREADY)
		gda_because(err,
			    "this QP has a peer, or has failed: create another");
	else if (err == -EOPNOTSUPP)
		gda_because(err,
			    "one of both QPs is to be connected and the other names its targets, or the device has no such dialect: create both in one dialect");
	else if (err == -EBUSY)
		gda_because(err, "peer has named another QP: it must name this one");
	else if (err == -ENOSPC)
		gda_because(err, "too many QPs wait for an answer of peer: try again later");
	return err;
}

int gda_why_peer(const struct gda_context *ctx, int err)
{
	if (err == -EINVAL)
		return gda_because(err,
				   "address is none of this kind of device, or that of a QP that is to be connected: pass what gda_qp_address() of a QP in the efa dialect gave");
	if (err == -ENOSPC)
		return gda_because(err, "%u contexts are named already: remove some",
				   GDA_MAX_PEERS);
	return gda_why_connect(ctx, err);
}

int gda_why_counter(const struct gda_context *ctx, int err, const struct gda_counter_attr *attr)
{
	const struct gda_query q = gda_limits(ctx);
	bool words = attr->value_mr || attr->errors_mr;

	gda_why_feature(err, &q, "counters", 1, GDA_FEATURE_COUNTER);
	gda_why_flags(err, "ops", attr->ops,
		      GDA_COUNT_READ | GDA_COUNT_WRITE | GDA_COUNT_REMOTE_WRITE);
	gda_why_feature(err, &q, "words, ops and first counts",
			words || attr->ops || attr->first_value || attr->first_errors,
			GDA_FEATURE_COUNTER_MEMORY);
	if (err == -EINVAL && attr->flags & GDA_COUNTER_WRAP31 && !words)
		gda_because(err, "GDA_COUNTER_WRAP31: only words wrap: pass value_mr or errors_mr");
	else if (err == -EINVAL)
		gda_because(err,
			    "a word is not inside of its MR, not a multiple of 8, or both are one: pass other offsets");
	else if (err == -EACCES)
		gda_because(err,
			    "an MR lacks GDA_ACCESS_LOCAL_WRITE: register it with that right");
	else if (err == -ENOENT)
		gda_because(err, "the memory of an MR was revoked: register it again");
	else if (err == -EOPNOTSUPP && words)
		gda_because(err,
			    "no CPU can access the memory of an MR: pass memory of the process");
	return gda_why_full(ctx, err, "counters", q.max_counter);
}

int gda_why_export(const struct gda_context *ctx, int err, const char *object, uint32_t type)
{
	if (err == -EOPNOTSUPP && gda_inproc_alone(ctx))
		gda_because(err,
			    "the in-process device exports no regions: use a device of /dev/gda");
	else if (err == -EOPNOTSUPP)
		gda_because(err, "the device exports no regions: use soft0");
	else if (err == -EINVAL)
		gda_because(err, "type %u: pass a GDA_REGION_*", type);
	else if (err == -ENOENT)
		gda_because(err,
			    "this %s has no region of type %u, or it is the caller's memory: export that where it was made",
			    object, type);
	return err;
}

int gda_why_busy(int err)
{
	return err == -EBUSY ? gda_because(err, "a QP uses it: destroy the QP before") : err;
}

/* The rules common to all kinds of registration. */
int gda_why_mr(const struct gda_context *ctx, int err, const struct gda_mr_rule *rule)
{
	const struct gda_query q = gda_limits(ctx);

	gda_why_flags(err, "flags", rule->flags, GDA_MR_ZERO_BASED);
	gda_why_flags(err, "access", rule->access, GDA_ACCESS_ALL);
	if (err == -EOPNOTSUPP && q.abi && !(q.features[0] & rule->feature))
		gda_because(err, "this device does not register such memory: %s",
			    ctx->ops == &gda_device_kernel ? "load gda_mr" : "use another device");
	if (err == -EINVAL && !(rule->access & GDA_ACCESS_LOCAL_WRITE)) {
		if (rule->access & GDA_ACCESS_REMOTE_WRITE)
			gda_because(err,
				    "access: remote write needs GDA_ACCESS_LOCAL_WRITE, too");
		else if (rule->access & GDA_ACCESS_REMOTE_ATOMIC)
			gda_because(err,
				    "access: remote atomic needs GDA_ACCESS_LOCAL_WRITE, too");
	}
	if (err == -EINVAL && !rule->length)
		gda_because(err, "length is 0: register at least one byte");
	else if (err == -EINVAL && q.max_mr_size && rule->length > q.max_mr_size)
		gda_because(err,
			    "length %#llx: the device takes at most %#llx, register the memory in parts",
			    (unsigned long long)rule->length, (unsigned long long)q.max_mr_size);
	if (err == -EOVERFLOW)
		gda_because(err,
			    "%s %#llx plus length %#llx wraps: is one of them wrong?",
			    rule->start_name, (unsigned long long)rule->start,
			    (unsigned long long)rule->length);
	return gda_why_full(ctx, err, "MRs", q.max_mr);
}

int gda_why_mr_user(int err, const struct gda_mr_rule *rule)
{
	struct rlimit limit;

	if (err == -EFAULT)
		gda_because(err,
			    "addr %#llx, length %#llx: not all mapped with these rights: map it, or ask for fewer in access",
			    (unsigned long long)rule->start, (unsigned long long)rule->length);
	else if (err == -ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
		 limit.rlim_cur != RLIM_INFINITY)
		gda_because(err,
			    "no memory, or length %#llx does not fit RLIMIT_MEMLOCK, %#llx: see ulimit -l",
			    (unsigned long long)rule->length, (unsigned long long)limit.rlim_cur);
	return err;
}

int gda_why_mr_dmabuf(int err, int fd)
{
	if (err == -EBADF)
		gda_because(err, "fd %d is no open file: pass that of a dma-buf", fd);
	else if (err == -EINVAL)
		gda_because(err,
			    "fd %d is no dma-buf, or offset and length are not inside it: pass a part of one",
			    fd);
	else if (err == -EACCES)
		gda_because(err,
			    "fd %d is not open for the rights in access: open it for reading and writing",
			    fd);
	else if (err == -EOPNOTSUPP)
		gda_because(err,
			    "the exporter of fd %d gives the CPU no address: use a device of hardware, or another exporter",
			    fd);
	else if (err == -ENODEV)
		gda_because(err,
			    "fd %d: its memory is gone, or the context was shut down: export it anew, or open another context",
			    fd);
	return err;
}

const char *gda_peer_strerror(int error)
{
	switch (error) {
	case ENXIO:
		return "no peer driver claims this address range";
	case EACCES:
		return "the range is not mapped for this access";
	case EOPNOTSUPP:
		return "the peer driver gives the CPU no address";
	case ENODEV:
		return "the peer driver took the memory away";
	default:
		return gda_strerror(error);
	}
}

int gda_why_mr_peer(int err)
{
	return gda_because(err, "%s", gda_peer_strerror(-err));
}
