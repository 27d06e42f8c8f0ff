// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Bytes, bits and codes of gda/efa.h against those of a vendor's efa_io_defs.h. Compiled once for
 * each such header; it is true if it compiles. What only newer headers have is compared where it is.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <gda/efa.h>

#define BIT(n)		(1UL << (n))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (63 - (h))))
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#include "efa_io_defs.h"

#define SAME(ours, theirs)							\
	static_assert((unsigned long)(ours) == (unsigned long)(theirs), #ours)
#define LOWEST(mask)	((mask) & -(mask))
#define AT(s, m, t, n)								\
	static_assert(offsetof(struct s, m) == offsetof(struct t, n) &&		\
		      sizeof(((struct s *)0)->m) == sizeof(((struct t *)0)->n), #s "." #m)

SAME(GDA_EFA_SEND, EFA_IO_SEND);
SAME(GDA_EFA_READ, EFA_IO_RDMA_READ);
SAME(GDA_EFA_WRITE, EFA_IO_RDMA_WRITE);

SAME(GDA_EFA_OP_MASK, EFA_IO_TX_META_DESC_OP_TYPE_MASK);
SAME(GDA_EFA_HAS_IMM, EFA_IO_TX_META_DESC_HAS_IMM_MASK);
SAME(GDA_EFA_INLINE, EFA_IO_TX_META_DESC_INLINE_MSG_MASK);
SAME(GDA_EFA_META, EFA_IO_TX_META_DESC_META_DESC_MASK);
SAME(GDA_EFA_PHASE, EFA_IO_TX_META_DESC_PHASE_MASK);
SAME(GDA_EFA_FIRST, EFA_IO_TX_META_DESC_FIRST_MASK);
SAME(GDA_EFA_LAST, EFA_IO_TX_META_DESC_LAST_MASK);
SAME(GDA_EFA_COMPLETE, EFA_IO_TX_META_DESC_COMP_REQ_MASK);
SAME(0xffffffffU >> GDA_EFA_LKEY_SHIFT, EFA_IO_TX_BUF_DESC_LKEY_MASK);

AT(gda_efa_meta, id, efa_io_tx_meta_desc, req_id);
AT(gda_efa_meta, ctrl1, efa_io_tx_meta_desc, ctrl1);
AT(gda_efa_meta, ctrl2, efa_io_tx_meta_desc, ctrl2);
AT(gda_efa_meta, dest_qp, efa_io_tx_meta_desc, dest_qp_num);
AT(gda_efa_meta, length, efa_io_tx_meta_desc, length);
AT(gda_efa_meta, imm, efa_io_tx_meta_desc, immediate_data);
AT(gda_efa_meta, ah, efa_io_tx_meta_desc, ah);
AT(gda_efa_meta, qkey, efa_io_tx_meta_desc, qkey);
SAME(sizeof(struct gda_efa_meta), sizeof(struct efa_io_tx_meta_desc));

AT(gda_efa_segment, length, efa_io_remote_mem_addr, length);
AT(gda_efa_segment, key, efa_io_remote_mem_addr, rkey);
AT(gda_efa_segment, addr_lo, efa_io_remote_mem_addr, buf_addr_lo);
AT(gda_efa_segment, addr_hi, efa_io_remote_mem_addr, buf_addr_hi);
AT(gda_efa_segment, length, efa_io_tx_buf_desc, length);
AT(gda_efa_segment, key, efa_io_tx_buf_desc, lkey);
AT(gda_efa_segment, addr_lo, efa_io_tx_buf_desc, buf_addr_lo);
AT(gda_efa_segment, addr_hi, efa_io_tx_buf_desc, buf_addr_hi);
SAME(sizeof(struct gda_efa_segment), sizeof(struct efa_io_tx_buf_desc));

AT(gda_efa_wqe, meta, efa_io_tx_wqe, meta);
AT(gda_efa_wqe, remote, efa_io_tx_wqe, data.rdma_req.remote_mem);
AT(gda_efa_wqe, local, efa_io_tx_wqe, data.rdma_req.local_mem[0]);
SAME(sizeof(struct gda_efa_wqe), sizeof(struct efa_io_tx_wqe));
SAME(GDA_EFA_SLOT_BYTES, sizeof(struct efa_io_tx_wqe));

SAME(GDA_EFA_OK, EFA_IO_COMP_STATUS_OK);
SAME(GDA_EFA_FLUSHED, EFA_IO_COMP_STATUS_FLUSHED);
SAME(GDA_EFA_QP_INTERNAL, EFA_IO_COMP_STATUS_LOCAL_ERROR_QP_INTERNAL_ERROR);
SAME(GDA_EFA_BAD_AH, EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_AH);
SAME(GDA_EFA_BAD_LKEY, EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_LKEY);
SAME(GDA_EFA_BAD_LENGTH, EFA_IO_COMP_STATUS_LOCAL_ERROR_BAD_LENGTH);
SAME(GDA_EFA_BAD_ADDRESS, EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS);
SAME(GDA_EFA_ABORT, EFA_IO_COMP_STATUS_REMOTE_ERROR_ABORT);
SAME(GDA_EFA_BAD_DEST_QP, EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_DEST_QPN);
SAME(GDA_EFA_NOT_READY, EFA_IO_COMP_STATUS_REMOTE_ERROR_RNR);
SAME(GDA_EFA_UNRESPONSIVE, EFA_IO_COMP_STATUS_LOCAL_ERROR_UNRESP_REMOTE);

SAME(GDA_EFA_CQE_PHASE, EFA_IO_CDESC_COMMON_PHASE_MASK);
SAME(GDA_EFA_CQE_SENT, EFA_IO_SEND_QUEUE * LOWEST(EFA_IO_CDESC_COMMON_Q_TYPE_MASK));
SAME(GDA_EFA_CQE_RECEIVED, EFA_IO_RECV_QUEUE * LOWEST(EFA_IO_CDESC_COMMON_Q_TYPE_MASK));
SAME(GDA_EFA_CQE_HAS_IMM, EFA_IO_CDESC_COMMON_HAS_IMM_MASK);
SAME(1U << GDA_EFA_CQE_OP_SHIFT, LOWEST(EFA_IO_CDESC_COMMON_OP_TYPE_MASK));

AT(gda_efa_cqe, id, efa_io_cdesc_common, req_id);
AT(gda_efa_cqe, status, efa_io_cdesc_common, status);
AT(gda_efa_cqe, flags, efa_io_cdesc_common, flags);
AT(gda_efa_cqe, qp, efa_io_cdesc_common, qp_num);
AT(gda_efa_recv_cqe, length, efa_io_rx_cdesc, length);
AT(gda_efa_recv_cqe, ah, efa_io_rx_cdesc, ah);
AT(gda_efa_recv_cqe, src_qp, efa_io_rx_cdesc, src_qp_num);
AT(gda_efa_recv_cqe, imm, efa_io_rx_cdesc, imm);
AT(gda_efa_recv_cqe, length_hi, efa_io_rx_cdesc_ex, u.rdma_write.length_hi);
SAME(sizeof(struct gda_efa_recv_cqe), sizeof(struct efa_io_rx_cdesc_ex));

#ifdef EFA_IO_TX_DESC_INLINE_MAX_SIZE_128
SAME(GDA_EFA_BAD_OP, EFA_IO_COMP_STATUS_LOCAL_ERROR_UNSUPPORTED_OP);
SAME(GDA_EFA_UNKNOWN_PEER, EFA_IO_COMP_STATUS_REMOTE_ERROR_UNKNOWN_PEER);
SAME(GDA_EFA_FEATURE_MISMATCH, EFA_IO_COMP_STATUS_REMOTE_ERROR_FEATURE_MISMATCH);
SAME(GDA_EFA_HINTS, EFA_IO_TX_META_DESC_PROCESSING_HINTS_MASK);
AT(gda_efa_meta, hints, efa_io_tx_meta_desc, ctrl3);
AT(gda_efa_meta, id_ex, efa_io_tx_meta_desc, req_id_ex);
AT(gda_efa_wide_wqe, remote, efa_io_tx_wqe_128, data.rdma_req.remote_mem);
SAME(GDA_EFA_MAX_INLINE, EFA_IO_TX_DESC_INLINE_MAX_SIZE_128);
SAME(sizeof(struct gda_efa_wide_wqe), sizeof(struct efa_io_tx_wqe_128));
SAME(GDA_EFA_CQE_UNSOLICITED, EFA_IO_CDESC_COMMON_UNSOLICITED_MASK);
AT(gda_efa_cqe, id_ex, efa_io_tx_cdesc, req_id_ex);
#else
SAME(GDA_EFA_BAD_OP, EFA_IO_COMP_STATUS_LOCAL_ERROR_INVALID_OP_TYPE);
#endif
