/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory that its owner takes away: dma-bufs of gda_test (/dev/gda_test), which watches
 * whether the old memory changes. As in gda_test.h nothing prints.
 */
#ifndef GDA_MOVE_H
#define GDA_MOVE_H

#include <pthread.h>
#include "gda_test.h"
#include "../kmod/gda_test/ioctl.h"

/* A dma-buf of zeros, or -errno. */
int t_test_buffer(int test, size_t len, uint32_t flags);

/* Move it; of @cmd linger_ns alone is read. */
int t_move(int test, int buf, uint32_t flags, struct gda_test_move *cmd);

/* A thread that moves a buffer again and again. */
struct t_mover {
	int test;
	int buf;
	uint64_t pause;		/* ns, of which it sleeps a part by chance between two moves */
	bool stop;
	pthread_t thread;
	unsigned long moves;
	uint64_t changed;	/* bytes, of all moves */
	int err;		/* the last one */
};

/* 0 or an errno; @test, @buf and @pause are filled in. */
int t_mover_start(struct t_mover *m);
void t_mover_stop(struct t_mover *m);

/*
 * Rounds in which memory is taken away from a QP at work. The QP is in error after it, and
 * to destroy it means to wait for executors. So a round leaves its QP behind, and the
 * context, whose end waits only once, goes when enough rounds have had it.
 */
struct t_race {
	size_t len;		/* of @mem: a multiple of pages */
	uint32_t depth;
	int fd;
	struct t_qp qp;		/* connected to itself */
	struct t_mr mem;	/* what is sent, or received */
	uint64_t seed;
	unsigned long rounds;
	unsigned long failed;	/* ... in which the QP hit memory that was gone */
	unsigned long begun;	/* ... after requests that had completed */
	uint64_t *wait_ns;	/* of each round: how long the exporter waited */
};

/* 0 or -errno: for @rounds rounds; @seed, @len and @depth are filled in. */
int t_race_begin(struct t_race *r, unsigned long rounds);
/* The next QP, and work of it on @mr that goes on till some time after the return. */
int t_race_next(struct t_race *r);
uint64_t t_race_traffic(struct t_race *r, const struct t_mr *mr, bool read);
/* Wait for @last: 0, or -EBADMSG if it failed of anything but memory that is gone. */
int t_race_told(struct t_race *r, uint64_t last, bool read, uint64_t wait_ns);
void t_race_end(struct t_race *r);
/* For a log, into @buf of 160 bytes or more: what became of the rounds, and the waits. */
const char *t_race_result(struct t_race *r, char *buf, size_t room);

#endif /* GDA_MOVE_H */
