// SPDX-License-Identifier: GPL-2.0
/*
 * gda_null: executors of a module of its own, which the selftests list, bind, drive and take
 * away. Its devices are there while the platform driver "gda_null" is bound to its device:
 *
 *	null0	every work request completes with an error
 *	null1	has no visit() and carries out nothing at all
 *	null2	copies between MRs of one context, by memcpy(), up to a page at a time. The
 *		outcome is reported one visit later, so that there is work in flight
 *
 * It counts what gda_core has made and not given back: the parameter "live".
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <gda/compat.h>
#include <gda/executor.h>
#include <gda/flight.h>
#include <gda/mem.h>

#define NULL_DEVICES	3
#define NULL_MRS	2	/* of a context */
#define NULL_WINDOW	8U	/* work requests of "null2" in flight */
#define NULL_MAGIC	0x4c4c554e	/* "NULL" */

static atomic_t null_live = ATOMIC_INIT(0);
static atomic_t null_keys = ATOMIC_INIT(0);

static int null_live_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&null_live));
}

static const struct kernel_param_ops null_live_ops = { .get = null_live_get };
module_param_cb(live, &null_live_ops, NULL, 0444);
MODULE_PARM_DESC(live, "contexts, QPs, MRs and devices that were not given back");

/*
 * An MR, in a place of its context that lasts as long. @key is 0 where there is none, and the
 * other members are only read after it: mr_unmap() clears it, and gda_core waits for visits
 * before the place can be used again.
 */
struct null_mr {
	u32 key;
	u32 access;
	u64 iova;
	u64 length;
	const struct gda_mem_backing *backing;
};

struct null_ctx {
	struct gda_device *dev;
	struct null_mr mr[NULL_MRS];
};

static int null_bind(struct gda_executor_ctx *ctx)
{
	struct null_ctx *null = kzalloc(sizeof(*null), GFP_KERNEL_ACCOUNT);

	if (!null)
		return -ENOMEM;
	null->dev = ctx->dev;
	ctx->priv = null;
	atomic_inc(&null_live);
	return 0;
}

static void null_unbind(struct gda_executor_ctx *ctx)
{
	struct null_ctx *null = ctx->priv;

	WARN_ON_ONCE(null->dev != ctx->dev);
	kfree(null);
	atomic_dec(&null_live);
}

/* @status: of tickets from @reported to before @begun; only visits use these three. */
struct null_qp {
	bool connected;
	u64 begun;
	u64 reported;
	struct gda_status status[NULL_WINDOW];
};

static int null_qp_create(struct gda_executor_qp *qp)
{
	struct null_qp *null = kzalloc(sizeof(*null), GFP_KERNEL_ACCOUNT);

	if (!null)
		return -ENOMEM;
	qp->priv = null;
	atomic_inc(&null_live);
	return 0;
}

static void null_qp_free(struct gda_executor_qp *qp)
{
	kfree(qp->priv);
	atomic_dec(&null_live);
}

static void null_qp_address(struct gda_executor_qp *qp, u8 *address)
{
	const u32 name[] = { NULL_MAGIC, qp->number };

	memset(address, 0, GDA_ADDRESS_BYTES);
	memcpy(address, name, sizeof(name));
}

/* Any peer will do. */
static int null_qp_connect(struct gda_executor_qp *qp, const u8 *address)
{
	struct null_qp *null = qp->priv;
	u32 magic;

	memcpy(&magic, address, sizeof(magic));
	if (magic != NULL_MAGIC)
		return -EINVAL;
	if (null->connected)
		return -EALREADY;
	null->connected = true;
	gda_executor_qp_ready(qp);
	return 0;
}

static void null_qp_disconnect(struct gda_executor_qp *qp)
{
	struct null_qp *null = qp->priv;

	null->connected = false;
}

static int null_mr_map(struct gda_executor_mr *mr, const struct gda_executor_mr_attr *attr)
{
	struct null_ctx *ctx = mr->ctx->priv;
	struct null_mr *null = ctx->mr;

	if (!attr->backing || !attr->length)
		return -EINVAL;
	while (null != ctx->mr + NULL_MRS && null->key)
		null++;
	if (null == ctx->mr + NULL_MRS)
		return -ENOSPC;
	null->access = attr->access;
	null->iova = attr->iova;
	null->length = attr->length;
	null->backing = attr->backing;
	mr->key = (u32)atomic_inc_return(&null_keys);
	mr->priv = null;
	/* pairs with the load in null_mr_find(): the other members are there */
	smp_store_release(&null->key, mr->key);
	atomic_inc(&null_live);
	return 0;
}

static void null_mr_unmap(struct gda_executor_mr *mr)
{
	struct null_mr *null = mr->priv;

	WRITE_ONCE(null->key, 0);
	atomic_dec(&null_live);
}

/* Find the MR that has @access to the whole range. */
static const struct null_mr *null_mr_find(const struct null_ctx *ctx, const struct gda_sge *range,
					  u32 access, u8 *cause)
{
	const struct null_mr *mr;

	for (mr = ctx->mr; mr != ctx->mr + NULL_MRS; mr++) {
		u64 off = range->addr - mr->iova;

		/* pairs with the store in null_mr_map() */
		if (!range->key || smp_load_acquire(&mr->key) != range->key)
			continue;
		if (access & ~mr->access) {
			*cause = GDA_CAUSE_RIGHTS;
			return NULL;
		}
		if (off > mr->length || range->len > mr->length - off) {
			*cause = GDA_CAUSE_RANGE;
			return NULL;
		}
		return mr;
	}
	*cause = GDA_CAUSE_KEY;
	return NULL;
}

/* A CPU pointer to byte @off. Return: bytes that may be used there, at most @len. */
static u32 null_span(const struct null_mr *mr, u64 off, u32 len, void **ptr)
{
	const struct gda_mem_backing *b = mr->backing;

	if (!b->pages)
		return b->kind->span(b, off, len, ptr);
	off = array_index_nospec(off, mr->length) + b->offset;
	*ptr = page_address(b->pages[off >> PAGE_SHIFT]) + offset_in_page(off);
	return min_t(u32, len, PAGE_SIZE - offset_in_page(off));
}

static void null_copy(const struct null_mr *to, const struct gda_sge *remote,
		      const struct null_mr *from, const struct gda_sge *local)
{
	u32 done, n;

	for (done = 0; done < remote->len; done += n) {
		void *dst, *src;

		n = null_span(to, remote->addr - to->iova + done, remote->len - done, &dst);
		n = null_span(from, local->addr - from->iova + done, n, &src);
		if (!n)		/* memory that no CPU reaches; there is none of it here */
			return;
		memcpy(dst, src, n);
	}
}

/* Carry out a work request: a NOP, or a write of one segment of up to a page. */
static struct gda_status null_execute(const struct null_ctx *ctx, const struct gda_work *work)
{
	const struct null_mr *to, *from;
	u8 cause;

	if (work->op == GDA_OP_NOP)
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	if (work->op != GDA_OP_WRITE || work->nsge != 1)
		return gda_status(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_OPCODE);
	if (work->remote.len > PAGE_SIZE)
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	from = null_mr_find(ctx, &work->sge[0], 0, &cause);
	if (!from)
		return gda_status(GDA_CLASS_LOCAL, cause);
	to = null_mr_find(ctx, &work->remote, GDA_ACCESS_REMOTE_WRITE, &cause);
	if (!to)
		return gda_status(GDA_CLASS_REMOTE_ACCESS, cause);
	null_copy(to, &work->remote, from, &work->sge[0]);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static int null_window_qp_create(struct gda_executor_qp *qp)
{
	qp->window = NULL_WINDOW;
	return null_qp_create(qp);
}

static u32 null_window_visit(struct gda_executor_qp *qp, u32 wqes, u32 bytes)
{
	struct null_qp *null = qp->priv;
	const struct gda_work *work;
	u32 begun = 0, moved = 0;

	for (; null->reported != null->begun; null->reported++)
		gda_flight_done(qp->flight, null->reported,
				null->status[null->reported % NULL_WINDOW]);
	while (begun < wqes && moved < bytes) {
		work = gda_flight_next(qp->flight);
		if (!work)
			break;
		null->status[null->begun % NULL_WINDOW] = null_execute(qp->ctx->priv, work);
		moved += work->remote.len;
		null->begun = gda_flight_begin(qp->flight) + 1;
		begun++;
	}
	return begun + gda_flight_retire(qp->flight, wqes);
}

/* Outcomes that were not reported yet are there already. */
static bool null_window_arm(struct gda_executor_qp *qp)
{
	const struct null_qp *null = qp->priv;

	return null->reported != null->begun;
}

static u32 null_visit(struct gda_executor_qp *qp, u32 wqes, u32 bytes)
{
	gda_executor_qp_fail(qp, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE));
	return 1;
}

static void null_release(struct gda_device *dev)
{
	kfree(dev);
	atomic_dec(&null_live);
}

#define NULL_OPS(...) {					\
	.owner = THIS_MODULE,				\
	.release = null_release,			\
	.bind = null_bind,				\
	.unbind = null_unbind,				\
	.qp_free = null_qp_free,			\
	.qp_address = null_qp_address,			\
	.qp_connect = null_qp_connect,			\
	.qp_disconnect = null_qp_disconnect,		\
	.mr_map = null_mr_map,				\
	.mr_unmap = null_mr_unmap,			\
	__VA_ARGS__					\
}

static const struct gda_executor_ops null_ops[NULL_DEVICES] = {
	NULL_OPS(.qp_create = null_qp_create, .visit = null_visit),
	NULL_OPS(.qp_create = null_qp_create),
	NULL_OPS(.qp_create = null_window_qp_create, .visit = null_window_visit,
		 .arm = null_window_arm),
};

static const char * const null_names[NULL_DEVICES] = { "null0", "null1", "null2" };

struct null_devices {
	struct gda_device *dev[NULL_DEVICES];
};

static struct gda_device *null_device_create(int i)
{
	struct gda_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->name = null_names[i];
	dev->ops = &null_ops[i];
	dev->features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_CQ_COLLAPSED |
			GDA_FEATURE_MR_USER | GDA_FEATURE_DOORBELL_FAULT;
	dev->limits = gda_device_max;
	dev->limits.max_qp = 2;
	dev->limits.max_cq = 3;
	dev->limits.max_mr = NULL_MRS;
	dev->limits.max_counter = 0;
	dev->limits.max_sq_depth = 64;
	dev->limits.max_cq_depth = 128;
	dev->limits.max_mr_size = 1 << 20;
	atomic_inc(&null_live);
	ret = gda_device_register(dev);
	if (!ret)
		return dev;
	null_release(dev);
	return ERR_PTR(ret);
}

static int null_probe(struct platform_device *pdev)
{
	struct null_devices *devices = devm_kzalloc(&pdev->dev, sizeof(*devices), GFP_KERNEL);
	int i;

	if (!devices)
		return -ENOMEM;
	for (i = 0; i < NULL_DEVICES; i++) {
		int ret;

		devices->dev[i] = null_device_create(i);
		ret = PTR_ERR_OR_ZERO(devices->dev[i]);
		if (!ret)
			continue;
		while (i--)
			gda_device_unregister(devices->dev[i]);
		return ret;
	}
	platform_set_drvdata(pdev, devices);
	return 0;
}

static void null_remove(struct platform_device *pdev)
{
	struct null_devices *devices = platform_get_drvdata(pdev);
	int i;

	for (i = NULL_DEVICES; i--;)
		gda_device_unregister(devices->dev[i]);
}

GDA_PLATFORM_REMOVE(null_remove);

static struct platform_driver null_driver = {
	.driver.name = "gda_null",
	.probe = null_probe,
	.remove = gda_platform_remove(null_remove),
};

static struct platform_device *null_pdev;

/* Devices that are refused. Return: 0, or -EUCLEAN where one was not, or in another way. */
static int __init null_check_refusals(void)
{
	static const struct gda_executor_ops no_ops = { .owner = THIS_MODULE };
	/* keys of its own, which the engine would not find */
	static const struct gda_executor_ops engine_ops = NULL_OPS(.engine = true);
	static const struct {
		const char *name;
		const struct gda_executor_ops *ops;
		u64 features;
		u32 more_qps;
		int ret;
	} refused[] = {
		{ "", &null_ops[0], 0, 0, -EINVAL },
		{ GDA_DEVICE_SOFT, &null_ops[0], 0, 0, -EEXIST },
		{ "null3", &no_ops, 0, 0, -EINVAL },
		{ "null3", &engine_ops, 0, 0, -EINVAL },
		{ "null3", &null_ops[0], 0, 1, -EINVAL },
		{ "null3", &null_ops[1], GDA_FEATURE_CQ_EVENT, 0, -EINVAL },
		{ "null3", &null_ops[1], GDA_FEATURE_QUEUE_DMABUF, 0, -EINVAL },
	};
	struct gda_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int i, ret = dev ? 0 : -ENOMEM;

	for (i = 0; !ret && i < ARRAY_SIZE(refused); i++) {
		dev->name = refused[i].name;
		dev->ops = refused[i].ops;
		dev->features = refused[i].features;
		dev->limits = gda_device_max;
		dev->limits.max_qp += refused[i].more_qps;
		if (gda_device_register(dev) != refused[i].ret)
			ret = -EUCLEAN;
	}
	kfree(dev);
	return ret;
}

static int __init null_init(void)
{
	int ret = null_check_refusals();

	if (!ret)
		ret = platform_driver_register(&null_driver);
	if (ret)
		return ret;
	null_pdev = platform_device_register_simple("gda_null", PLATFORM_DEVID_NONE, NULL, 0);
	ret = PTR_ERR_OR_ZERO(null_pdev);
	if (ret)
		platform_driver_unregister(&null_driver);
	return ret;
}

static void __exit null_exit(void)
{
	platform_device_unregister(null_pdev);
	platform_driver_unregister(&null_driver);
}

module_init(null_init);
module_exit(null_exit);

MODULE_DESCRIPTION("Executors that complete everything with an error, do nothing, or copy");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(GDA);
