/* SPDX-License-Identifier: MIT */
/*
 * ThreadSanitizer in a program whose libgda was built without it. The detector then sees
 * the memcpy() and the mutexes of the engine, but neither the loads and stores that order
 * them: it would report races that are none. So what the engine moves is hidden from it,
 * and it is told that a visit begins behind the doorbell and that a completion ends it.
 *
 * The functions are the detector's runtime's, or not there. A libgda that is built with
 * the detector hides nothing.
 */
#ifndef GDA_INPROC_RACE_H
#define GDA_INPROC_RACE_H

#ifndef __SANITIZE_THREAD__
#define GDA_RACE_WEAK __attribute__((weak, visibility("default")))

void __tsan_acquire(void *addr) GDA_RACE_WEAK;
void __tsan_release(void *addr) GDA_RACE_WEAK;
void __tsan_ignore_thread_begin(void) GDA_RACE_WEAK;
void __tsan_ignore_thread_end(void) GDA_RACE_WEAK;

/* The race detector ignores the accesses of this thread until gda_race_show(). */
static inline void gda_race_hide(void)
{
	if (__tsan_ignore_thread_begin)
		__tsan_ignore_thread_begin();
}

static inline void gda_race_show(void)
{
	if (__tsan_ignore_thread_end)
		__tsan_ignore_thread_end();
}

/* An acquire load of the word at @addr was or will be made. */
static inline void gda_race_acquire(const void *addr)
{
	if (__tsan_acquire)
		__tsan_acquire((void *)(uintptr_t)addr);
}

/* A release store to the word at @addr was or will be made. */
static inline void gda_race_release(const void *addr)
{
	if (__tsan_release)
		__tsan_release((void *)(uintptr_t)addr);
}
#else
static inline void gda_race_hide(void)
{
}

static inline void gda_race_show(void)
{
}

static inline void gda_race_acquire(const void *addr)
{
	(void)addr;
}

static inline void gda_race_release(const void *addr)
{
	(void)addr;
}
#endif

#endif /* GDA_INPROC_RACE_H */
