// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Helpers for tests of efa queues; see efa_queue.h. */
#include "efa_queue.h"

static int efa_map(struct t_efa *q)
{
	const struct gda_region_info *info[3] = { &q->qpc.sq, &q->qpc.db, &q->cqc.cq };
	int i;

	for (i = 0; i < 3; i++) {
		q->map[i] = t_map(q->fd, info[i]);
		if (q->map[i] == MAP_FAILED)
			return -errno;
	}
	q->sq = (uint8_t *)q->map[0] + q->qpc.sq.offset;
	q->db = (void *)((uint8_t *)q->map[1] + q->qpc.db.offset);
	q->cq = (uint8_t *)q->map[2] + q->cqc.cq.offset;
	return 0;
}

static int efa_create(struct t_efa *q, int fd, uint32_t depth, uint32_t entry, uint32_t stride,
		      uint32_t cq_flags)
{
	int err;

	q->fd = fd;
	q->cqc = (struct gda_cq_create) {
		.size = sizeof(q->cqc),
		.flags = cq_flags,
		.dialect = GDA_DIALECT_EFA,
		.depth = 4 * depth,
		.stride = stride,
	};
	err = t_ioctl(fd, GDA_IOC_CQ_CREATE, &q->cqc);
	if (err)
		return err;
	q->qpc = (struct gda_qp_create) {
		.size = sizeof(q->qpc),
		.dialect = GDA_DIALECT_EFA,
		.cq = q->cqc.handle,
		.recv_cq = stride == GDA_EFA_CQE_BYTES ? 0 : q->cqc.handle,
		.sq_depth = depth,
		.sq_entry = entry,
		.sent_counter = q->count[0].handle,
		.recv_counter = q->count[1].handle,
	};
	err = t_ioctl(fd, GDA_IOC_QP_CREATE, &q->qpc);
	return err ? err : t_qp_query(fd, q->qpc.handle, &q->query);
}

int t_efa_create(struct t_efa *q, int fd, uint32_t depth, uint32_t entry, uint32_t stride)
{
	memset(q, 0, sizeof(*q));
	return efa_create(q, fd, depth, entry, stride, 0);
}

int t_efa_open(struct t_efa *q, int fd, uint32_t depth, uint32_t entry, uint32_t stride)
{
	int err = t_efa_create(q, fd, depth, entry, stride);

	return err ? err : efa_map(q);
}

int t_efa_open_writable(struct t_efa *q, int fd, uint32_t depth, uint32_t entry)
{
	int err;

	memset(q, 0, sizeof(*q));
	err = efa_create(q, fd, depth, entry, 0, GDA_CQ_WRITABLE);
	return err ? err : efa_map(q);
}

static int efa_count(struct t_efa *q, int fd, int i, const struct gda_counter_mem **mem)
{
	int err;

	q->count[i] = (struct gda_counter_create) { .size = sizeof(q->count[i]) };
	err = t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &q->count[i]);
	if (err)
		return err;
	q->count_map[i] = t_map(fd, &q->count[i].counter);
	if (q->count_map[i] == MAP_FAILED)
		return -errno;
	*mem = (void *)((uint8_t *)q->count_map[i] + q->count[i].counter.offset);
	return 0;
}

int t_efa_open_counted(struct t_efa *q, int fd, uint32_t depth, uint32_t entry)
{
	int err;

	memset(q, 0, sizeof(*q));
	err = efa_count(q, fd, 0, &q->sent);
	if (!err)
		err = efa_count(q, fd, 1, &q->arrived);
	if (!err)
		err = efa_create(q, fd, depth, entry, 0, 0);
	return err ? err : efa_map(q);
}

void t_efa_close(struct t_efa *q)
{
	const struct gda_region_info *info[3] = { &q->qpc.sq, &q->qpc.db, &q->cqc.cq };
	int i;

	for (i = 0; i < 3; i++)
		if (q->map[i] && q->map[i] != MAP_FAILED)
			munmap(q->map[i], info[i]->length);
	if (q->qpc.handle)
		t_destroy(q->fd, q->qpc.handle);
	if (q->cqc.handle)
		t_destroy(q->fd, q->cqc.handle);
	for (i = 0; i < 2; i++) {
		if (q->count_map[i] && q->count_map[i] != MAP_FAILED)
			munmap(q->count_map[i], q->count[i].counter.length);
		if (q->count[i].handle)
			t_destroy(q->fd, q->count[i].handle);
	}
}

int t_efa_address(int fd, uint32_t qp, uint8_t address[GDA_ADDRESS_BYTES])
{
	struct gda_qp_address cmd = { .size = sizeof(cmd), .handle = qp };
	int err = t_ioctl(fd, GDA_IOC_QP_ADDRESS, &cmd);

	memcpy(address, cmd.address, sizeof(cmd.address));
	return err;
}

int t_efa_peer(int fd, const struct t_efa *to, struct t_efa_peer *peer)
{
	struct gda_peer_add cmd = { .size = sizeof(cmd) };
	int err = t_efa_address(to->fd, to->qpc.handle, cmd.address);

	if (!err)
		err = t_ioctl(fd, GDA_IOC_PEER_ADD, &cmd);
	*peer = (struct t_efa_peer) {
		.handle = cmd.handle,
		.ah = (uint16_t)cmd.ah,
		.number = (uint16_t)cmd.number,
		.qkey = cmd.qkey,
	};
	return err;
}

struct gda_efa_wide_wqe *t_efa_post(struct t_efa *q, const struct t_efa_peer *to,
				    const struct t_efa_wr *wr)
{
	uint32_t depth = q->qpc.sq_depth, bytes = q->query.sq_entry;
	struct gda_efa_wide_wqe *e = (void *)(q->sq + (q->next & (depth - 1)) * bytes);

	memset(e, 0, bytes);
	gda_efa_set_what(&e->meta, wr->id, (uint8_t)(wr->ctrl1 | (wr->data ? GDA_EFA_INLINE : 0)),
			 (uint32_t)(q->next / depth), (uint16_t)(wr->data ? wr->len : 1), wr->imm);
	gda_efa_set_whom(&e->meta, to->ah, to->number, to->qkey);
	gda_efa_set_segment(&e->remote, wr->raddr, wr->rkey, wr->len);
	if (wr->data)
		memcpy(e->data, wr->data, wr->len);
	else
		gda_efa_set_segment((void *)e->data, wr->laddr, wr->lkey >> GDA_EFA_LKEY_SHIFT,
				    wr->len);
	q->next++;
	return e;
}

void t_efa_ring(struct t_efa *q)
{
	/* the entries first; pairs with the executor's acquire */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*q->db = (uint32_t)q->next;
}

static bool efa_poll(struct t_efa *q, struct t_efa_done *done)
{
	uint32_t depth = q->cqc.depth;
	uint32_t stride = q->cqc.stride ? q->cqc.stride : 2 * GDA_EFA_CQE_BYTES;
	const uint8_t *entry = q->cq + (q->read & (depth - 1)) * stride;
	struct gda_efa_recv_cqe e;
	uint64_t first;

	/* pairs with the executor's release: the rest of the entry is read after the first word */
	first = __atomic_load_n((const uint64_t *)(const void *)entry, __ATOMIC_ACQUIRE);
	memcpy(&e, entry, stride < sizeof(e) ? stride : sizeof(e));
	memcpy(&e, &first, sizeof(first));
	if ((e.flags & GDA_EFA_CQE_PHASE) != !(q->read & depth))
		return false;
	q->read++;
	*done = (struct t_efa_done) { .status = e.status, .flags = e.flags,
				      .qp = gda_efa_le16(e.qp), .id = gda_efa_le16(e.id) };
	if (e.flags & GDA_EFA_CQE_HAS_IMM) {
		done->imm = gda_efa_le32(e.imm);
		done->ah = gda_efa_le16(e.ah);
		done->src_qp = gda_efa_le16(e.src_qp);
		done->len = gda_efa_le16(e.length) | (uint32_t)gda_efa_le16(e.length_hi) << 16;
	} else {
		for (int i = 0; i < 6; i++)
			done->id |= (uint64_t)((const struct gda_efa_cqe *)(const void *)&e)->id_ex[i]
				    << (16 + 8 * i);
	}
	return true;
}

int t_efa_wait(struct t_efa *q, struct t_efa_done *done)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!efa_poll(q, done)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(1000);
	}
	return 0;
}

int t_efa_run(struct t_efa *q, const struct t_efa_peer *to, const struct t_efa_wr *wr)
{
	struct t_efa_done done;
	int err;

	t_efa_post(q, to, wr);
	t_efa_ring(q);
	err = t_efa_wait(q, &done);
	if (err)
		return err;
	return done.id == wr->id && done.qp == (q->qpc.qpn & 0xffff) ? done.status : -EPROTO;
}
