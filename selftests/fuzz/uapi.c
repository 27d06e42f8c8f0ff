// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Any sequence of requests to two contexts of the in-process device, whose checks of
 * arguments are the kernel's. Later requests use created objects, and all of them can be
 * destroyed in the end. Requests that only the kernel can serve are always refused.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include "fuzz.h"
#include "gda_internal.h"

#define HANDLES	32

static struct gda_context *ctx[2];
static uint8_t memory[1 << 14];
static int event = -1;

struct made {
	uint32_t ctx, handle;
};

/* Where each request has the handle it works on, and the one it makes (0: none). */
static const struct call {
	uint16_t size, in, out;
} calls[] = {
#define HANDLE(type)	offsetof(struct type, handle)
#define IN(nr, type) \
	[GDA_IOC_NR_##nr] = { sizeof(struct type), HANDLE(type), 0 }
#define OUT(nr, type) \
	[GDA_IOC_NR_##nr] = { sizeof(struct type), 0, HANDLE(type) }
	[GDA_IOC_NR_QUERY] = { sizeof(struct gda_query), 0, 0 },
	IN(DESTROY, gda_destroy),
	IN(REGION_INFO, gda_region_query),
	OUT(CQ_CREATE, gda_cq_create),
	OUT(QP_CREATE, gda_qp_create),
	IN(QP_ADDRESS, gda_qp_address),
	IN(QP_CONNECT, gda_qp_connect),
	IN(QP_QUERY, gda_qp_query),
	OUT(MR_REG_USER, gda_mr_reg_user),
	IN(MR_QUERY, gda_mr_query),
	OUT(COUNTER_CREATE, gda_counter_create),
};

/*
 * Requests that came later have the numbers that did nothing, and look at bytes that the
 * next request takes: so every input still means what it did.
 */
static void cq_event(struct input ahead, const struct made *pick)
{
	uint8_t v = take8(&ahead);
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .handle = pick->handle, .flags = v & 3,
		.eventfd = v & 4 ? -1 : event,
	};
	int err;

	if (v & 8)
		cmd.flags = take32(&ahead);
	if (v & 16)
		cmd.eventfd = (int)take32(&ahead);
	err = gda_ioctl(ctx[pick->ctx], GDA_IOC_CQ_EVENT, &cmd);
	HOLDS(err <= 0 && err > -4096);
	HOLDS(err || !(cmd.flags & ~(GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED | GDA_CQ_DETACH)));
}

static void refused(struct input ahead, unsigned int which, const struct made *pick)
{
	static const unsigned long requests[] = {
		GDA_IOC_BIND, GDA_IOC_MR_REG_DMABUF, GDA_IOC_REGION_EXPORT, GDA_IOC_MR_REG_PEER,
	};
	uint64_t buf[64] = { 0 }, was[64];

	take(&ahead, buf, sizeof(buf));
	memcpy(was, buf, sizeof(buf));
	HOLDS(gda_ioctl(ctx[pick->ctx], requests[which % 4], buf) == -EOPNOTSUPP);
	HOLDS(!memcmp(was, buf, sizeof(buf)));
}

/* Nearly right: what a request wants, where it is not changed by the input. */
static void sensible(unsigned int nr, void *buf, struct input *in, const struct made *last)
{
	struct gda_mr_reg_user *mr = buf;
	struct gda_cq_create *cq = buf;
	struct gda_qp_create *qp = buf;
	struct gda_destroy *destroy = buf;
	uint8_t v = take8(in);

	switch (nr) {
	case GDA_IOC_NR_CQ_CREATE:
		cq->depth = v & 1 ? 1 : 1U << (v >> 1 & 7);
		cq->flags = v & 1 ? GDA_CQ_COLLAPSED : 0;
		break;
	case GDA_IOC_NR_QP_CREATE:
		qp->sq_depth = 1U << (v & 7);
		qp->cq = last->handle;
		break;
	case GDA_IOC_NR_MR_REG_USER:
		mr->addr = (uintptr_t)memory + v;
		mr->length = take8(in) * 32U;
		mr->access = v & 15;
		break;
	case GDA_IOC_NR_DESTROY:
		destroy->flags = 0;
		break;
	}
}

static void request(struct input *in, struct made *made, unsigned int *n)
{
	uint64_t buf[64] = { 0 };
	uint8_t *byte = (uint8_t *)buf, what = take8(in);
	const unsigned int ncalls = sizeof(calls) / sizeof(calls[0]);
	uint8_t number = take8(in);
	unsigned int nr = number % ncalls, k = what & 1;
	const struct call *call = &calls[nr];
	const struct made *pick = &made[*n ? take8(in) % *n : 0];
	int err;

	if (nr == GDA_IOC_NR_CQ_EVENT) {
		cq_event(*in, pick);
		return;
	}
	if (!call->size) {
		refused(*in, number / ncalls, pick);
		return;
	}
	if (call->in)
		memcpy(byte + call->in, &pick->handle, 4);
	if (*n && what & 8)
		k = pick->ctx;
	sensible(nr, buf, in, pick);
	memcpy(buf, &(uint32_t){ call->size }, 4);
	for (int i = 0; i < (what >> 4 & 3); i++)
		byte[take8(in) % sizeof(buf)] = take8(in);
	if (nr == GDA_IOC_NR_DESTROY)
		memset(byte + offsetof(struct gda_destroy, flags), 0, 4);
	/* no address but of this memory: it would be used */
	if (nr == GDA_IOC_NR_MR_REG_USER) {
		struct gda_mr_reg_user *mr = (void *)buf;

		if (mr->addr - (uintptr_t)memory >= sizeof(memory) / 2 ||
		    mr->length > sizeof(memory) / 2)
			return;
	}
	err = gda_ioctl(ctx[k], _IO(GDA_IOC_MAGIC, nr), buf);
	HOLDS(err <= 0 && err > -4096);
	if (!err && call->out && *n < HANDLES) {
		made[*n].ctx = k;
		memcpy(&made[(*n)++].handle, byte + call->out, 4);
		HOLDS(made[*n - 1].handle);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct made made[HANDLES] = { 0 };
	unsigned int n = 0;

	for (int i = 0; i < 2 && !ctx[i]; i++)
		HOLDS(!gda_open(GDA_DEVICE_INPROC, &ctx[i]));
	if (event < 0)
		event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	HOLDS(event >= 0);
	for (int i = 0; i < 48 && in.left && n < HANDLES; i++)
		request(&in, made, &n);
	/* QPs hold CQs, so twice; some are gone already */
	for (int pass = 0; pass < 3; pass++) {
		for (unsigned int i = n; i-- > 0; ) {
			int err = gda_destroy_handle(ctx[made[i].ctx], made[i].handle);

			HOLDS(!err || err == -ENOENT || (err == -EBUSY && pass < 2));
		}
	}
	return 0;
}
