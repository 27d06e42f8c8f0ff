/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Queue memory that changes while it is read, for tests of double fetches: a thread that flips a word,
 * and a page whose every access is counted and then overwritten, which needs x86 and its trap flag.
 * _GNU_SOURCE is defined.
 */
#ifndef TH_WATCH_H
#define TH_WATCH_H

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "host.h"

#define WATCH_BYTES	4096U

struct flip {
	u64 *word;
	u64 variant[2];
	u32 stop;
	u64 flips;
	pthread_t thread;
};

static inline void *flip_main(void *arg)
{
	struct flip *f = arg;
	u64 n = 0;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(f->word, f->variant[n & 1], __ATOMIC_RELAXED);
		n++;
	}
	f->flips = n;
	return NULL;
}

/* Begin to store, by turns, what is at @word and @other there. */
static inline int flip_start(struct flip *f, u64 *word, u64 other)
{
	*f = (struct flip){ .word = word, .variant = { *word, other } };
	return pthread_create(&f->thread, NULL, flip_main, f);
}

/* Return: how often it was stored. */
static inline u64 flip_stop(struct flip *f)
{
	__atomic_store_n(&f->stop, 1, __ATOMIC_RELAXED);
	pthread_join(f->thread, NULL);
	return f->flips;
}

#ifdef __x86_64__

#define TRAP_FLAG	0x100

/* The trapped memory: one page, with all entries of a queue. */
static struct {
	u8 *page;
	u32 reads[WATCH_BYTES];	/* by byte */
	u32 accesses;
	bool stores;
} trap;

static void on_segv(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	u8 *at = si->si_addr;

	(void)sig;
	if (at < trap.page || at >= trap.page + WATCH_BYTES)
		_exit(99);
	/* page fault error code, bit 1: it was a store */
	trap.stores |= (uc->uc_mcontext.gregs[REG_ERR] & 2) != 0;
	trap.accesses++;
	/* nobody reads by more than a word, or across one: counted as all of it */
	for (u32 i = 0; i < 8; i++)
		trap.reads[((u32)(at - trap.page) & ~7U) + i]++;
	mprotect(trap.page, WATCH_BYTES, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

/* The instruction is through: what it read is gone. */
static void on_trap(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	u32 i;

	(void)sig;
	(void)si;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	for (i = 0; i < WATCH_BYTES; i++)
		if (trap.reads[i])
			trap.page[i] = 0xa5;
	mprotect(trap.page, WATCH_BYTES, PROT_NONE);
}

static inline void trap_arm(struct th_qp *qp)
{
	struct sigaction segv = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	memset(&trap, 0, sizeof(trap));
	trap.page = mmap(NULL, WATCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	memcpy(trap.page, qp->sq, qp->q.depth * qp->q.dialect->slot_bytes);
	qp->q.sq = trap.page;
	th_moved(qp);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGTRAP, &step, NULL);
	mprotect(trap.page, WATCH_BYTES, PROT_NONE);
}

static inline void trap_disarm(struct th_qp *qp)
{
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	munmap(trap.page, WATCH_BYTES);
	qp->q.sq = qp->sq;
	th_moved(qp);
}

#endif /* __x86_64__ */

#endif /* TH_WATCH_H */
