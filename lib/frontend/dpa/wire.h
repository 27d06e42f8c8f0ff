/* SPDX-License-Identifier: MIT */
/*
 * Messages between a context and the process of its tasks, over a socket that keeps message
 * boundaries: the context asks, the process answers each question once.
 *
 * The first message carries two descriptors, of the context's memory and of the device context.
 * Queues and counters are sent as cookies of the latter, which the process maps. Both sides come
 * from the same libgda: the process's program lies beside it, and the first message has its
 * version.
 */
#ifndef GDA_DPA_WIRE_H
#define GDA_DPA_WIRE_H

#include <stdint.h>
#include <gda/dpa.h>

#define GDA_DPA_WIRE_MAGIC	0x67646101U
#define GDA_DPA_WIRE_FD		3	/* the socket, in the process */
#define GDA_DPA_WIRE_TEXT	200U
#define GDA_DPA_WIRE_PATH	1024U
#define GDA_DPA_WIRE_NS		10000000000ULL	/* for an answer */

enum gda_dpa_question {
	GDA_DPA_ASK_BEGIN = 1,		/* after the first message, and a queue for each thread */
	GDA_DPA_ASK_TASK = 2,
	GDA_DPA_ASK_HANDLE = 3,
	GDA_DPA_ASK_HANDLE_FREE = 4,
	GDA_DPA_ASK_COUNTER = 5,
};

struct gda_dpa_hello {
	uint32_t magic;
	uint32_t bytes;			/* sizeof(struct gda_dpa_hello) */
	uint32_t threads;
	uint32_t events;
	uint32_t launches;
	uint32_t lines;
	uint64_t heap_bytes;
	uint64_t spin_ns;
	uint64_t mr_iova;
	uint32_t mr_key;
	uint32_t reserved;
	char program[GDA_DPA_WIRE_PATH];
};

/* A part of a region of the device context. */
struct gda_dpa_part {
	uint64_t cookie;
	uint64_t length;
	uint64_t offset;
};

struct gda_dpa_queue {
	struct gda_dpa_part sq, dbrec, db, cq;
	uint64_t timeout_ns;
	uint32_t depth;
	uint32_t qpn;
	uint32_t can;			/* gda_view.can */
	uint32_t reserved;
};

struct gda_dpa_ask {
	uint32_t question;
	uint32_t number;		/* handle to free */
	uint32_t serial;		/* number of the question; its answer has the same */
	uint32_t reserved;
	struct gda_dpa_queue queue;	/* of a handle, or of a thread */
	struct gda_dpa_buf fetched;	/* of a handle */
	struct gda_dpa_part counter;
	char name[GDA_DPA_NAME_BYTES];	/* of a task */
};

struct gda_dpa_answer {
	int32_t err;
	uint32_t number;
	uint32_t serial;
	char text[GDA_DPA_WIRE_TEXT];	/* the reason of @err, if it is known */
};

#endif /* GDA_DPA_WIRE_H */
