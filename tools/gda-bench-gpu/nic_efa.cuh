/* SPDX-License-Identifier: MIT */
/*
 * The efa format of the fake NIC: included by nic.cuh. There is no record, so the NIC follows the
 * doorbell. Every request has a completion of its own.
 */
#ifndef GDA_BENCH_NIC_EFA_CUH
#define GDA_BENCH_NIC_EFA_CUH

#define NIC_SLOT_BYTES	GDA_EFA_WIDE_BYTES

struct nic_entry {
	uint4 head, key, remote, local;
};

static __device__ __forceinline__ struct nic_entry nic_read(const struct nic_queue &q,
							    uint64_t index)
{
	const char *entry = q.sq + (index & (q.depth - 1)) * NIC_SLOT_BYTES;

	return { nic_load(entry), nic_load(entry + 16), nic_load(entry + 32),
		 nic_load(entry + 48) };
}

/* Check entries of bench_post(). */
static __device__ __forceinline__ void nic_check(const struct nic_queue &q, uint64_t index,
						 const struct nic_entry &e,
						 struct nic_result &r)
{
	uint32_t id = e.remote.w, number = e.remote.z, phase = index & q.depth ? GDA_EFA_PHASE : 0;
	uint32_t ctrl2 = phase | GDA_EFA_FIRST | GDA_EFA_LAST | GDA_EFA_COMPLETE;
	bool good = (e.head.x >> 16 & 0xff) == (GDA_EFA_WRITE | GDA_EFA_META) &&
		    e.head.y == ((q.qpn & 0xffff) | 1U << 16) && !e.head.z &&
		    e.head.w == BENCH_EFA_AH && e.key.x == BENCH_EFA_QKEY &&
		    !(e.key.y | e.key.z | e.key.w) &&
		    e.remote.y == id * GOLDEN &&
		    e.remote.x == (((id ^ number) & 0xffffff) | 1) &&
		    e.local.x == e.remote.x &&
		    e.local.y == id >> GDA_EFA_LKEY_SHIFT &&
		    e.local.z == ~number && e.local.w == ~id;

	r.stale += (e.head.x & 0xffff) != (index & 0xffff) || e.head.x >> 24 != ctrl2;
	r.torn += !good;
	r.sum += nic_hash((uint64_t)id << 32 | number, GDA_MLX5_WRITE);
}

static __device__ __forceinline__ uint64_t nic_rung(const struct nic_queue &q, uint64_t done,
						    bool follow_db)
{
	uint16_t more;

	/* a doorbell in memory of the host: polls of it would slow down the stores */
	if (q.pause_ns)
		__nanosleep(q.pause_ns);
	more = (uint16_t)(*(volatile uint32_t *)q.db - (uint32_t)done);
	return done + (more < 0x8000 ? more : 0);
}

/*
 * Complete the requests from @from to @to, as thread @lane of @lanes; the ring is as deep as the
 * queue.
 */
static __device__ __forceinline__ void nic_complete(const struct nic_queue &q, uint64_t from,
						    uint64_t to, uint32_t lane, uint32_t lanes,
						    bool shuffle)
{
	uint64_t flags = GDA_EFA_CQE_SENT | GDA_EFA_WRITE << GDA_EFA_CQE_OP_SHIFT, i;

	for (i = from + lane; i < to; i += lanes) {
		uint64_t id = shuffle ? to - 1 - (i - from) : i;
		uint64_t word = (id & 0xffff) | flags << 24 | (uint64_t)(q.qpn & 0xffff) << 32;

		if (!(i & q.depth))
			word |= (uint64_t)GDA_EFA_CQE_PHASE << 24;
		asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
			     ::"l"((char *)q.last + (i & (q.depth - 1)) * GDA_EFA_WQE_CQE_BYTES),
			       "l"(word) : "memory");
	}
}

#endif /* GDA_BENCH_NIC_EFA_CUH */
