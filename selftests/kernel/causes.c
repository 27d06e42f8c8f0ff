// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Causes of failure: causes.h says what. */
#include <gda/record.h>
#include "causes.h"
#include "move.h"

#define DEPTH	16

int t_failure_open(struct t_failure *f)
{
	struct t_wr wr;
	int err;

	memset(f, 0, sizeof(*f));
	f->qp = &f->end[0].qp;
	f->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	if (f->test < 0)
		return -errno;
	f->buf = t_test_buffer(f->test, T_PAGE, 0);
	err = f->buf < 0 ? f->buf : t_pair_open(f->end, DEPTH, T_PAGE);
	wr = t_wr_write(&f->end[0].mr, 0, &f->end[1].mr, 0, 8);
	for (int i = 0; !err && i < 2; i++)
		err = t_run(&f->end[0].qp, &wr, NULL);
	return err;
}

int t_failure_close(struct t_failure *f)
{
	t_qp_unmap(&f->own);
	for (int i = 0; i < 2; i++) {
		t_qp_unmap(&f->end[i].qp);
		close(f->end[i].fd);
		t_mr_free(-1, &f->end[i].mr);
	}
	close(f->buf);
	close(f->test);
	return f->removed ? t_soft0("bind") : 0;
}

static struct t_wr good(const struct t_failure *f)
{
	return t_wr_write(&f->end[0].mr, 0, &f->end[1].mr, 0, 8);
}

static int post_wr(struct t_failure *f, const struct t_wr *wr)
{
	t_post(&f->end[0].qp, wr);
	t_ring(&f->end[0].qp);
	return 0;
}

int t_fail_remote_key(struct t_failure *f)
{
	struct t_wr wr = good(f);

	wr.rkey ^= 1;
	return post_wr(f, &wr);
}

int t_fail_local_key(struct t_failure *f)
{
	struct t_wr wr = good(f);

	wr.sge[0].lkey ^= 1;
	return post_wr(f, &wr);
}

int t_fail_range(struct t_failure *f)
{
	struct t_wr wr = good(f);

	wr.raddr += T_PAGE - 4;
	return post_wr(f, &wr);
}

int t_fail_rights(struct t_failure *f)
{
	struct t_wr wr = good(f);
	struct t_mr mr;
	int err;

	err = t_mr_reg(f->end[1].fd, f->end[1].mr.addr, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr);
	wr.rkey = mr.key;
	return err ?: post_wr(f, &wr);
}

int t_fail_align(struct t_failure *f)
{
	struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &f->end[0].mr, 0, &f->end[1].mr, 4, 1, 0);

	return post_wr(f, &wr);
}

int t_fail_length(struct t_failure *f)
{
	struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &f->end[0].mr, 0, &f->end[1].mr, 8, 1, 0);

	wr.sge[0].len = 4;
	return post_wr(f, &wr);
}

/* Nobody there takes immediates. */
int t_fail_recv_cq(struct t_failure *f)
{
	struct t_wr wr = good(f);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	return post_wr(f, &wr);
}

/* The ring for immediates has two entries, nobody reads them, and a third is not tried again. */
int t_fail_rnr(struct t_failure *f)
{
	struct t_wr wr = good(f);
	struct gda_cq_create ring;
	struct t_qp to = { 0 };
	int err;

	err = t_cq_create(f->end[1].fd, 0, 2, &ring) ?:
	      t_qp_open_receiver(&to, f->end[1].fd, DEPTH, ring.handle) ?:
	      t_qp_open(&f->own, f->end[0].fd, DEPTH) ?: t_connect(&f->own, &to);
	f->qp = &f->own;
	wr.opcode = GDA_MLX5_WRITE_IMM;
	for (int i = 0; !err && i < 3; i++)
		t_post(&f->own, &wr);
	if (!err)
		t_ring(&f->own);
	t_qp_unmap(&to);
	return err;
}

/* Memory that its owner has taken away. */
int t_fail_revoked(struct t_failure *f)
{
	struct gda_test_move move = { 0 };
	struct t_wr wr = good(f);
	struct t_mr mr;
	int err;

	err = t_mr_reg_dmabuf(f->end[1].fd, f->buf, T_PAGE, &mr) ?:
	      t_move(f->test, f->buf, 0, &move);
	wr.rkey = mr.key;
	wr.raddr = 0;
	return err ?: post_wr(f, &wr);
}

/* The bytes of a good request, of which one is then changed. */
static int post_changed(struct t_failure *f, unsigned int at, uint8_t value)
{
	struct t_wr wr = good(f);
	uint8_t wqe[T_WQE_MAX];

	t_encode(wqe, &wr, f->end[0].qp.next, f->end[0].qp.qpc.qpn);
	wqe[at] = value;
	t_post_raw(&f->end[0].qp, wqe, 1);
	t_ring(&f->end[0].qp);
	return 0;
}

int t_fail_slot_index(struct t_failure *f)
{
	return post_changed(f, 2, 0x77);
}

int t_fail_opcode(struct t_failure *f)
{
	return post_changed(f, 3, 0x55);
}

int t_fail_size(struct t_failure *f)
{
	return post_changed(f, 7, 1);
}

/* Further than the queue is long. */
int t_fail_doorbell(struct t_failure *f)
{
	t_ring_index(&f->end[0].qp, f->end[0].qp.next + 1000);
	return 0;
}

int t_fail_peer(struct t_failure *f)
{
	return t_destroy(f->end[1].fd, f->end[1].qp.qpc.handle);
}

/* Nobody reads the four entries of its CQ. */
int t_fail_cq(struct t_failure *f)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	int err;

	err = t_cq_create(f->end[0].fd, 0, 4, &cq) ?:
	      t_qp_open_on(&f->own, f->end[0].fd, DEPTH, &cq) ?: t_connect(&f->own, &f->own);
	f->qp = &f->own;
	for (int i = 0; !err && i < 8; i++)
		t_post(&f->own, &nop);
	if (!err)
		t_ring(&f->own);
	return err;
}

/* A send queue in memory of another driver, which takes it away. */
int t_fail_queue(struct t_failure *f)
{
	struct gda_qp_create *qp = &f->own.qpc;
	struct gda_test_move move = { 0 };
	struct gda_cq_create cq;
	int err, fd = f->end[0].fd;

	*qp = (struct gda_qp_create) {
		.size = sizeof(*qp), .dialect = GDA_DIALECT_MLX5, .sq_depth = DEPTH,
		.flags = GDA_QP_SQ_DMABUF, .sq_memory = { .fd = f->buf },
	};
	err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
	qp->cq = cq.handle;
	f->qp = &f->own;
	return err ?: t_ioctl(fd, GDA_IOC_QP_CREATE, qp) ?:
	       t_qp_connect(fd, qp->handle, fd, qp->handle) ?:
	       t_move(f->test, f->buf, 0, &move);
}

int t_fail_device(struct t_failure *f)
{
	int err = t_soft0("unbind");

	f->removed = !err;
	return err;
}

/* --- where they are named --- */

/* Wait for the event of a failure: 1, or what the kernel answered. */
static int hear_failure(struct t_nl *nl, uint32_t qpn, struct t_nl_msg *msg)
{
	int err;

	while ((err = t_nl_next(nl, msg)) > 0)
		if (t_nl_u32(msg, GDA_A_EVENT_KIND) == GDA_EVENT_KIND_QP_FAILED &&
		    t_nl_u32(msg, GDA_A_EVENT_QPN) == qpn)
			break;
	return err;
}

/* The record of the first failure of this QP: 1, or 0 or -errno. */
static int find_record(struct t_nl *nl, uint32_t context, uint32_t qpn, struct gda_record *r)
{
	struct t_nl_msg msg;
	int err, found = 0;

	err = t_nl_dump(nl, GDA_CMD_RECORD_GET, context);
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		const struct nlattr *a = msg.attr[GDA_A_RECORD_ENTRY];

		err = 0;
		if (!a || found || a->nla_len < NLA_HDRLEN + sizeof(*r))
			continue;
		memcpy(r, (const uint8_t *)a + NLA_HDRLEN, sizeof(*r));
		found = (r->kind == GDA_RECORD_FAILED || r->kind == GDA_RECORD_OVERFLOW) &&
			r->qpn == qpn;
	}
	return err ? err : found;
}

static bool alike(const struct t_cause *said, const struct t_cause *want)
{
	bool same = said->class == want->class && said->cause == want->cause;
	bool other = want->or_class && said->class == want->or_class &&
		     said->cause == want->or_cause;

	return (same || other) &&
	       said->ticket == want->ticket && said->opcode == want->opcode &&
	       said->executed == want->executed;
}

/* Of the event, which has no opcode and no count. */
static bool event_names(const struct t_nl_msg *msg, uint32_t context, const struct t_qp *qp,
			const struct t_cause *want, struct t_cause *said)
{
	*said = (struct t_cause) {
		.opcode = want->opcode, .executed = want->executed,
		.class = (uint8_t)t_nl_u32(msg, GDA_A_EVENT_CLASS),
		.cause = (uint8_t)t_nl_u32(msg, GDA_A_EVENT_CAUSE),
		.ticket = t_nl_u64(msg, GDA_A_EVENT_ERROR_INDEX),
	};
	return alike(said, want) && t_nl_u32(msg, GDA_A_EVENT_CONTEXT) == context &&
	       t_nl_u32(msg, GDA_A_EVENT_HANDLE) == qp->qpc.handle;
}

/* Of the QP, which has no opcode. */
static bool qp_names(const struct t_nl_msg *msg, const struct t_cause *want, struct t_cause *said)
{
	*said = (struct t_cause) {
		.opcode = want->opcode, .executed = t_nl_u64(msg, GDA_A_QP_EXECUTED),
		.class = (uint8_t)t_nl_u32(msg, GDA_A_QP_CLASS),
		.cause = (uint8_t)t_nl_u32(msg, GDA_A_QP_CAUSE),
		.ticket = t_nl_u64(msg, GDA_A_QP_ERROR_INDEX),
	};
	return alike(said, want) && t_nl_u32(msg, GDA_A_QP_STATE) == GDA_QP_ERROR;
}

int t_cause_named(struct t_nl *nl, struct t_nl *heard, uint32_t context, const struct t_qp *qp,
		  const struct t_cause *want, struct t_cause *said)
{
	struct gda_record r = { 0 };
	struct t_nl_msg msg;
	int err;

	memset(said, 0, sizeof(*said));
	err = hear_failure(heard, qp->qpc.qpn, &msg);
	if (err < 0)
		return err;
	if (!err || !event_names(&msg, context, qp, want, said))
		return 1;
	err = t_nl_get(nl, GDA_CMD_QP_GET, context, qp->qpc.handle, &msg);
	if (err)
		return err;
	if (!qp_names(&msg, want, said))
		return 2;
	err = find_record(nl, context, qp->qpc.qpn, &r);
	if (err < 0)
		return err;
	*said = (struct t_cause) {
		.opcode = r.opcode, .class = r.err_class, .cause = r.cause, .ticket = r.ticket,
		.executed = want->executed,
	};
	return err && alike(said, want) ? 0 : 3;
}
