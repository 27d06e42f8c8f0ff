// SPDX-License-Identifier: MIT
/*
 * gdactl why: for each QP with unfinished work, what is unfinished and since when, the cause in one
 * line, and the records around it. If no QP has any, a process probably waits for a peer: then, for
 * each QP, the processes at its two ends and whether they run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/ioctl.h>
#include <gda/cause.h>
#include <gda/gda.h>
#include "ctl.h"

#define IDLE_QPS	16U		/* most QPs that are listed when no work is unfinished */
#define STARVED_NS	100000000ULL	/* a running worker begins a pass more often than this */

/* All that is known of one QP, its context and its CQ. */
struct facts {
	uint32_t context, handle, qpn, state, cq, in_flight, written;
	uint32_t peer_qpn, peer_pid, pid, recv_cq;
	uint32_t cls, cause;
	uint64_t producer, consumer, rung, flushed, error_index, last_progress;
	bool runnable, dead, cq_failed, cq_armed;
	uint32_t worker;
	uint64_t last_pass;
	char device[64];
};

/* The QPs to examine. */
struct list {
	uint32_t pid, qpn;
	bool by_pid, by_qpn;
	uint32_t *contexts;		/* of @pid */
	size_t ncontexts;
	uint32_t (*qps)[2];		/* context, handle */
	size_t n;
};

static void note_qp_facts(void *arg, struct nlattr *const *a)
{
	struct facts *f = arg;

	f->qpn = (uint32_t)ctl_number(a[GDA_A_QP_QPN]);
	f->state = (uint32_t)ctl_number(a[GDA_A_QP_STATE]);
	f->cq = (uint32_t)ctl_number(a[GDA_A_QP_CQ]);
	f->recv_cq = (uint32_t)ctl_number(a[GDA_A_QP_RECV_CQ]);
	f->in_flight = (uint32_t)ctl_number(a[GDA_A_QP_IN_FLIGHT]);
	f->written = (uint32_t)ctl_number(a[GDA_A_QP_WRITTEN]);
	f->peer_qpn = (uint32_t)ctl_number(a[GDA_A_QP_PEER_QPN]);
	f->peer_pid = (uint32_t)ctl_number(a[GDA_A_QP_PEER_PID]);
	f->cls = (uint32_t)ctl_number(a[GDA_A_QP_CLASS]);
	f->cause = (uint32_t)ctl_number(a[GDA_A_QP_CAUSE]);
	f->producer = ctl_number(a[GDA_A_QP_PRODUCER]);
	f->consumer = ctl_number(a[GDA_A_QP_CONSUMER]);
	f->rung = ctl_number(a[GDA_A_QP_RUNG]);
	f->flushed = ctl_number(a[GDA_A_QP_FLUSHED]);
	f->error_index = ctl_number(a[GDA_A_QP_ERROR_INDEX]);
	f->last_progress = ctl_number(a[GDA_A_QP_LAST_PROGRESS]);
}

static void note_context_facts(void *arg, struct nlattr *const *a)
{
	struct facts *f = arg;

	f->runnable = a[GDA_A_CONTEXT_WORKER_RUNNABLE];
	f->dead = a[GDA_A_CONTEXT_DEAD];
	f->pid = (uint32_t)ctl_number(a[GDA_A_CONTEXT_PID]);
	f->worker = (uint32_t)ctl_number(a[GDA_A_CONTEXT_WORKER_STATE]);
	f->last_pass = ctl_number(a[GDA_A_CONTEXT_WORKER_LAST_PASS]);
	if (a[GDA_A_CONTEXT_DEVICE])
		snprintf(f->device, sizeof(f->device), "%s",
			 nla_get_string(a[GDA_A_CONTEXT_DEVICE]));
}

static void note_cq_facts(void *arg, struct nlattr *const *a)
{
	struct facts *f = arg;

	f->cq_failed |= !!a[GDA_A_CQ_FAILED];
	f->cq_armed |= !!a[GDA_A_CQ_ARMED];
}

static uint64_t since(uint64_t ns)
{
	uint64_t now = ctl_now_ns();

	return now > ns ? now - ns : 0;
}

static bool owes(const struct facts *f)
{
	return f->rung != f->consumer || f->written || f->state == GDA_QP_ERROR ||
	       f->state == GDA_QP_WAIT;
}

/*
 * For a QP on an RDMA device, whose port 1 GDA uses: the state of that port in sysfs if it is not
 * active; or nothing.
 */
static const char *port_down(const struct facts *f, char *text, size_t room)
{
	static const char prefix[] = "ib:";
	char path[160], state[32] = "";
	FILE *file;

	text[0] = 0;
	if (strncmp(f->device, prefix, sizeof(prefix) - 1))
		return text;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/state",
		 f->device + sizeof(prefix) - 1);
	file = fopen(path, "re");
	if (!file)
		return text;
	if (fgets(state, sizeof(state), file) && !strstr(state, "ACTIVE"))
		snprintf(text, room, "; port 1 of %s is down", f->device + sizeof(prefix) - 1);
	fclose(file);
	return text;
}

static void explain_failed(const struct facts *f, char *text, size_t room)
{
	bool wire = f->cls == GDA_CLASS_RETRY || f->cause == GDA_CAUSE_FABRIC;
	const char *what = gda_vendor_name(f->cause), *begin = "";
	char port[128];

	if (f->cause == GDA_CAUSE_CQ)
		what = "its CQ overflowed: take entries faster, or create a deeper CQ";
	else if (f->cause == GDA_CAUSE_PEER)
		what = "its peer is gone";
	else if (f->cause == GDA_CAUSE_DEVICE)
		what = "its device was taken away";
	else
		begin = "failed: ";
	snprintf(text, room, "%s%s (%s/%s, at slot %" PRIu64 "; %" PRIu64 " flushed since)%s",
		 begin, what, ctl_class_name(f->cls), ctl_cause_name(f->cause), f->error_index,
		 f->flushed, wire ? port_down(f, port, sizeof(port)) : "");
}

static void explain_unconnected(const struct facts *f, char *text, size_t room)
{
	if (!f->peer_qpn)
		snprintf(text, room, "not connected, and no peer was named");
	else if (f->peer_pid)
		snprintf(text, room, "not connected: waits for QP %#x of pid %u to name it",
			 f->peer_qpn, f->peer_pid);
	else
		snprintf(text, room, "not connected: waits for QP %#x to name it", f->peer_qpn);
}

/* Work was rung for. */
static void explain_rung(const struct facts *f, char *text, size_t room)
{
	uint64_t pass = since(f->last_pass);
	char port[128];

	if (f->runnable && pass > STARVED_NS)
		snprintf(text, room, "rung, but the worker has had no processor for %" PRIu64
			 " ms (is there a CPU limit, cpu.max?)", pass / 1000000);
	else if (f->in_flight && f->worker != GDA_WORKER_STATE_POLLING)
		snprintf(text, room, "%u in flight on the wire for %" PRIu64 " ms%s", f->in_flight,
			 since(f->last_progress) / 1000000,
			 port_down(f, port, sizeof(port))[0] ? port :
			 ": no answer from the peer");
	else if (f->rung != f->producer)
		snprintf(text, room, "rung, and not fetched yet");
	else
		snprintf(text, room, "is being executed, %u in flight", f->in_flight);
}

static void explain(const struct facts *f, char *text, size_t room)
{
	if (f->state == GDA_QP_ERROR)
		explain_failed(f, text, room);
	else if (f->state != GDA_QP_READY)
		explain_unconnected(f, text, room);
	else if (f->cq_failed)
		snprintf(text, room, "its CQ overflowed");
	else if (f->rung != f->consumer)
		explain_rung(f, text, room);
	else if (f->written)
		snprintf(text, room, "%u entries were written, but never rung for", f->written);
	else
		snprintf(text, room, "nothing outstanding at all");
}

/* Only a query of one QP, and no dump, returns the entries that are written and not rung. */
static int gather_qp(struct ctl_link *link, struct facts *f)
{
	const struct ctl_value qp[2] = { { GDA_A_QP_CONTEXT, f->context },
					 { GDA_A_QP_HANDLE, f->handle } };

	return ctl_do(link, GDA_CMD_QP_GET, qp, 2, note_qp_facts, f);
}

static int gather_rest(struct ctl_link *link, struct facts *f)
{
	const struct ctl_value context = { GDA_A_CONTEXT_ID, f->context };
	struct ctl_value cq[2] = { { GDA_A_CQ_CONTEXT, f->context }, { GDA_A_CQ_HANDLE, f->cq } };

	if (ctl_do(link, GDA_CMD_CONTEXT_GET, &context, 1, note_context_facts, f))
		return -1;
	if (ctl_do(link, GDA_CMD_CQ_GET, cq, 2, note_cq_facts, f))
		return -1;
	cq[1].value = f->recv_cq;
	return !f->recv_cq || f->recv_cq == f->cq ? 0 :
	       ctl_do(link, GDA_CMD_CQ_GET, cq, 2, note_cq_facts, f);
}

/*
 * A QP without unfinished work: show who is at its two ends. The kernel cannot see polling, which
 * only loads from memory; it knows whether an event is armed, and whether a process sleeps or is
 * stopped.
 */
static void say_idle(const struct facts *f)
{
	char own[160], peer[160];

	ctl_process_words(f->pid, own, sizeof(own));
	ctl_process_words(f->peer_pid, peer, sizeof(peer));
	printf("qp %#x (context %u, handle %u): nothing owed, ", f->qpn, f->context, f->handle);
	if (f->last_progress)
		printf("last progress %" PRIu64 ".%" PRIu64 " s ago\n",
		       since(f->last_progress) / 1000000000,
		       since(f->last_progress) / 100000000 % 10);
	else
		puts("and nothing was ever posted");
	printf("    its %s%s\n", own,
	       f->cq_armed ? "; its CQ is armed, so it may sleep until the next entry" : "");
	printf("    peer qp %#x: %s\n", f->peer_qpn, peer);
}

/* Of those @l names. */
static void say_all_idle(struct ctl_link *link, const struct list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct facts f = { .context = l->qps[i][0], .handle = l->qps[i][1] };

		if (gather_qp(link, &f) || owes(&f) || f.state != GDA_QP_READY)
			continue;
		if (n < IDLE_QPS && !gather_rest(link, &f))
			say_idle(&f);
		n++;
	}
	if (n > IDLE_QPS)
		printf("and %zu more QPs that owe nothing: gdactl why pid PID, gdactl qp\n",
		       n - IDLE_QPS);
	if (n)
		puts("All posted work is done: a process that still waits, waits for a word or an entry that a peer is to send.");
}

/* List processes without a queue here that may be the cause. */
static void say_mapped(void)
{
	size_t n = ctl_process_mapped(IDLE_QPS);

	if (n > IDLE_QPS)
		printf("by mapped memory: and %zu more\n", n - IDLE_QPS);
	if (n)
		puts("Processes that move bytes by mapped memory have no queue, so gdactl does not see what they wait for: gda-run -t S says where ranks stand, gdb -p PID -batch -ex 'thread apply all bt' where in the program.");
	else
		puts("Not seen here: device inproc, and processes of other users that move bytes by mapped memory (as root they are).");
}

static int say(struct ctl_link *link, const struct facts *f, bool json, size_t *n)
{
	char text[256];

	explain(f, text, sizeof(text));
	if (json) {
		printf("%s\n {\"context\":%u,\"handle\":%u,\"qpn\":%u,\"owes\":%" PRIu64
		       ",\"written\":%u,\"since\":%" PRIu64 ",\"why\":\"%s\"}", *n ? "," : "[",
		       f->context, f->handle, f->qpn, f->rung - f->consumer, f->written,
		       f->last_progress, text);
		(*n)++;
		return 0;
	}
	printf("qp %#x (context %u, handle %u) owes %" PRIu64 " slots", f->qpn, f->context,
	       f->handle, f->rung - f->consumer);
	if (f->last_progress)
		printf(", progress %" PRIu64 " ms ago", since(f->last_progress) / 1000000);
	printf(": %s\n", text);
	if (f->state == GDA_QP_READY && !owes(f))
		say_idle(f);
	(*n)++;
	return ctl_record_around(link, f->context, f->qpn);
}

static void note_context(void *arg, struct nlattr *const *a)
{
	struct list *l = arg;
	uint32_t *more;

	if (ctl_number(a[GDA_A_CONTEXT_PID]) != l->pid)
		return;
	more = realloc(l->contexts, (l->ncontexts + 1) * sizeof(*more));
	if (!more)
		return;
	l->contexts = more;
	l->contexts[l->ncontexts++] = (uint32_t)ctl_number(a[GDA_A_CONTEXT_ID]);
}

static bool list_wants(const struct list *l, struct nlattr *const *a)
{
	uint32_t context = (uint32_t)ctl_number(a[GDA_A_QP_CONTEXT]);

	if (l->by_qpn)
		return ctl_number(a[GDA_A_QP_QPN]) == l->qpn;
	for (size_t i = 0; l->by_pid && i < l->ncontexts; i++)
		if (l->contexts[i] == context)
			return true;
	return !l->by_pid;
}

static void note_qp(void *arg, struct nlattr *const *a)
{
	struct list *l = arg;
	uint32_t (*more)[2];

	if (!list_wants(l, a))
		return;
	more = realloc(l->qps, (l->n + 1) * sizeof(*more));
	if (!more)
		return;
	l->qps = more;
	l->qps[l->n][0] = (uint32_t)ctl_number(a[GDA_A_QP_CONTEXT]);
	l->qps[l->n++][1] = (uint32_t)ctl_number(a[GDA_A_QP_HANDLE]);
}

/* Does nothing match what the user asked for? */
static bool unknown(const struct list *l)
{
	const char *where;

	if (l->by_qpn && !l->n) {
		fprintf(stderr, "gdactl: no QP has the number %#x, ", l->qpn);
		where = "qp";
	} else if (l->by_pid && !l->ncontexts) {
		fprintf(stderr, "gdactl: pid %u has no context, ", l->pid);
		where = "context";
	} else {
		return false;
	}
	fprintf(stderr, "or it is another user's: gdactl %s shows all\n", where);
	return true;
}

static int why(struct ctl_link *link, struct list *l, bool json)
{
	size_t n = 0;

	if (l->by_pid &&
	    ctl_dump(link, GDA_CMD_CONTEXT_GET, 0, note_context, l))
		return 1;
	if (ctl_dump(link, GDA_CMD_QP_GET, 0, note_qp, l))
		return 1;
	for (size_t i = 0; i < l->n; i++) {
		struct facts f = { .context = l->qps[i][0], .handle = l->qps[i][1] };

		/* the QP may have gone since */
		if (gather_qp(link, &f) || (!owes(&f) && !l->by_qpn) || gather_rest(link, &f))
			continue;
		if (say(link, &f, json, &n))
			return 1;
	}
	if (json)
		fputs(n ? "\n]\n" : "[]\n", stdout);
	if (!unknown(l) && !json && !n) {
		puts("no queue owes anything");
		say_all_idle(link, l);
		say_mapped();
	}
	return 0;
}

int ctl_why(struct ctl_args *args)
{
	struct list l = { 0 };
	struct ctl_link *link;
	int status;

	if (args->n && !strcmp(args->v[0], "pid"))
		l.by_pid = !ctl_argument(args, 0, &l.pid);
	else if (args->n && !strcmp(args->v[0], "qp"))
		l.by_qpn = !ctl_argument(args, 0, &l.qpn);
	else if (args->n)
		return ctl_usage(args, "unknown word %s", args->v[0]);
	if (args->n && !l.by_pid && !l.by_qpn)
		return 2;
	if (args->n > 2)
		return ctl_usage(args, "unknown word %s", args->v[2]);
	if (ctl_open(&link))
		return 1;
	status = why(link, &l, args->json);
	free(l.contexts);
	free(l.qps);
	ctl_close(link);
	return status;
}
