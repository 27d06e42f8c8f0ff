/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the engine asks of its host for nothing that the model posts. */
#ifndef GDA_MODEL_UNUSED_HOST_H
#define GDA_MODEL_UNUSED_HOST_H

void gda_host_delay(struct gda_engine_qp *q, u32 ns)
{
	(void)q, (void)ns;
}

int gda_host_wait(struct gda_engine_qp *q, u32 cqn, u32 index, bool resumed)
{
	(void)q, (void)cqn, (void)index, (void)resumed;
	return 1;
}

int gda_host_recv(struct gda_engine_qp *peer, struct gda_recv *out)
{
	(void)peer, (void)out;
	return 0;
}

int gda_host_recv_end(struct gda_engine_qp *peer, const struct gda_completion *c)
{
	(void)peer, (void)c;
	return 0;
}

bool gda_host_recv_flush(struct gda_engine_qp *q)
{
	(void)q;
	return false;
}

struct gda_engine_qp *gda_host_datagram(const struct gda_engine_qp *q)
{
	(void)q;
	return NULL;
}

struct gda_status gda_host_target(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	(void)q, (void)peer;
	return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_PEER);
}

int gda_host_recv_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			   const struct gda_exec_mems *mems)
{
	(void)q, (void)peer, (void)mems;
	return 0;
}

void gda_host_fail(struct gda_engine_qp *q, u32 fail)
{
	(void)q, (void)fail;
}

bool gda_host_stray(struct gda_engine_qp *q, u32 qpn)
{
	(void)q, (void)qpn;
	return false;
}

void gda_host_record(const struct gda_engine_qp *q, struct gda_record *r)
{
	(void)q, (void)r;
}

void gda_host_event(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	(void)cq, (void)c;
}

#endif /* GDA_MODEL_UNUSED_HOST_H */
