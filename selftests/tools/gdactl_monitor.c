// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * gdactl monitor, as it runs: a line for each thing that comes, goes or fails; how it ends; and
 * what it says where it cannot go on, or has missed some.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../kernel/causes.h"
#include "../kernel/gda_fixture.h"
#include "../kernel/move.h"
#include "../kernel/reload.h"

#define ROOM	(1U << 20)
#define LIMIT	(150 * T_NS)

/* One of the outputs of a program, as far as it was read. */
struct text {
	int fd;
	size_t len;
	char *s;
};

struct monitor {
	pid_t pid;
	struct text out, err;
};

static int start(struct monitor *m, bool json)
{
	int out[2], err[2];

	m->out = (struct text) { .s = calloc(1, ROOM) };
	m->err = (struct text) { .s = calloc(1, ROOM) };
	if (!m->out.s || !m->err.s || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	m->out.fd = out[0];
	m->err.fd = err[0];
	m->pid = fork();
	if (!m->pid) {
		dup2(out[1], 1);
		dup2(err[1], 2);
		execl("build/tools/gdactl", "gdactl", "monitor", json ? "--json" : NULL, NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	return m->pid < 0 ? -1 : 0;
}

/* Read what there is within @ms. Return: false at the end of the program's output. */
static bool text_read(struct text *t, int ms)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	ssize_t n = 1;

	if (poll(&p, 1, ms) > 0) {
		n = read(t->fd, t->s + t->len, ROOM - 1 - t->len);
		t->len += n > 0 ? (size_t)n : 0;
	}
	return n > 0;
}

/* Wait until @words are there, and the line is whole. */
static bool text_has(struct text *t, const char *words)
{
	uint64_t end = t_now() + LIMIT;
	bool more = true;

	for (;;) {
		const char *at = strstr(t->s, words);

		if (at && strchr(at, '\n'))
			return true;
		if (!more || t_now() > end)
			return false;
		more = text_read(t, 100);
	}
}

/* It listens as soon as a context is told. */
static bool listens(struct monitor *m)
{
	uint64_t end = t_now() + LIMIT;

	while (!strstr(m->out.s, "context-bound") && t_now() < end) {
		close(t_context());
		text_read(&m->out, 100);
	}
	return text_has(&m->out, "context-gone");
}

/* Wait for its end, reading all that it still says. */
static int ends(struct monitor *m)
{
	uint64_t end = t_now() + LIMIT;

	while (text_read(&m->out, 100) && t_now() < end)
		;
	while (text_read(&m->err, 100) && t_now() < end)
		;
	return t_reap(m->pid, LIMIT);
}

static void monitor_free(struct monitor *m)
{
	close(m->out.fd);
	close(m->err.fd);
	free(m->out.s);
	free(m->err.s);
}

static unsigned long lines(const char *s)
{
	unsigned long n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

/* Begins every line with @begin, and ends it with @end? 0: any. */
static bool all_lines(const char *s, char begin, char end)
{
	while (*s) {
		const char *nl = strchr(s, '\n');

		if (!nl || nl == s || (begin && *s != begin) || (end && nl[-1] != end))
			return false;
		s = nl + 1;
	}
	return true;
}

FIXTURE(monitor) {
	struct monitor m;
	struct t_failure f;
	struct t_nl nl;
	uint32_t id;		/* context of f.end[0]; that of f.end[1] is the next one */
	char words[256];
};

FIXTURE_VARIANT(monitor) {
	bool json;
	int signal;
	const char *bound, *gone, *connected, *failed, *revoked, *overflowed, *removed, *added;
};

#define TEXT	" device soft0"
#define FROM	TEXT " context %u pid %u uid 0"
#define FAILED	" class remote-access cause key error-index 2"

FIXTURE_VARIANT_ADD(monitor, text) {
	.signal = SIGINT,
	.bound = " context-bound" FROM "\n",
	.gone = " context-gone" FROM "\n",
	.connected = " qp-connected" FROM " handle %u qpn %#x peer-qpn %#x\n",
	.failed = " qp-failed" FROM " handle %u qpn %#x" FAILED "\n",
	.revoked = " mr-revoked" FROM " handle %u\n",
	.overflowed = " cq-overflowed" FROM " handle %u\n",
	.removed = " device-removed" TEXT "\n",
	.added = " device-added" TEXT "\n",
};

#define JSON	"\"device\":\"soft0\""
#define NUMBER	",\"handle\":%u,\"qpn\":%u"
#define WHY	",\"class\":\"remote-access\",\"cause\":\"key\",\"error-index\":2"
#define ORIGIN	JSON ",\"context\":%u,\"pid\":%u,\"uid\":0"

FIXTURE_VARIANT_ADD(monitor, json) {
	.json = true,
	.signal = SIGTERM,
	.bound = ",\"kind\":\"context-bound\"," ORIGIN "}\n",
	.gone = ",\"kind\":\"context-gone\"," ORIGIN "}\n",
	.connected = ",\"kind\":\"qp-connected\"," ORIGIN NUMBER ",\"peer-qpn\":%u}\n",
	.failed = ",\"kind\":\"qp-failed\"," ORIGIN NUMBER WHY "}\n",
	.revoked = ",\"kind\":\"mr-revoked\"," ORIGIN ",\"handle\":%u}\n",
	.overflowed = ",\"kind\":\"cq-overflowed\"," ORIGIN ",\"handle\":%u}\n",
	.removed = ",\"kind\":\"device-removed\"," JSON "}\n",
	.added = ",\"kind\":\"device-added\"," JSON "}\n",
};

T_SETUP(monitor)
{
	ASSERT_OK(start(&self->m, variant->json));
	ASSERT_TRUE(listens(&self->m)) TH_LOG("%s%s", self->m.out.s, self->m.err.s);
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_failure_open(&self->f));
	self->id = t_nl_my_context(&self->nl) - 1;
}

T_TEARDOWN(monitor)
{
	kill(self->m.pid, SIGKILL);
	monitor_free(&self->m);
	t_nl_close(&self->nl);
}

static bool says(FIXTURE_DATA(monitor) *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(self->words, sizeof(self->words), format, args);
	va_end(args);
	return text_has(&self->m.out, self->words);
}

#define EXPECT_LINE(...)	\
	EXPECT_TRUE(says(self, __VA_ARGS__)) TH_LOG("no %sin\n%s", self->words, self->m.out.s)

TEST_F_TIMEOUT(monitor, M_04_a_line_for_each, 600)
{
	const struct t_qp *qp = &self->f.end[0].qp, *peer = &self->f.end[1].qp;
	uint32_t id = self->id, pid = (uint32_t)getpid();
	struct gda_test_move move = { 0 };
	struct t_mr mr;

	EXPECT_LINE(variant->bound, id, pid);
	EXPECT_LINE(variant->bound, id + 1, pid);
	EXPECT_LINE(variant->connected, id, pid, qp->qpc.handle, qp->qpc.qpn, peer->qpc.qpn);
	ASSERT_OK(t_fail_remote_key(&self->f));
	EXPECT_LINE(variant->failed, id, pid, qp->qpc.handle, qp->qpc.qpn);
	ASSERT_OK(t_mr_reg_dmabuf(self->f.end[1].fd, self->f.buf, T_PAGE, &mr));
	ASSERT_OK(t_move(self->f.test, self->f.buf, 0, &move));
	EXPECT_LINE(variant->revoked, id + 1, pid, mr.handle);
	ASSERT_OK(t_fail_cq(&self->f));
	EXPECT_LINE(variant->overflowed, id, pid, self->f.own.cqc.handle);
	ASSERT_OK(t_fail_device(&self->f));
	EXPECT_LINE(variant->removed);
	ASSERT_OK(t_failure_close(&self->f));
	EXPECT_LINE(variant->gone, id, pid);
	EXPECT_LINE(variant->added);
	/* it ends well, and says how many lines there are, all of them whole */
	ASSERT_EQ(0, kill(self->m.pid, variant->signal));
	EXPECT_EQ(0, ends(&self->m));
	EXPECT_TRUE(all_lines(self->m.out.s, variant->json ? '{' : 0, variant->json ? '}' : 0));
	snprintf(self->words, sizeof(self->words), "gdactl: %lu events\n", lines(self->m.out.s));
	/* that of a loaded machine may know of older losses */
	EXPECT_STREQ(self->words, strstr(self->m.err.s, self->words) ?: self->m.err.s);
}

FIXTURE(end) {
	struct monitor m;
};

FIXTURE_SETUP(end)
{
	ASSERT_OK(start(&self->m, false));
	ASSERT_TRUE(listens(&self->m)) TH_LOG("%s%s", self->m.out.s, self->m.err.s);
}

FIXTURE_TEARDOWN(end)
{
	kill(self->m.pid, SIGKILL);
	monitor_free(&self->m);
}

TEST_F_TIMEOUT(end, M_04_module_goes, 600)
{
	struct t_modules modules;

	if (t_modules_begin(&modules))
		SKIP(return, "no modules at %s", modules.path[T_CORE]);
	EXPECT_OK(t_reload(&modules, ""));
	EXPECT_OK(t_modules_end(&modules));
	EXPECT_EQ(1, ends(&self->m));
	EXPECT_NE(NULL, strstr(self->m.err.s, "gda_core was unloaded: load it"))
		TH_LOG("%s", self->m.err.s);
}

/* Messages for which the socket of @pid, which is in the low bits of its port, had no room. */
static unsigned int dropped(pid_t pid)
{
	unsigned int protocol, port, drops = 0, n;
	char line[256];
	FILE *f = fopen("/proc/net/netlink", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %u %u %*s %*s %*s %*s %*s %u", &protocol, &port, &n) == 3 &&
		    protocol == 16 && (port & 0x3fffff) == (unsigned int)pid)
			drops += n;
	if (f)
		fclose(f);
	return drops;
}

#define KEPT	50U	/* fewer than any socket holds */

/* It stands still, and more happens than its socket holds. */
TEST_F_TIMEOUT(end, M_04_says_what_it_missed, 600)
{
	uint64_t end = t_now() + LIMIT;
	unsigned long made = 0;

	ASSERT_EQ(0, kill(self->m.pid, SIGSTOP));
	while (!dropped(self->m.pid) && t_now() < end) {
		close(t_context());
		made++;
	}
	EXPECT_NE(0, dropped(self->m.pid)) TH_LOG("none of %lu contexts was lost", made);
	ASSERT_EQ(0, kill(self->m.pid, SIGCONT));
	/* what was kept is read, too */
	while ((!strstr(self->m.err.s, "not read in time") || lines(self->m.out.s) < KEPT) &&
	       t_now() < end + LIMIT) {
		text_read(&self->m.out, 10);
		text_read(&self->m.err, 10);
	}
	EXPECT_LE(KEPT, lines(self->m.out.s));
	EXPECT_TRUE(text_has(&self->m.err, "show the state"));
	ASSERT_EQ(0, kill(self->m.pid, SIGINT));
	EXPECT_EQ(0, ends(&self->m));
	EXPECT_TRUE(all_lines(self->m.out.s, 0, 0));
	EXPECT_NE(NULL, strstr(self->m.err.s, " events, and more that were lost\n"))
		TH_LOG("%s", self->m.err.s);
	TH_LOG("%lu lines of %lu contexts", lines(self->m.out.s), made);
}

TEST_HARNESS_MAIN
