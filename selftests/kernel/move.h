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

#endif /* GDA_MOVE_H */
