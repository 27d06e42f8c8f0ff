// SPDX-License-Identifier: MIT
/* See fake.h. Calls that lib/gpu does not make, such as nesting contexts, are not checked. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fake.h"
#include "fake_calls.h"
#include "fake_types.h"

#define FAKE_BLOCKS	512
#define FAKE_STREAMS	128

enum { OK = 0, INVALID = 1, MEMORY = 2, DEVICE = 101, NOT_READY = 600, UNKNOWN = 999 };

static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_block fake_blocks[FAKE_BLOCKS];
static struct fake_stream fake_streams[FAKE_STREAMS];
static bool fake_held, fake_broken, fake_taken;
static unsigned int fake_begun, fake_done, fake_allocated, fake_waited;
static uint64_t fake_seed = 1;

static struct fake_block *fake_find(uint64_t addr)
{
	int i;

	for (i = 0; i < FAKE_BLOCKS; i++)
		if (fake_blocks[i].kind && addr - fake_blocks[i].addr < fake_blocks[i].bytes)
			return &fake_blocks[i];
	return NULL;
}

static int fake_add(enum fake_kind kind, uint64_t addr, uint64_t bytes, char *window,
		    int device)
{
	int i = 0;

	fake_allocated++;
	while (fake_blocks[i].kind)
		if (++i == FAKE_BLOCKS)
			return MEMORY;
	fake_blocks[i] = (struct fake_block){ kind, addr, bytes, window, device };
	return OK;
}

/* Carry out the oldest operation of a stream. Its lock is not held: it takes time. */
static void fake_step(struct fake_stream *s)
{
	struct fake_op *op = &s->ops[s->head % FAKE_OPS];
	uint64_t *wide = (uint64_t *)(void *)op->dst;

	pthread_mutex_unlock(&fake_lock);
	if (op->src)
		memcpy(op->dst, op->src, op->bytes);
	else if (op->wide)
		__atomic_store_n(wide, op->value, __ATOMIC_RELEASE);
	else if (!op->wait && !op->word)
		__atomic_store_n((uint32_t *)wide, (uint32_t)op->value, __ATOMIC_RELEASE);
	pthread_mutex_lock(&fake_lock);
	s->head++;
	fake_done++;
}

/* May the oldest operation of a stream be carried out? */
static bool fake_ready(const struct fake_stream *s)
{
	const struct fake_op *op = &s->ops[s->head % FAKE_OPS];

	if (!s->used || s->head == s->tail || (fake_taken && op->kernel))
		return false;
	if (op->word)
		return (int64_t)(__atomic_load_n((uint64_t *)(void *)op->dst, __ATOMIC_ACQUIRE) -
				 op->value) >= 0;
	return !op->wait || (int)(op->wait->head - (uint32_t)op->value) >= 0;
}

/* Any stream that has something to do, each as likely as another, or NULL. */
static struct fake_stream *fake_pick(uint64_t seed)
{
	struct fake_stream *ready[FAKE_STREAMS];
	unsigned int i, n = 0;

	for (i = 0; i < FAKE_STREAMS; i++)
		if (fake_ready(&fake_streams[i]))
			ready[n++] = &fake_streams[i];
	return n ? ready[seed % n] : NULL;
}

/* Carries out what was begun, of streams in any order, and sleeps now and then. */
static void *fake_engine(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&fake_lock);
	for (;;) {
		struct fake_stream *s = NULL;

		fake_seed = fake_seed * 6364136223846793005U + 1442695040888963407U;
		if (!fake_held && !fake_broken && fake_seed >> 60)
			s = fake_pick(fake_seed >> 33);
		if (s) {
			fake_step(s);
			continue;
		}
		pthread_mutex_unlock(&fake_lock);
		usleep(5);
		pthread_mutex_lock(&fake_lock);
	}
	return NULL;
}

void fake_cuda_use(void)
{
	static bool runs;
	pthread_t thread;

	setenv("GDA_LIBCUDA", "", 1);
	/* a test may open its ranks more than once: one engine carries out what is begun */
	if (runs)
		return;
	runs = true;
	pthread_create(&thread, NULL, fake_engine, NULL);
	pthread_detach(thread);
}

void *fake_cuda_window(uint64_t addr)
{
	struct fake_block *b;

	pthread_mutex_lock(&fake_lock);
	b = fake_find(addr);
	pthread_mutex_unlock(&fake_lock);
	return b ? b->window + (addr - b->addr) : NULL;
}

static void fake_flag(bool *flag, bool value)
{
	pthread_mutex_lock(&fake_lock);
	*flag = value;
	pthread_mutex_unlock(&fake_lock);
}

static unsigned int fake_count(const unsigned int *count)
{
	unsigned int n;

	pthread_mutex_lock(&fake_lock);
	n = *count;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

void fake_cuda_hold(bool hold)
{
	fake_flag(&fake_held, hold);
}

unsigned int fake_cuda_pending(void)
{
	unsigned int n;

	pthread_mutex_lock(&fake_lock);
	n = fake_begun - fake_done;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

void fake_cuda_break(void)
{
	fake_flag(&fake_broken, true);
}

unsigned int fake_cuda_allocations(void)
{
	return fake_count(&fake_allocated);
}

unsigned int fake_cuda_waits(void)
{
	return fake_count(&fake_waited);
}

void fake_cuda_full(bool full)
{
	fake_flag(&fake_taken, full);
}

static int fake_alloc(int device, uint64_t *addr, size_t bytes)
{
	size_t len = (bytes + 4095) & ~(size_t)4095;
	void *hidden = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *window = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	int err;

	if (hidden == MAP_FAILED || window == MAP_FAILED)
		return MEMORY;
	memset(window, 0xa5, len);
	pthread_mutex_lock(&fake_lock);
	err = fake_add(FAKE_GPU, (uintptr_t)hidden, bytes, window, device);
	pthread_mutex_unlock(&fake_lock);
	*addr = (uintptr_t)hidden;
	return err;
}

uint64_t fake_cuda_alloc(int device, uint64_t bytes)
{
	uint64_t addr = 0;

	fake_alloc(device, &addr, bytes);
	return addr;
}

void fake_cuda_free(uint64_t addr)
{
	cuMemFree_v2(addr);
}

static int fake_state(void)
{
	int broken;

	pthread_mutex_lock(&fake_lock);
	broken = fake_broken;
	pthread_mutex_unlock(&fake_lock);
	return broken ? UNKNOWN : OK;
}

int cuInit(unsigned int flags)
{
	(void)flags;
	return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal < 0 || ordinal > 1 ? DEVICE : OK;
}

int cuDeviceGetAttribute(int *value, int name, int device)
{
	(void)device;
	/* no dma-bufs; a number of multiprocessors, and otherwise "yes" */
	*value = name == 124 ? 0 : name == 16 ? 4 : 1;
	return OK;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	*context = &fake_streams[device];
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	return OK;
}

int cuCtxPushCurrent_v2(void *context)
{
	(void)context;
	return fake_state();
}

int cuCtxPopCurrent_v2(void **context)
{
	(void)context;
	return fake_state();
}

int cuCtxSetCurrent(void *context)
{
	(void)context;
	return fake_state();
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -1;
	return OK;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return OK;
}

int cuCtxEnablePeerAccess(void *peer, unsigned int flags)
{
	(void)peer;
	(void)flags;
	return OK;
}

int cuMemAlloc_v2(uint64_t *addr, size_t bytes)
{
	return fake_alloc(0, addr, bytes);
}

int cuMemFree_v2(uint64_t addr)
{
	struct fake_block *b;
	size_t len;

	pthread_mutex_lock(&fake_lock);
	b = fake_find(addr);
	len = (b->bytes + 4095) & ~(size_t)4095;
	munmap((void *)(uintptr_t)b->addr, len);
	munmap(b->window, len);
	b->kind = 0;
	pthread_mutex_unlock(&fake_lock);
	return OK;
}

int cuMemHostAlloc(void **p, size_t bytes, unsigned int flags)
{
	int err;

	(void)flags;
	*p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!*p)
		return MEMORY;
	pthread_mutex_lock(&fake_lock);
	err = fake_add(FAKE_HOST, (uintptr_t)*p, bytes, *p, -1);
	pthread_mutex_unlock(&fake_lock);
	return err;
}

int cuMemFreeHost(void *p)
{
	pthread_mutex_lock(&fake_lock);
	fake_find((uintptr_t)p)->kind = 0;
	pthread_mutex_unlock(&fake_lock);
	free(p);
	return OK;
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	int err = INVALID;

	(void)flags;
	pthread_mutex_lock(&fake_lock);
	if (!fake_find((uintptr_t)p))
		err = fake_add(FAKE_REGISTERED, (uintptr_t)p, bytes, p, -1);
	pthread_mutex_unlock(&fake_lock);
	return err;
}

int cuMemHostUnregister(void *p)
{
	struct fake_block *b;
	int err = INVALID;

	pthread_mutex_lock(&fake_lock);
	b = fake_find((uintptr_t)p);
	if (b && b->kind == FAKE_REGISTERED && b->addr == (uintptr_t)p) {
		b->kind = 0;
		err = OK;
	}
	pthread_mutex_unlock(&fake_lock);
	return err;
}

int cuMemHostGetDevicePointer_v2(uint64_t *addr, void *p, unsigned int flags)
{
	(void)flags;
	*addr = (uintptr_t)p;
	return fake_cuda_window((uintptr_t)p) == p ? OK : INVALID;
}

int cuPointerGetAttribute(void *value, int name, uint64_t addr)
{
	struct fake_block b = { 0 };
	struct fake_block *found;
	int type;

	pthread_mutex_lock(&fake_lock);
	found = fake_find(addr);
	if (found)
		b = *found;
	pthread_mutex_unlock(&fake_lock);
	if (!b.kind)
		return INVALID;
	type = b.kind == FAKE_GPU ? 2 : 1;
	if (name == 2 || name == 9)
		memcpy(value, name == 2 ? &type : &b.device, sizeof(type));
	else
		memcpy(value, name == 11 ? &b.addr : &b.bytes, sizeof(b.addr));
	return OK;
}

int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t bytes, int type,
				  unsigned long long flags)
{
	(void)handle;
	(void)addr;
	(void)bytes;
	(void)type;
	(void)flags;
	return INVALID;
}

int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority)
{
	int i = 0;

	(void)priority;
	pthread_mutex_lock(&fake_lock);
	fake_allocated++;
	while (fake_streams[i].used)
		i++;
	fake_streams[i].used = true;
	pthread_mutex_unlock(&fake_lock);
	*stream = &fake_streams[i];
	return flags == 1 ? OK : INVALID;
}

int cuStreamDestroy_v2(void *stream)
{
	struct fake_stream *s = stream;

	cuStreamSynchronize(stream);
	pthread_mutex_lock(&fake_lock);
	s->used = false;
	pthread_mutex_unlock(&fake_lock);
	return OK;
}

int cuStreamQuery(void *stream)
{
	struct fake_stream *s = stream;
	int result;

	pthread_mutex_lock(&fake_lock);
	result = fake_broken ? UNKNOWN : s->head != s->tail ? NOT_READY : OK;
	pthread_mutex_unlock(&fake_lock);
	return result;
}

int cuStreamSynchronize(void *stream)
{
	int result;

	while ((result = cuStreamQuery(stream)) == NOT_READY)
		sched_yield();
	return result;
}

/* As much as is pinned, or else nothing may be put off. */
static bool fake_can_wait(uint64_t addr, uint64_t bytes)
{
	struct fake_block *b = fake_find(addr);

	return b && bytes <= b->bytes - (addr - b->addr);
}

static int fake_begin(struct fake_stream *s, const struct fake_op *op)
{
	while (s->tail - s->head == FAKE_OPS && !fake_broken) {
		fake_waited++;
		pthread_mutex_unlock(&fake_lock);
		sched_yield();
		pthread_mutex_lock(&fake_lock);
	}
	if (fake_broken)
		return UNKNOWN;
	s->ops[s->tail++ % FAKE_OPS] = *op;
	fake_begun++;
	return OK;
}

static char *fake_reach(uint64_t addr)
{
	struct fake_block *b = fake_find(addr);

	return b ? b->window + (addr - b->addr) : (char *)(uintptr_t)addr;
}

/* Both on one GPU? */
static bool fake_within(uint64_t dst, uint64_t src)
{
	struct fake_block *to = fake_find(dst), *from = fake_find(src);

	return to && from && to->kind == FAKE_GPU && from->kind == FAKE_GPU &&
	       to->device == from->device;
}

int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t bytes, void *stream)
{
	struct fake_op op = { .bytes = bytes };
	bool waits;
	int err;

	pthread_mutex_lock(&fake_lock);
	waits = !fake_can_wait(dst, bytes) || !fake_can_wait(src, bytes);
	op.kernel = fake_within(dst, src);
	op.dst = fake_reach(dst);
	op.src = fake_reach(src);
	fake_waited += waits;
	err = fake_begin(stream, &op);
	pthread_mutex_unlock(&fake_lock);
	if (waits)
		cuStreamSynchronize(stream);
	return err;
}

static int fake_word(void *stream, uint64_t addr, struct fake_op op, size_t bytes)
{
	int err = INVALID;

	pthread_mutex_lock(&fake_lock);
	if (fake_can_wait(addr, bytes) && addr % bytes == 0) {
		op.dst = fake_reach(addr);
		err = fake_begin(stream, &op);
	}
	pthread_mutex_unlock(&fake_lock);
	return err;
}

int cuStreamWriteValue32_v2(void *stream, uint64_t addr, uint32_t value, unsigned int flags)
{
	(void)flags;
	return fake_word(stream, addr, (struct fake_op){ .value = value }, sizeof(value));
}

int cuStreamWriteValue64_v2(void *stream, uint64_t addr, uint64_t value, unsigned int flags)
{
	(void)flags;
	return fake_word(stream, addr, (struct fake_op){ .value = value, .wide = true },
			 sizeof(value));
}

int cuStreamBatchMemOp_v2(void *stream, unsigned int count, union fake_memop *ops,
			  unsigned int flags)
{
	int err = flags ? INVALID : OK;

	for (; count && !err; count--, ops++)
		err = ops->write.type == 5 ?
		      cuStreamWriteValue64_v2(stream, ops->write.addr, ops->write.value, 0) :
		      cuStreamWriteValue32_v2(stream, ops->write.addr,
					      (uint32_t)ops->write.value, 0);
	return err;
}

int cuStreamWaitValue64_v2(void *stream, uint64_t addr, uint64_t value, unsigned int flags)
{
	if (flags)
		return INVALID;
	return fake_word(stream, addr, (struct fake_op){ .value = value, .word = true },
			 sizeof(value));
}

int cuEventCreate(void **event, unsigned int flags)
{
	pthread_mutex_lock(&fake_lock);
	fake_allocated++;
	pthread_mutex_unlock(&fake_lock);
	*event = calloc(1, sizeof(struct fake_event));
	return flags == 2 && *event ? OK : INVALID;
}

int cuEventDestroy_v2(void *event)
{
	free(event);
	return OK;
}

int cuEventRecord(void *event, void *stream)
{
	struct fake_event *e = event;
	struct fake_stream *s = stream;

	pthread_mutex_lock(&fake_lock);
	*e = (struct fake_event){ s, s->tail };
	pthread_mutex_unlock(&fake_lock);
	return fake_state();
}

int cuStreamWaitEvent(void *stream, void *event, unsigned int flags)
{
	const struct fake_event *e = event;
	struct fake_op op = { .wait = e->stream, .value = e->tail };
	int err = OK;

	(void)flags;
	pthread_mutex_lock(&fake_lock);
	if (op.wait)
		err = fake_begin(stream, &op);
	pthread_mutex_unlock(&fake_lock);
	return err;
}
