/* SPDX-License-Identifier: MIT */
/*
 * Support for ThreadSanitizer in a program whose libgda was built without it. The detector then
 * intercepts the engine's memcpy() and mutexes but not the loads and stores that order them, and
 * would report false races. So the engine hides its accesses from the detector, and announces
 * an acquire of the doorbell when a visit begins and a release when it completes a request.
 *
 * The functions are weak references to the detector's runtime. A libgda that was built with the
 * detector hides nothing.
 */
#ifndef GDA_INPROC_RACE_H
#define GDA_INPROC_RACE_H

#ifndef __SANITIZE_THREAD__
#define GDA_RACE_WEAK __attribute__((weak, visibility("default")))

void __tsan_acquire(void *addr) GDA_RACE_WEAK;
void __tsan_release(void *addr) GDA_RACE_WEAK;
void __tsan_ignore_thread_begin(void) GDA_RACE_WEAK;
void __tsan_ignore_thread_end(void) GDA_RACE_WEAK;

/* Make the race detector ignore this thread's accesses until gda_race_show(). */
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

/* Announce an acquire load of the word at @addr, made before or after this call. */
static inline void gda_race_acquire(const void *addr)
{
	if (__tsan_acquire)
		__tsan_acquire((void *)(uintptr_t)addr);
}

/* Announce a release store to the word at @addr, made before or after this call. */
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
