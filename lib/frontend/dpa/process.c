// SPDX-License-Identifier: MIT
/*
 * Tasks in a process of their own, seen from the context: start it, ask it, end it. The same
 * requests also work for a pool in this process, so that the rest does not need to know where tasks
 * run.
 *
 * The process is gda-dpa (path.c). It gets only the context's memory and the descriptor of the
 * device context, ends when its socket is closed, and is killed at destruction. It is a child of
 * this process and is waited for by its PID.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "dpa_internal.h"
#include "wire.h"

extern char **environ;

/* --- questions --- */

/* The first questions, one for each thread, come from gda_dpa_create(): there is no context yet. */
static int gda_dpa_process_gone(const struct gda_dpa *dpa, int err)
{
	const char *what = err == -ETIMEDOUT ? "does not answer" : "has ended";
	char path[PATH_MAX];

	if (dpa->serial > dpa->map.threads || gda_dpa_path(path))
		return gda_because(err, "gda-dpa %s: destroy the context", what);
	return gda_because(err,
			   "gda-dpa %s as it began: does \"%s --version\" run? Or it is a constructor of the program",
			   what, path);
}

static int gda_dpa_process_receive(struct gda_dpa *dpa, struct gda_dpa_answer *answer)
{
	uint64_t deadline = gda_clock_ns() + GDA_DPA_WIRE_NS, now;
	struct pollfd p = { .fd = dpa->socket, .events = POLLIN };
	ssize_t n;

	for (;;) {
		now = gda_clock_ns();
		if (now >= deadline)
			return gda_dpa_process_gone(dpa, -ETIMEDOUT);
		if (poll(&p, 1, (int)((deadline - now) / 1000000) + 1) <= 0)
			continue;
		n = recv(dpa->socket, answer, sizeof(*answer), MSG_DONTWAIT);
		if (n == (ssize_t)sizeof(*answer) && answer->serial == dpa->serial)
			return 0;
		/* it answers a question that is no longer waited for */
		if (n == (ssize_t)sizeof(*answer))
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		return gda_dpa_process_gone(dpa, -ENOTRECOVERABLE);
	}
}

/* Ask a question, under dpa->lock. @number: receives the answer's number, or NULL. */
static int gda_dpa_process_ask(struct gda_dpa *dpa, struct gda_dpa_ask *ask, uint32_t *number)
{
	struct gda_dpa_answer answer;
	int err;

	ask->serial = ++dpa->serial;
	if (send(dpa->socket, ask, sizeof(*ask), MSG_NOSIGNAL) != (ssize_t)sizeof(*ask))
		return gda_dpa_process_gone(dpa, -ENOTRECOVERABLE);
	err = gda_dpa_process_receive(dpa, &answer);
	if (err)
		return err;
	answer.text[sizeof(answer.text) - 1] = 0;
	if (answer.err > 0 || answer.err < -4095)
		return gda_because(-EPROTO,
				   "gda-dpa gives an unknown answer: install gda-dpa and libgda of one version");
	if (answer.err && answer.text[0])
		gda_because(answer.err, "%s", answer.text);
	if (!answer.err && number)
		*number = answer.number;
	return answer.err;
}

static struct gda_dpa_part gda_dpa_part_of(const struct gda_region *r, uint64_t at)
{
	struct gda_dpa_part p = {
		.cookie = r->cookie, .length = r->length, .offset = at - (uintptr_t)r->addr,
	};

	return p;
}

static void gda_dpa_queue_of(const struct gda_qp *qp, struct gda_dpa_queue *q)
{
	const struct gda_view *v = &qp->view;

	q->sq = gda_dpa_part_of(qp->sq, v->sq);
	q->dbrec = gda_dpa_part_of(qp->dbrec, v->dbrec);
	q->db = gda_dpa_part_of(qp->db, v->db);
	q->cq = gda_dpa_part_of(qp->cq->region, v->cq);
	q->timeout_ns = v->timeout_ns;
	q->depth = v->mask + 1;
	q->qpn = v->qpn;
	q->can = v->can;
}

int gda_dpa_number_task(struct gda_dpa *dpa, const struct gda_dpa_task *task, uint32_t *number)
{
	gda_dpa_function *function = dpa->pid ? NULL : task->function;
	struct gda_dpa_ask ask = { .question = GDA_DPA_ASK_TASK };
	size_t length = strnlen(task->name, sizeof(ask.name));
	int err;

	if (length == sizeof(ask.name))
		return gda_because(-EINVAL,
				   "the name of the task is too long: the most is %zu bytes",
				   sizeof(ask.name) - 1);
	memcpy(ask.name, task->name, length);
	*number = gda_dpa_known_find(dpa->tasks, dpa->ntasks, ask.name, function);
	if (*number < dpa->ntasks)
		return 0;
	if (dpa->ntasks == GDA_DPA_TASKS_MAX)
		return gda_because(-ENOSPC,
				   "more than %u different tasks: create another context for the rest",
				   GDA_DPA_TASKS_MAX);
	err = dpa->pid ? gda_dpa_process_ask(dpa, &ask, number) :
			 gda_dpa_pool_task(dpa->pool, ask.name, function, number);
	if (err)
		return err;
	/* both sides count tasks in the order of these questions */
	if (*number != dpa->ntasks)
		return gda_because(-EPROTO,
				   "gda-dpa numbers tasks in another way: install gda-dpa and libgda of one version");
	dpa->tasks[*number].function = function;
	memcpy(dpa->tasks[*number].name, ask.name, sizeof(ask.name));
	__atomic_store_n(&dpa->ntasks, *number + 1, __ATOMIC_RELEASE);
	return 0;
}

int gda_dpa_number_counter(struct gda_dpa *dpa, struct gda_counter *count, uint32_t *source)
{
	const struct gda_counter_mem *mem = gda_counter_memory(count);
	struct gda_dpa_ask ask = { .question = GDA_DPA_ASK_COUNTER };
	int err;

	ask.counter = gda_dpa_part_of(count->region, (uintptr_t)&mem->value);
	err = dpa->pid ? gda_dpa_process_ask(dpa, &ask, source) :
		gda_dpa_pool_counter(dpa->pool, (const uint64_t *)&mem->value, source);
	if (err == -ENOSPC)
		gda_because(err,
			    "more than %u different counters: count several queues by one counter, or create another context for the rest",
			    GDA_DPA_COUNTERS);
	return err;
}

int gda_dpa_number_handle(struct gda_dpa *dpa, const struct gda_dpa_rdma *r, uint32_t *number)
{
	struct gda_dpa_ask ask = { .question = GDA_DPA_ASK_HANDLE, .fetched = r->fetched };
	int err;

	if (!dpa->pid)
		return gda_dpa_pool_handle(dpa->pool, &r->qp->view, &r->fetched, number);
	gda_dpa_queue_of(r->qp, &ask.queue);
	pthread_mutex_lock(&dpa->lock);
	err = gda_dpa_process_ask(dpa, &ask, number);
	pthread_mutex_unlock(&dpa->lock);
	return err;
}

void gda_dpa_drop_handle(struct gda_dpa *dpa, uint32_t number)
{
	struct gda_dpa_ask ask = { .question = GDA_DPA_ASK_HANDLE_FREE, .number = number };

	if (dpa->pool) {
		gda_dpa_pool_handle_free(dpa->pool, number);
	} else if (dpa->pid && dpa->socket >= 0) {
		pthread_mutex_lock(&dpa->lock);
		gda_dpa_process_ask(dpa, &ask, NULL);
		pthread_mutex_unlock(&dpa->lock);
	}
}

/* --- start --- */

static int gda_dpa_process_spawn(struct gda_dpa *dpa, const char *path, int theirs)
{
	char name[] = "gda-dpa", *argv[] = { name, NULL };
	posix_spawn_file_actions_t actions;
	char **env = gda_dpa_path_environ(environ);
	posix_spawnattr_t attr;
	sigset_t set;
	int err;

	if (!env)
		return -ENOMEM;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
				 POSIX_SPAWN_SETPGROUP);
	err = posix_spawn_file_actions_adddup2(&actions, theirs, GDA_DPA_WIRE_FD);
	if (!err)
		err = posix_spawn(&dpa->pid, path, &actions, &attr, argv, env);
	free(env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (err) {
		dpa->pid = 0;
		return gda_because(-err, "%s: %s: install gda-dpa there, or set GDA_DPA to its path", path, strerror(err));
	}
	gda_fd_lock();
	dpa->pidfd = gda_fd_list((int)syscall(SYS_pidfd_open, dpa->pid, 0));
	gda_fd_unlock();
	return dpa->pidfd < 0 ? gda_because(-errno,
					    "cannot watch gda-dpa: pidfd_open(2): %s: raise RLIMIT_NOFILE, ulimit -n",
					    strerror(errno)) : 0;
}

static int gda_dpa_process_hello(struct gda_dpa *dpa, const char *program)
{
	const struct gda_dpa_map *m = &dpa->map;
	struct gda_dpa_hello hello = {
		.magic = GDA_DPA_WIRE_MAGIC, .bytes = sizeof(hello), .threads = m->threads,
		.events = m->events, .launches = m->launches, .lines = m->lines,
		.heap_bytes = m->heap_bytes, .spin_ns = m->spin_ns,
		.mr_iova = gda_mr_iova(dpa->mr), .mr_key = gda_mr_key(dpa->mr),
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = {
		.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec iov = { .iov_base = &hello, .iov_len = sizeof(hello) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[2] = { dpa->fd, gda_context_fd(dpa->ctx) };

	if (strlen(program) >= sizeof(hello.program))
		return gda_because(-EINVAL,
				   "the path of the program is too long: install it at a shorter one");
	memcpy(hello.program, program, strlen(program) + 1);
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(dpa->socket, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 0 :
	       gda_dpa_process_gone(dpa, -ENOTRECOVERABLE);
}

/* Send the queue of each thread, then receive the answer for all. */
static int gda_dpa_process_begin(struct gda_dpa *dpa)
{
	struct gda_dpa_ask ask = { .question = GDA_DPA_ASK_BEGIN };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < dpa->map.threads; i++) {
		gda_dpa_queue_of(dpa->qps[i], &ask.queue);
		err = gda_dpa_process_ask(dpa, &ask, NULL);
	}
	return err;
}

int gda_dpa_process_create(struct gda_dpa *dpa, const char *program)
{
	char path[PATH_MAX];
	int pair[2];
	int err = gda_dpa_path(path);

	if (err)
		return err;
	/*
	 * a child of fork(2) that kept either end would hide the death of the process at the other
	 */
	gda_fd_lock();
	err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
	dpa->socket = err ? -1 : gda_fd_list(pair[0]);
	if (!err && gda_fd_list(pair[1]) < 0)
		err = -errno;
	gda_fd_unlock();
	if (err)
		return err;
	if (dpa->socket < 0)
		err = -ENOMEM;
	if (!err)
		err = gda_dpa_process_spawn(dpa, path, pair[1]);
	gda_fd_close(pair[1]);
	if (!err)
		err = gda_dpa_process_hello(dpa, program);
	return err ? err : gda_dpa_process_begin(dpa);
}

/* --- end --- */

void gda_dpa_process_kill(struct gda_dpa *dpa)
{
	if (!dpa->pid || dpa->reaped)
		return;
	/* if the program has waited for all of its children, the PID may be another process */
	if (dpa->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, dpa->pidfd, SIGKILL, NULL, 0);
	else
		kill(dpa->pid, SIGKILL);
}

int gda_dpa_process_reap(struct gda_dpa *dpa, bool wait)
{
	int status = 0;
	pid_t pid;

	if (!dpa->pid || dpa->reaped)
		return -1;
	do {
		pid = waitpid(dpa->pid, &status, wait ? 0 : WNOHANG);
	} while (pid < 0 && errno == EINTR);
	/* the program has waited for all of its children: the status is unknown */
	if (!pid)
		return -1;
	dpa->reaped = true;
	return pid < 0 ? 0 : status;
}

/* Is any task running, according to the slots? */
static bool gda_dpa_process_runs(const struct gda_dpa *dpa)
{
	uint32_t i;

	for (i = 0; i < dpa->map.threads; i++)
		if (__atomic_load_n(&dpa->map.slots[i].started_ns, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

void gda_dpa_process_stop(struct gda_dpa *dpa, uint64_t deadline)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	__atomic_store_n(&dpa->map.header->stop, 1, __ATOMIC_SEQ_CST);
	gda_dpa_bell_all(&dpa->map);
	while (gda_dpa_process_runs(dpa) && gda_clock_ns() < deadline &&
	       !__atomic_load_n(&dpa->map.header->fatal, __ATOMIC_ACQUIRE))
		nanosleep(&ms, NULL);
}

void gda_dpa_process_destroy(struct gda_dpa *dpa)
{
	gda_dpa_process_kill(dpa);
	gda_dpa_process_reap(dpa, true);
	if (dpa->pidfd >= 0)
		gda_fd_close(dpa->pidfd);
	if (dpa->socket >= 0)
		gda_fd_close(dpa->socket);
	dpa->socket = -1;
	dpa->pidfd = -1;
	dpa->pid = 0;
}
