/* SPDX-License-Identifier: MIT */
/*
 * A use of every function of the fast path and of gda/async.h. compile.sh compiles it as C, as
 * C++ and as CUDA device code; it is never run.
 */
#include <gda/async.h>
#include <gda/chunk.h>
#include <gda/gda.h>
#include <gda/masked_atomic.h>
#include <gda/ring.h>

#ifndef KERNEL
#define KERNEL
#endif

KERNEL void use_everything(struct gda_view *v, struct gda_chunk_map *map, struct gda_cq_view *cq,
			   int64_t *out);

KERNEL void use_everything(struct gda_view *v, struct gda_chunk_map *map, struct gda_cq_view *cq,
			   int64_t *out)
{
	struct gda_signal signal = { sizeof(signal), GDA_SIGNAL_ADD, 1, 2, 3, 4, 5 };
	struct gda_peer to = { 1, 2, 0 };
	struct gda_cq_entry entry;
	struct gda_error error;

	entry.size = sizeof(entry);
	error.size = sizeof(error);
	out[0] = gda_put(v, 1, 2, 3, 4, 8, GDA_EXCLUSIVE);
	out[1] = gda_put(v, 1, 2, 3, 4, 8, GDA_NOWAIT);
	out[2] = gda_put_value(v, 1, 2, 3, GDA_DEFER);
	out[3] = gda_put_inline(v, 1, 2, out, 20, GDA_EXCLUSIVE | GDA_DEFER);
	out[3] += gda_put_inline(v, 1, 2, out, 200, GDA_SOLICITED);
	out[4] = gda_get(v, 1, 2, 3, 4, 5, 0);
	out[5] = gda_fetch_add(v, 1, 2, 3, 4, 5, 0);
	out[6] = gda_compare_swap(v, 1, 2, 3, 4, 5, 6, 0);
	out[7] = gda_nop(v, 0);
	out[8] = gda_put_chunked(v, map, 1, map, 2, 3, 0);
	out[8] += gda_put_imm(v, 1, 2, 3, 4, 5, 6, GDA_EXCLUSIVE);
	out[8] += gda_masked_fetch_add(v, 1, 2, 3, 4, 5, 6, 0);
	out[8] += gda_masked_fetch_add32(v, 1, 2, 3, 4, 5, 6, GDA_EXCLUSIVE);
	out[8] += gda_masked_old32(1);
	out[8] += gda_masked_compare_swap(v, 1, 2, 3, 4, 5, 6, 7, 8, 0);
	out[8] += gda_masked_compare_swap32(v, 1, 2, 3, 4, 5, 6, 7, 8, 0);
	out[8] += gda_put_signal(v, 1, 2, 3, 4, 5, &signal, 0);
	out[8] += gda_put_signal(v, 1, 2, 3, 4, 5, &signal, GDA_EXCLUSIVE | GDA_DEFER);
	out[8] += gda_put_to(v, &to, 1, 2, 3, 4, 5, 0);
	out[8] += gda_put_imm_to(v, &to, 1, 2, 3, 4, 5, 6, GDA_EXCLUSIVE);
	out[8] += gda_get_to(v, &to, 1, 2, 3, 4, 5, 0);
	out[8] += gda_put_value_to(v, &to, 1, 2, 3, GDA_DEFER);
	out[8] += gda_cq_poll(cq, &entry) ? entry.imm : 0;
	out[8] += gda_cq_wait(cq, &entry, 1) ? 0 : entry.bytes;
	gda_flush(v);
	out[9] = gda_test(v, out[0]);
	out[10] = gda_wait(v, out[0], 0);
	out[11] = gda_quiet(v, 0);
	out[12] = gda_error(v, &error) ? error.ticket : 0;
	out[12] += gda_qp_index(1, 2, 3, 4) > 3;
}

KERNEL void use_async(struct gda_async_workspace *w, uint64_t *p, int64_t *out);
KERNEL void use_async(struct gda_async_workspace *w, uint64_t *p, int64_t *out)
{
	struct gda_async_rows rows = { sizeof(rows), 1, 2, 3, 4, 5, 6 };
	struct gda_async_tensor t = { 1, 2, 3, { 1, 1, 1, 1, 5 }, { 1, 1, 1, 1, 1 } };
	struct gda_async_session s;
	struct gda_async_event e;
	uint64_t scratch[32];

	s.size = sizeof(s);
	out[0] = gda_async_open(w, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &s);
	out[0] += gda_async_open_peer(w, 0, 1, scratch, sizeof(scratch), &s);
	e = gda_async_get(&s, GDA_ASYNC_COPY, p, p + 8, 64, GDA_EXCLUSIVE);
	out[1] = gda_async_test(&s, e);
	out[1] += gda_async_wait_for(&s, e, 0);
	e = gda_async_put(&s, GDA_ASYNC_PEERS(3), p, p + 8, 64, 0);
	e = gda_async_put_rows(&s, GDA_ASYNC_PEER, &rows, 0);
	e = gda_async_get_rows(&s, GDA_ASYNC_PEER, &rows, GDA_DEFER);
	e = gda_async_get_tensor(&s, GDA_ASYNC_PEER, &t, &t, 0);
	e = gda_async_put_tensor(&s, GDA_ASYNC_PEER, &t, &t, 0);
	e = gda_async_get_array(&s, GDA_ASYNC_PEER, p, p + 4, 3, 0);
	e = gda_async_put_array(&s, GDA_ASYNC_PEER, p, p + 4, 3, 0);
	e = gda_async_prefetch(&s, GDA_ASYNC_COPY, p, 99);
	e = gda_async_notify(&s, GDA_ASYNC_PEER, p, GDA_ASYNC_ADD, 1, 0);
	out[2] = e.handle;
	out[3] = gda_async_wait_word(&s, p, GDA_ASYNC_GE, 3, 0);
	out[4] = gda_async_wait(&s, 0);
}
