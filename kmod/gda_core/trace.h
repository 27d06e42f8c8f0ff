/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of the "gda" system. Events that a user can cause are traced and never logged. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gda

#if !defined(GDA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GDA_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include <gda/ioctl.h>
#include <gda/record.h>

TRACE_EVENT(gda_doorbell,
	TP_PROTO(u32 ctx, u64 cookie, bool active),
	TP_ARGS(ctx, cookie, active),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u32, ctx)
		__field(bool, active)
	),
	TP_fast_assign(
		__entry->cookie = cookie;
		__entry->ctx = ctx;
		__entry->active = active;
	),
	TP_printk("ctx=%u cookie=%#llx %s", __entry->ctx, __entry->cookie,
		  __entry->active ? "active" : "silent")
);

TRACE_EVENT(gda_qp_connect,
	TP_PROTO(u32 qpn, u32 peer, int ret),
	TP_ARGS(qpn, peer, ret),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, peer)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->peer = peer;
		__entry->ret = ret;
	),
	TP_printk("qpn=%#x peer=%#x ret=%d", __entry->qpn, __entry->peer, __entry->ret)
);

TRACE_EVENT(gda_qp_error,
	TP_PROTO(u32 qpn, u64 index, u8 opcode, u8 syndrome, u8 vendor),
	TP_ARGS(qpn, index, opcode, syndrome, vendor),
	TP_STRUCT__entry(
		__field(u64, index)
		__field(u32, qpn)
		__field(u8, opcode)
		__field(u8, syndrome)
		__field(u8, vendor)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->qpn = qpn;
		__entry->opcode = opcode;
		__entry->syndrome = syndrome;
		__entry->vendor = vendor;
	),
	TP_printk("qpn=%#x index=%llu opcode=%#x syndrome=%#x vendor=%u", __entry->qpn,
		  __entry->index, __entry->opcode, __entry->syndrome, __entry->vendor)
);

TRACE_EVENT(gda_mr,
	TP_PROTO(u32 ctx, u32 key, u64 size, u32 kind, bool live),
	TP_ARGS(ctx, key, size, kind, live),
	TP_STRUCT__entry(
		__field(u64, size)
		__field(u32, ctx)
		__field(u32, key)
		__field(u32, kind)
		__field(bool, live)
	),
	TP_fast_assign(
		__entry->size = size;
		__entry->ctx = ctx;
		__entry->key = key;
		__entry->kind = kind;
		__entry->live = live;
	),
	TP_printk("ctx=%u key=%#x size=%llu kind=%u %s", __entry->ctx, __entry->key,
		  __entry->size, __entry->kind, __entry->live ? "registered" : "gone")
);

TRACE_EVENT(gda_fetched,
	TP_PROTO(const struct gda_record *r),
	TP_ARGS(r),
	TP_STRUCT__entry(
		__field(u64, ticket)
		__field(u64, raddr)
		__field(u32, qpn)
		__field(u32, rkey)
		__field(u32, len)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->ticket = r->ticket;
		__entry->raddr = r->raddr;
		__entry->qpn = r->qpn;
		__entry->rkey = r->rkey;
		__entry->len = r->len;
		__entry->opcode = r->opcode;
	),
	TP_printk("qpn=%#x ticket=%llu opcode=%#x len=%u raddr=%#llx rkey=%#x", __entry->qpn,
		  __entry->ticket, __entry->opcode, __entry->len, __entry->raddr, __entry->rkey)
);

TRACE_EVENT(gda_outcome,
	TP_PROTO(const struct gda_record *r),
	TP_ARGS(r),
	TP_STRUCT__entry(
		__field(u64, ticket)
		__field(u32, qpn)
		__field(u32, len)
		__field(u8, kind)
		__field(u8, opcode)
		__field(u8, err_class)
		__field(u8, cause)
	),
	TP_fast_assign(
		__entry->ticket = r->ticket;
		__entry->qpn = r->qpn;
		__entry->len = r->len;
		__entry->kind = r->kind;
		__entry->opcode = r->opcode;
		__entry->err_class = r->err_class;
		__entry->cause = r->cause;
	),
	TP_printk("qpn=%#x ticket=%llu %s opcode=%#x len=%u class=%u cause=%u", __entry->qpn,
		  __entry->ticket,
		  __print_symbolic(__entry->kind, { GDA_RECORD_DONE, "done" },
				   { GDA_RECORD_FAILED, "failed" },
				   { GDA_RECORD_FLUSHED, "flushed" }),
		  __entry->opcode, __entry->len, __entry->err_class, __entry->cause)
);

TRACE_EVENT(gda_worker,
	TP_PROTO(u32 ctx, bool asleep),
	TP_ARGS(ctx, asleep),
	TP_STRUCT__entry(
		__field(u32, ctx)
		__field(bool, asleep)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->asleep = asleep;
	),
	TP_printk("ctx=%u %s", __entry->ctx, __entry->asleep ? "asleep" : "awake")
);

TRACE_EVENT(gda_device,
	TP_PROTO(u32 id, const char *name, bool live),
	TP_ARGS(id, name, live),
	TP_STRUCT__entry(
		__array(char, name, GDA_DEVICE_NAME_MAX)
		__field(u32, id)
		__field(bool, live)
	),
	TP_fast_assign(
		strscpy(__entry->name, name, GDA_DEVICE_NAME_MAX);
		__entry->id = id;
		__entry->live = live;
	),
	TP_printk("id=%u name=%s %s", __entry->id, __entry->name,
		  __entry->live ? "added" : "removed")
);

#endif /* GDA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
