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
