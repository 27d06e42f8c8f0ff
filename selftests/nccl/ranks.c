// SPDX-License-Identifier: MIT
/* See ranks.h. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "../cuda/fake.h"
#include "ranks.h"

#ifndef GDA_NCCL_PLUGIN		/* nccl.mk says where it was built */
#define GDA_NCCL_PLUGIN	"libnccl-rma-gda.so"
#endif

#define BOUND_NS	20000000000ULL

const struct gda_nccl_rma *rma;
struct rank ranks[RANKS];
char logged[8192];

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int current_device;

/* The one call of the driver that the plugin makes by itself. */
int cuCtxGetDevice(int *device);

int cuCtxGetDevice(int *device)
{
	*device = current_device;
	return 0;
}

/* INIT, BOOTSTRAP and ENV */
#define NCCL_SUBSYS_DEFAULT	(0x1UL | 0x100UL | 0x80UL)

static void note(int level, unsigned long subsystems, const char *where, int line,
		 const char *format, ...)
{
	va_list args;
	size_t used;

	/* as ncclDebugLog() does with NCCL_DEBUG=WARN, and NCCL_DEBUG_SUBSYS as it is by default */
	if (level > GDA_NCCL_LOG_WARN || !(subsystems & NCCL_SUBSYS_DEFAULT))
		return;
	(void)where;
	(void)line;
	pthread_mutex_lock(&log_lock);
	used = strlen(logged);
	va_start(args, format);
	vsnprintf(logged + used, sizeof(logged) - used, format, args);
	va_end(args);
	pthread_mutex_unlock(&log_lock);
}

bool ranks_load(void)
{
	const char *name = getenv("GDA_NCCL_PLUGIN");
	void *library = dlopen(name ? name : GDA_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
	void *ctx;

	if (!library) {
		fprintf(stderr, "# %s\n", dlerror());
		return false;
	}
	rma = dlsym(library, "ncclRmaPlugin_v14");
	return rma && !rma->init(&ctx, 1, note);
}

static int (*both_fn)(struct rank *r);

static void *both_main(void *arg)
{
	struct rank *r = arg;

	/* two GPUs */
	current_device = r->rank;
	r->result = both_fn(r);
	return NULL;
}

bool ranks_both(int (*fn)(struct rank *r))
{
	pthread_t thread[RANKS];
	bool ok = true;
	int i;

	both_fn = fn;
	for (i = 0; i < RANKS; i++)
		pthread_create(&thread[i], NULL, both_main, &ranks[i]);
	for (i = 0; i < RANKS; i++) {
		pthread_join(thread[i], NULL);
		ok &= !ranks[i].result;
	}
	return ok;
}

static int listens(struct rank *r)
{
	return rma->listen(NULL, 0, r->handle, &r->listener);
}

static int connects(struct rank *r)
{
	void *handles[RANKS] = { ranks[0].handle, ranks[1].handle };
	struct gda_nccl_config config = { .contexts = CONTEXTS, .rank_stride = 1 };
	int result = rma->connect(NULL, handles, RANKS, r->rank, r->listener, &r->coll);

	rma->close_listen(r->listener);
	return result ? result : rma->create_context(r->coll, &config, &r->context);
}

static void *memory(struct rank *r, int i, size_t bytes)
{
	if (r->cuda) {
		uint64_t addr = fake_cuda_alloc(r->rank, bytes);
		void *window = fake_cuda_window(addr);

		r->addr[i] = (void *)(uintptr_t)addr;
		memset(window, 0, bytes);
		return window;
	}
	r->addr[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return r->addr[i];
}

static int registers(struct rank *r)
{
	int type = r->cuda ? GDA_NCCL_PTR_CUDA : GDA_NCCL_PTR_HOST;
	int result;

	r->window = memory(r, 0, WINDOW);
	r->words = memory(r, 1, WORDS * 8);
	r->resettable = memory(r, 2, WORDS * 8);
	result = rma->reg_mr_sym(r->coll, r->addr[0], WINDOW, type, 0, &r->window_mr);
	if (!result)
		result = rma->reg_mr_sym(r->coll, r->addr[1], WORDS * 8, type,
					 GDA_NCCL_MR_STRICT_ORDER | GDA_NCCL_MR_NEVER_RESET,
					 &r->words_mr);
	if (!result)
		result = rma->reg_mr_sym_dmabuf(r->coll, r->addr[2], WORDS * 8, type, 0, -1,
						GDA_NCCL_MR_STRICT_ORDER, &r->resettable_mr);
	return result;
}

bool ranks_open(bool cuda)
{
	int i;

	for (i = 0; i < RANKS; i++)
		ranks[i] = (struct rank){ .rank = i, .cuda = cuda };
	if (cuda)
		fake_cuda_use();
	return ranks_load() && ranks_both(listens) && ranks_both(connects) &&
	       ranks_both(registers);
}

static int closes(struct rank *r)
{
	int i;

	rma->destroy_context(r->context);
	rma->dereg_mr_sym(r->coll, r->window_mr);
	rma->dereg_mr_sym(r->coll, r->words_mr);
	rma->dereg_mr_sym(r->coll, r->resettable_mr);
	rma->close_coll(r->coll);
	for (i = 0; r->cuda && i < 3; i++)
		fake_cuda_free((uintptr_t)r->addr[i]);
	return 0;
}

void ranks_close(void)
{
	ranks_both(closes);
}

int ranks_wait(struct rank *r, void *request)
{
	uint64_t end = ranks_now() + BOUND_NS;
	int done = 0;

	while (ranks_now() < end) {
		int result = rma->test(r->coll, request, &done);

		if (result || done)
			return result;
		rma->progress(r->context);
		sched_yield();
	}
	return -1;
}

int ranks_put(struct rank *r, int context, uint64_t from, uint64_t to, size_t size, int peer)
{
	void *request;
	int result = rma->iput(r->context, context, from, r->window_mr, size, to, r->window_mr,
			       (uint32_t)peer, &request);

	return result ? result : ranks_wait(r, request);
}

int ranks_get(struct rank *r, int context, uint64_t from, uint64_t to, size_t size, int peer)
{
	void *request;
	int result = rma->iget(r->context, context, from, r->window_mr, size, to, r->window_mr,
			       (uint32_t)peer, &request);

	return result ? result : ranks_wait(r, request);
}

int ranks_put_signal(struct rank *r, int context, uint64_t from, uint64_t to, size_t size,
		     int peer, void *signal_mr, unsigned int word, uint64_t add)
{
	void *request;
	int result = rma->iput_signal(r->context, context, from, r->window_mr, size, to,
				      r->window_mr, (uint32_t)peer, word * 8, signal_mr, add,
				      GDA_NCCL_SIGNAL_ADD, true, &request);

	return result ? result : ranks_wait(r, request);
}

uint64_t ranks_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

uint64_t ranks_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}
