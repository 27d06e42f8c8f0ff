/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A table of all ioctls, and for each a request that succeeds: what tests that are
 * generated over all of them start from.
 */
#ifndef GDA_TEST_REQUESTS_H
#define GDA_TEST_REQUESTS_H

#include "gda_test.h"

/* A member in which every bit but those of @known must be zero. */
struct t_field {
	const char *name;
	uint16_t offset;
	uint16_t bytes;
	uint32_t known;
};

struct t_call {
	const char *name;
	unsigned long nr;
	uint32_t size;
	uint32_t min;			/* size of its first version, 0: no other */
	bool output;			/* something is written back */
	bool creates;			/* an object; REGION_EXPORT: a file; RECORD: a ring */
	uint16_t out_handle;		/* where its handle is, if so */
	uint16_t in_handle;		/* offset of the handle it works on, or 0 */
	struct t_field zero[8];
};

#define T_CALLS	GDA_IOC_NR_END
#define T_REQUEST_MAX	512

extern const struct t_call t_calls[T_CALLS];

/* The objects that the requests name. */
struct t_world {
	int fd;
	int other;			/* a context of its own, replaced by BIND requests */
	uint32_t cq;
	uint32_t qp;
	uint32_t mr;
	int dmabuf;
	int gpu;			/* of gda_test, -1 where it is not loaded */
	void *gpu_mem;			/* T_PAGE of it */
	uint32_t named[2];		/* CQ and QP of @address */
	uint8_t address[GDA_ADDRESS_BYTES];	/* of a QP that others may name */
	uint32_t temp[2];		/* made for one request, gone with the next */
	void *mem;
};

int t_world_open(struct t_world *w);
void t_world_close(struct t_world *w);

/*
 * Fill @buf with a request of call @nr that will succeed, and make what it needs.
 * Returns the file descriptor it is for, or -errno.
 */
int t_request(struct t_world *w, unsigned int nr, void *buf);

/* Destroy what a successful request in @buf created. */
int t_request_undo(struct t_world *w, unsigned int nr, const void *buf);

#endif /* GDA_TEST_REQUESTS_H */
