// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Time, processes and figures of the kernel, for the kernel selftests. */
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include "gda_test.h"
#include "nl.h"

uint64_t t_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * T_NS + (uint64_t)ts.tv_nsec;
}

void t_sleep_ns(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / T_NS),
		.tv_nsec = (long)(ns % T_NS),
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

uint64_t t_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t t_seed(void)
{
	const char *s = getenv("GDA_SEED");

	return s ? strtoull(s, NULL, 0) : t_now();
}

unsigned long t_stress(unsigned long n)
{
	const char *s = getenv("GDA_STRESS");
	double by = s ? strtod(s, NULL) : 1;

	return n * by < 1 ? 1 : (unsigned long)(n * by);
}

unsigned long t_longer(unsigned long n)
{
	unsigned long stressed = t_stress(n);

	return stressed < n ? n : stressed;
}

bool t_more(uint64_t i, uint64_t n, bool hit, uint64_t *late)
{
	if (i < n)
		return true;
	if (!*late)
		*late = t_now() + 2 * T_WAIT_NS;
	return !hit && t_now() < *late;
}

unsigned long t_rounds(unsigned long n)
{
	unsigned long stressed = t_stress(n);

	return stressed < n ? t_stress(n < 500 ? n : 500) : stressed;
}

unsigned long t_soaked(unsigned long n, unsigned long full)
{
	unsigned long stressed = t_stress(full);

	return stressed > full ? stressed : t_rounds(n);
}

unsigned long t_short(unsigned long n, unsigned long full)
{
	unsigned long stressed = t_stress(full);

	return stressed > full || stressed < n ? stressed : n;
}

static int t_by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void t_sort(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), t_by_number);
}

bool t_all(const void *p, uint8_t value, size_t len)
{
	const uint8_t *b = p;

	return !len || (b[0] == value && !memcmp(b, b + 1, len - 1));
}

int t_reap(pid_t pid, uint64_t ns)
{
	uint64_t end = t_now() + ns;
	int status;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (t_now() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -ETIMEDOUT;
		}
		t_sleep_ns(500000);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int t_in_child(int (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg));
	}
	return t_reap(pid, t_longer(60) * T_NS);
}

int t_drop(bool in_group)
{
	gid_t group = T_GROUP;

	if (setgroups(in_group ? 1 : 0, &group) ||
	    setresgid(T_NOBODY, T_NOBODY, T_NOBODY) ||
	    setresuid(T_NOBODY, T_NOBODY, T_NOBODY))
		return -errno;
	/* Changing the user id made the process undumpable: /proc/self is root's. */
	if (prctl(PR_SET_DUMPABLE, 1))
		return -errno;
	return 0;
}

int t_send_fd(int sock, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = { .buf = { 0 } };
	char byte = 'f';
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.buf, .msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

int t_recv_fd(int sock)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = { .buf = { 0 } };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = u.buf, .msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &msg, 0) != 1)
		return -EIO;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -EBADMSG;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static sigjmp_buf t_jump;

static void t_caught(int sig)
{
	siglongjmp(t_jump, sig);
}

static int t_touch(volatile uint8_t *p, bool store)
{
	struct sigaction act = { .sa_handler = t_caught }, segv, bus;
	int sig;

	sigemptyset(&act.sa_mask);
	sigaction(SIGSEGV, &act, &segv);
	sigaction(SIGBUS, &act, &bus);
	sig = sigsetjmp(t_jump, 1);
	if (!sig) {
		uint8_t byte = *p;

		if (store)
			*p = byte;
	}
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGBUS, &bus, NULL);
	return sig;
}

int t_touch_read(const volatile void *p)
{
	return t_touch((volatile uint8_t *)(uintptr_t)p, false);
}

int t_touch_write(volatile void *p)
{
	return t_touch(p, true);
}

int t_kernel(void)
{
	struct utsname un;
	int major = 0, minor = 0;

	if (uname(&un) || sscanf(un.release, "%d.%d", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

long t_proc_value(const char *path, const char *key)
{
	size_t len = strlen(key);
	long value = -ENOENT;
	char line[256];
	FILE *f = fopen(path, "re");

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, len) || !strchr(": \t", line[len]))
			continue;
		value = strtol(line + len + strspn(line + len, ": \t"), NULL, 10);
		break;
	}
	fclose(f);
	return value;
}

int t_write_file(const char *dir, const char *file, const char *value)
{
	char path[160];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

int t_module_insert(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return err;
}

int t_module_insert_built(const char *folder, const char *name)
{
	struct utsname un;
	char path[512];

	uname(&un);
	snprintf(path, sizeof(path), "build/%s/%s/%s/%s.ko", un.release, folder, name, name);
	return t_module_insert(path, "");
}

int t_module_remove(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

int t_soft0(const char *what)
{
	return t_write_file("/sys/bus/platform/drivers/gda_soft", what, "gda_soft");
}

int t_objects_read(struct t_objects *o)
{
	static const uint8_t attrs[T_OBJECTS] = {
		[T_CONTEXTS] = GDA_A_STATS_CONTEXTS, [T_QPS] = GDA_A_STATS_QPS,
		[T_CQS] = GDA_A_STATS_CQS, [T_COUNTERS] = GDA_A_STATS_COUNTERS,
		[T_MRS] = GDA_A_STATS_MRS, [T_REGIONS] = GDA_A_STATS_REGIONS,
		[T_PAGES] = GDA_A_STATS_PAGES, [T_KEYS] = GDA_A_STATS_KEYS,
	};
	struct t_nl_msg msg;
	struct t_nl nl;
	int err = t_nl_open(&nl);

	if (err)
		return err;
	err = t_nl_get(&nl, GDA_CMD_STATS_GET, 0, 0, &msg);
	for (int i = 0; !err && i < T_OBJECTS; i++)
		o->n[i] = (long)t_nl_u64(&msg, attrs[i]);
	t_nl_close(&nl);
	if (err)
		return err;
	o->pinned_kb = t_proc_value("/proc/self/status", "VmPin");
	return o->pinned_kb < 0 ? (int)o->pinned_kb : 0;
}

int t_objects_settle(const struct t_objects *base, struct t_objects *now)
{
	uint64_t end = t_now() + T_WAIT_NS;
	int err;

	for (;;) {
		err = t_objects_read(now);
		if (err)
			return err;
		if (!memcmp(base, now, sizeof(*now)))
			return 0;
		if (t_now() > end)
			return -ESTALE;
		t_sleep_ns(5000000);
	}
}

uint64_t t_nl_context(struct t_nl *nl, uint32_t context, int attr)
{
	struct t_nl_msg msg;

	if (t_nl_get(nl, GDA_CMD_CONTEXT_GET, context, 0, &msg))
		return UINT64_MAX;
	return t_nl_u64(&msg, attr) ? t_nl_u64(&msg, attr) : t_nl_u32(&msg, attr);
}

bool t_nl_asleep(struct t_nl *nl, uint32_t context)
{
	uint64_t end = t_now() + T_WAIT_NS;
	struct t_nl_msg msg;

	do {
		t_sleep_ns(500000);
		if (t_nl_get(nl, GDA_CMD_CONTEXT_GET, context, 0, &msg))
			return false;
		if (t_nl_u32(&msg, GDA_A_CONTEXT_WORKER_STATE) == GDA_WORKER_STATE_ASLEEP &&
		    !msg.attr[GDA_A_CONTEXT_WORKER_RUNNABLE])
			return true;
	} while (t_now() < end);
	return false;
}
