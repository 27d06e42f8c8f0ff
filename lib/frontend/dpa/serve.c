// SPDX-License-Identifier: MIT
/*
 * The process of tasks, from inside: it maps the descriptors that the context sent, loads the
 * program, runs the pool, and answers questions until the socket is closed. It makes no call of
 * gda/gda.h that the device would notice.
 *
 * A thread that crashes writes its number and the signal's data to the header before the signal
 * ends the process; the context reads them there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dpa_internal.h"
#include "wire.h"

#define GDA_DPA_REGIONS	4096U
#define GDA_DPA_STACK	16384U

static struct gda_dpa_serve {
	struct gda_dpa_map map;
	struct gda_dpa_hello hello;
	struct gda_dpa_pool *pool;
	void *program;
	int socket, fd;
	int parent;		/* a pidfd of the program; -1: only the socket tells its end */
	struct gda_dpa_mapped {
		uint64_t cookie;
		uint64_t length;
		void *addr;
		uint32_t users;
	} regions[GDA_DPA_REGIONS];
	uint32_t nregions;
	struct gda_view *views[GDA_DPA_MAX_THREADS];
	uint32_t nviews;
	struct gda_dpa_served {		/* handles, by number - 1 */
		struct gda_view *view;
		void *slots;
		struct gda_dpa_queue queue;
	} handles[GDA_DPA_MAX_THREADS];
} gda_dpa_serving;

/* --- crashes --- */

static void gda_dpa_serve_note(int signal, uint64_t address, uint32_t kind)
{
	struct gda_dpa_header *h = gda_dpa_serving.map.header;
	const struct gda_dpa_thread *t = gda_dpa_self;
	uint32_t none = 0;

	if (!t || !__atomic_compare_exchange_n(&h->crash_thread, &none, t->index + 1, false,
					       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	h->crash_signal = (uint32_t)signal;
	h->crash_address = address;
	__atomic_store_n(&h->crash_kind, kind, __ATOMIC_RELEASE);
}

/* The handler is one-shot: after its return the instruction faults again and ends the process. */
static void gda_dpa_serve_crash(int signal, siginfo_t *info, void *context)
{
	/*
	 * si_addr is the faulting address only for these signals, and only if the kernel sent them
	 */
	bool fault = info->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS);

	(void)context;
	gda_dpa_serve_note(signal, fault ? (uintptr_t)info->si_addr : 0, GDA_DPA_CRASHED);
	if (info->si_code <= 0)
		raise(signal);
}

static void gda_dpa_serve_exit(void)
{
	gda_dpa_serve_note(0, 0, GDA_DPA_EXITED);
}

static void gda_dpa_serve_signals(void)
{
	static const int signals[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS,
	};
	struct sigaction sa = {
		.sa_sigaction = gda_dpa_serve_crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND,
	};
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	atexit(gda_dpa_serve_exit);
}

void gda_dpa_serve_thread(void)
{
	stack_t stack = { .ss_size = GDA_DPA_STACK };
	sigset_t set;

	if (!gda_dpa_serving.map.header)
		return;
	/* needed if the stack overflows; lives as long as the process */
	stack.ss_sp = malloc(stack.ss_size);
	if (stack.ss_sp)
		sigaltstack(&stack, NULL);
	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}

/* --- queues --- */

static void *gda_dpa_serve_map(struct gda_dpa_serve *s, const struct gda_dpa_part *part, int prot)
{
	struct gda_dpa_mapped *r = s->regions;
	uint32_t i;

	for (i = 0; i < s->nregions && r[i].cookie != part->cookie; i++)
		;
	if (i == GDA_DPA_REGIONS || part->offset >= part->length)
		return NULL;
	if (i == s->nregions) {
		r[i].addr = mmap(NULL, part->length, prot, MAP_SHARED, s->fd,
				 (off_t)part->cookie);
		if (r[i].addr == MAP_FAILED)
			return NULL;
		r[i].cookie = part->cookie;
		r[i].length = part->length;
		r[i].users = 0;
		s->nregions++;
	}
	r[i].users++;
	return (char *)r[i].addr + part->offset;
}

static void gda_dpa_serve_unmap(struct gda_dpa_serve *s, const struct gda_dpa_part *part)
{
	struct gda_dpa_mapped *r = s->regions;
	uint32_t i;

	for (i = 0; i < s->nregions && r[i].cookie != part->cookie; i++)
		;
	if (i == s->nregions || --r[i].users)
		return;
	munmap(r[i].addr, r[i].length);
	r[i] = r[--s->nregions];
}

static int gda_dpa_serve_view(struct gda_dpa_serve *s, const struct gda_dpa_queue *q,
			      struct gda_view **view)
{
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = q->depth, .qpn = q->qpn,
		.timeout_ns = q->timeout_ns,
		.sq = gda_dpa_serve_map(s, &q->sq, PROT_READ | PROT_WRITE),
		.dbrec = gda_dpa_serve_map(s, &q->dbrec, PROT_READ | PROT_WRITE),
		.db = gda_dpa_serve_map(s, &q->db, PROT_READ | PROT_WRITE),
		.cq = gda_dpa_serve_map(s, &q->cq, PROT_READ),
		.slots = calloc(q->depth, sizeof(uint32_t)),
	};
	struct gda_view *v = aligned_alloc(128, sizeof(*v));
	int err;

	if (!v || !attr.slots || !attr.sq || !attr.dbrec || !attr.db || !attr.cq)
		return -ENOMEM;
	err = gda_view_make(v, sizeof(*v), &attr);
	if (err)
		return err;
	v->can = q->can;
	v->abort = (uintptr_t)&s->map.header->stop;
	gda_view_yield(v, gda_crowded_by(s->map.threads + 1));
	*view = v;
	return 0;
}

/* --- answers --- */

static int gda_dpa_serve_load(struct gda_dpa_serve *s, struct gda_dpa_answer *a)
{
	const char *why;

	s->program = dlopen(s->hello.program, RTLD_NOW | RTLD_LOCAL);
	if (s->program)
		return 0;
	why = dlerror();
	snprintf(a->text, sizeof(a->text), "%s%s", why ? why : "the program cannot be loaded",
		 strchr(s->hello.program, '/') ? "" :
		 " (a name without a slash is a library's: give a path, as ./ and the name)");
	return -ENOEXEC;
}

/* Take the queue of one more thread. After the last one the pool starts. */
static int gda_dpa_serve_begin(struct gda_dpa_serve *s, const struct gda_dpa_queue *q,
			       struct gda_dpa_answer *a)
{
	int err;

	if (s->nviews >= s->map.threads)
		return -EPROTO;
	err = gda_dpa_serve_view(s, q, &s->views[s->nviews]);
	if (err || ++s->nviews < s->map.threads)
		return err;
	err = gda_dpa_serve_load(s, a);
	if (err)
		return err;
	gda_dpa_serve_signals();
	err = gda_dpa_pool_create(&s->map, s->views, &s->pool);
	if (err)
		return err;
	s->pool->foreign = true;
	s->pool->mr_iova = s->hello.mr_iova;
	s->pool->mr_key = s->hello.mr_key;
	return 0;
}

/* Is @task a variable of the right size? */
static bool gda_dpa_serve_variable(const struct gda_dpa_task *task)
{
	Dl_info info;
#ifdef RTLD_DL_SYMENT
	void *entry = NULL;
	const ElfW(Sym) *sym;

	if (!dladdr1(task, &info, &entry, RTLD_DL_SYMENT) || !entry)
		return false;
	sym = entry;
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_size == sizeof(*task);
#else
	/* musl reports that a symbol exists, and nothing more. */
	return dladdr(task, &info) && info.dli_saddr == (const void *)task;
#endif
}

/* Is @task defined by GDA_DPA_TASK(), and no function or other variable? */
static bool gda_dpa_serve_defined(const struct gda_dpa_task *task, const char *name)
{
	return gda_dpa_serve_variable(task) && task->size == sizeof(*task) && task->function &&
	       task->name && !strcmp(task->name, name);
}

static int gda_dpa_serve_task(struct gda_dpa_serve *s, const char *name,
			      struct gda_dpa_answer *a)
{
	const struct gda_dpa_task *task = dlsym(s->program, name);

	if (!task) {
		snprintf(a->text, sizeof(a->text), "the program has no task %s", name);
		return -ENOENT;
	}
	if (!gda_dpa_serve_defined(task, name)) {
		snprintf(a->text, sizeof(a->text), "%s is none that GDA_DPA_TASK() defined", name);
		return -EINVAL;
	}
	return gda_dpa_pool_task(s->pool, name, task->function, &a->number);
}

/* Free a handle that no task uses any more. */
static void gda_dpa_serve_drop(struct gda_dpa_serve *s, struct gda_dpa_served *h)
{
	gda_dpa_serve_unmap(s, &h->queue.sq);
	gda_dpa_serve_unmap(s, &h->queue.dbrec);
	gda_dpa_serve_unmap(s, &h->queue.db);
	gda_dpa_serve_unmap(s, &h->queue.cq);
	free(h->slots);
	free(h->view);
	*h = (struct gda_dpa_served) { 0 };
}

static int gda_dpa_serve_handle(struct gda_dpa_serve *s, const struct gda_dpa_ask *ask,
				struct gda_dpa_answer *a)
{
	struct gda_dpa_served h = { .queue = ask->queue };
	int err = gda_dpa_serve_view(s, &ask->queue, &h.view);

	if (err)
		return err;
	h.slots = (void *)(uintptr_t)h.view->slots;
	err = gda_dpa_pool_handle(s->pool, h.view, &ask->fetched, &a->number);
	if (err)
		gda_dpa_serve_drop(s, &h);
	else
		s->handles[a->number - 1] = h;
	return err;
}

static int gda_dpa_serve_handle_free(struct gda_dpa_serve *s, uint32_t number)
{
	if (!number || number > GDA_DPA_MAX_THREADS || !s->handles[number - 1].view)
		return -EINVAL;
	gda_dpa_pool_handle_free(s->pool, number);
	gda_dpa_serve_drop(s, &s->handles[number - 1]);
	return 0;
}

static int gda_dpa_serve_counter(struct gda_dpa_serve *s, const struct gda_dpa_part *part,
				 struct gda_dpa_answer *a)
{
	void *word = gda_dpa_serve_map(s, part, PROT_READ);

	return word ? gda_dpa_pool_counter(s->pool, word, &a->number) : -ENOMEM;
}

static int gda_dpa_serve_one(struct gda_dpa_serve *s, struct gda_dpa_ask *ask,
			     struct gda_dpa_answer *a)
{
	if (ask->question == GDA_DPA_ASK_BEGIN)
		return gda_dpa_serve_begin(s, &ask->queue, a);
	if (!s->pool)
		return -EPROTO;
	switch (ask->question) {
	case GDA_DPA_ASK_TASK:
		ask->name[sizeof(ask->name) - 1] = 0;
		return gda_dpa_serve_task(s, ask->name, a);
	case GDA_DPA_ASK_HANDLE:
		return gda_dpa_serve_handle(s, ask, a);
	case GDA_DPA_ASK_HANDLE_FREE:
		return gda_dpa_serve_handle_free(s, ask->number);
	case GDA_DPA_ASK_COUNTER:
		return gda_dpa_serve_counter(s, &ask->counter, a);
	default:
		return -EPROTO;
	}
}

static int gda_dpa_serve_hello(struct gda_dpa_serve *s)
{
	struct gda_dpa_hello *hello = &s->hello;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[2];

	if (recvmsg(s->socket, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*hello) ||
	    hello->magic != GDA_DPA_WIRE_MAGIC || hello->bytes != sizeof(*hello) ||
	    msg.msg_controllen < CMSG_LEN(sizeof(fds)) ||
	    control.head.cmsg_len != CMSG_LEN(sizeof(fds)) ||
	    hello->threads > GDA_DPA_MAX_THREADS)
		return -EPROTO;
	memcpy(fds, CMSG_DATA(&control.head), sizeof(fds));
	s->fd = fds[1];
	s->map.threads = hello->threads;
	s->map.events = hello->events;
	s->map.launches = hello->launches;
	s->map.lines = hello->lines;
	s->map.heap_bytes = hello->heap_bytes;
	s->map.spin_ns = hello->spin_ns;
	hello->program[sizeof(hello->program) - 1] = 0;
	gda_dpa_map_layout(&s->map);
	return gda_dpa_map_open(&s->map, fds[0]);
}

/*
 * Watch the program, too, because a child of it that was made by a bare clone(2) keeps its end of
 * the socket open. Return: 0, or -ESRCH if the program has ended already.
 */
static int gda_dpa_serve_watch(struct gda_dpa_serve *s)
{
	struct ucred program;
	socklen_t length = sizeof(program);

	s->parent = -1;
	if (getsockopt(s->socket, SOL_SOCKET, SO_PEERCRED, &program, &length))
		return 0;
	s->parent = (int)syscall(SYS_pidfd_open, program.pid, 0);
	/* the PID may already have been another process's */
	return program.pid == getppid() ? 0 : -ESRCH;
}

/*
 * Receive the next question. Return: false if the program has ended. This thread may run signal
 * handlers of tasks.
 */
static bool gda_dpa_serve_hear(const struct gda_dpa_serve *s, struct gda_dpa_ask *ask)
{
	struct pollfd p[2] = {
		{ .fd = s->socket, .events = POLLIN }, { .fd = s->parent, .events = POLLIN },
	};
	ssize_t n;

	for (;;) {
		n = poll(p, 2, -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || p[1].revents)
			return false;
		n = recv(s->socket, ask, sizeof(*ask), MSG_DONTWAIT);
		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return n == (ssize_t)sizeof(*ask);
	}
}

GDA_EXPORT int gda_dpa_serve(int socket)
{
	struct gda_dpa_serve *s = &gda_dpa_serving;
	struct gda_dpa_answer answer;
	struct gda_dpa_ask ask;

	s->socket = socket;
	if (gda_dpa_serve_watch(s) || gda_dpa_serve_hello(s))
		return 1;
	while (gda_dpa_serve_hear(s, &ask)) {
		memset(&answer, 0, sizeof(answer));
		answer.serial = ask.serial;
		answer.err = gda_dpa_serve_one(s, &ask, &answer);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	/* the context is gone, or has ended this process: do not wait for tasks */
	_exit(0);
}
