// SPDX-License-Identifier: MIT
/*
 * Names of attributes and values, as in Documentation/netlink/specs/gda.yaml, so that --json agrees
 * with any other client of the family.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "gda_internal.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static const char *const qp_states[] = { "init", "wait", "ready", "error" };

static const char *const mr_states[] = { "live", "revoked" };

static const char *const mr_kinds[] = { "user", "dmabuf", "peer" };

static const char *const access_bits[] = {
	"local-write", "remote-write", "remote-read", "remote-atomic",
};

static const char *const classes[] = {
	"none", "local", "queue", "remote-access", "remote-op", "invalid-request", "retry", "rnr",
	"flush",
};

static const char *const causes[] = {
	"none", "doorbell", "index", "opcode", "size", "length", "align", "key", "revoked",
	"rights", "range", "io", "peer", "cq", "queue", "recv", "device", "fork", "fabric",
	"reserved",
};

static const char *const worker_states[] = { "none", "asleep", "paced", "polling" };

static const char *const event_kinds[] = {
	"none", "device-added", "device-removed", "context-bound", "context-gone", "qp-connected",
	"qp-failed", "mr-revoked", "cq-overflowed",
};

/* Attribute @a of set @s, of type @t; @n its name; @c its column */
#define FIELD(s, a, t, n, c)	{ GDA_A_##s##_##a, CTL_##t, 0, false, n, c, NULL, 0 }
#define NAMED(s, a, t, from, list, n, c)	\
	{ GDA_A_##s##_##a, CTL_##t, from, false, n, c, (list), COUNT(list) }
/* ... for which a table of 100 columns has no room */
#define WIDE(s, a, t, n, c)	{ GDA_A_##s##_##a, CTL_##t, 0, true, n, c, NULL, 0 }
#define WIDE_NAMED(s, a, t, from, list, n, c)	\
	{ GDA_A_##s##_##a, CTL_##t, from, true, n, c, (list), COUNT(list) }

static const struct ctl_field device_fields[] = {
	FIELD(DEVICE, ID, U32, "id", "ID"),
	FIELD(DEVICE, NAME, STRING, "name", "DEVICE"),
	FIELD(DEVICE, MAX_QP, U32, "max-qp", "QPS"),
	FIELD(DEVICE, MAX_CQ, U32, "max-cq", "CQS"),
	FIELD(DEVICE, MAX_MR, U32, "max-mr", "MRS"),
	FIELD(DEVICE, MAX_COUNTER, U32, "max-counter", "COUNTERS"),
	FIELD(DEVICE, MAX_SQ_DEPTH, U32, "max-sq-depth", "SQ-DEPTH"),
	FIELD(DEVICE, MAX_CQ_DEPTH, U32, "max-cq-depth", "CQ-DEPTH"),
	FIELD(DEVICE, MAX_SGE, U32, "max-sge", "SGES"),
	FIELD(DEVICE, MAX_INLINE, U32, "max-inline", "INLINE"),
	FIELD(DEVICE, MAX_MSG, U32, "max-msg", NULL),
	FIELD(DEVICE, MAX_MR_SIZE, U64, "max-mr-size", NULL),
	FIELD(DEVICE, FEATURES, HEX64, "features", "FEATURES"),
};

static const struct ctl_field context_fields[] = {
	FIELD(CONTEXT, ID, U32, "id", "CTX"),
	FIELD(CONTEXT, DEVICE, STRING, "device", "DEVICE"),
	FIELD(CONTEXT, PID, U32, "pid", "PID"),
	FIELD(CONTEXT, UID, U32, "uid", "UID"),
	FIELD(CONTEXT, COMM, STRING, "comm", "COMMAND"),
	FIELD(CONTEXT, QPS, U32, "qps", "QPS"),
	FIELD(CONTEXT, CQS, U32, "cqs", "CQS"),
	FIELD(CONTEXT, MRS, U32, "mrs", "MRS"),
	FIELD(CONTEXT, COUNTERS, U32, "counters", "COUNTERS"),
	NAMED(CONTEXT, WORKER_STATE, ENUM, 0, worker_states, "worker-state", "WORKER"),
	FIELD(CONTEXT, WORKER_RUNNABLE, FLAG, "worker-runnable", "RUNS"),
	FIELD(CONTEXT, WORKER_RUNTIME, NS, "worker-runtime", "RUNTIME"),
	FIELD(CONTEXT, WORKER_SLEEPS, U64, "worker-sleeps", "SLEEPS"),
	FIELD(CONTEXT, WORKER_WAKEUPS, U64, "worker-wakeups", NULL),
	FIELD(CONTEXT, WORKER_LAST_PASS, AGE, "worker-last-pass", "LAST-PASS"),
	FIELD(CONTEXT, FAULT_VISITS, U64, "fault-visits", NULL),
	FIELD(CONTEXT, DEAD, FLAG, "dead", "DEAD"),
};

static const struct ctl_field qp_fields[] = {
	FIELD(QP, CONTEXT, U32, "context", "CTX"),
	FIELD(QP, HANDLE, U32, "handle", "HANDLE"),
	FIELD(QP, QPN, HEX32, "qpn", "QPN"),
	NAMED(QP, STATE, ENUM, 0, qp_states, "state", "STATE"),
	FIELD(QP, PEER_QPN, HEX32, "peer-qpn", "PEER"),
	WIDE(QP, PEER_CONTEXT, U32, "peer-context", "PEER-CTX"),
	FIELD(QP, PEER_PID, U32, "peer-pid", "PEER-PID"),
	WIDE(QP, PEER_UID, U32, "peer-uid", "PEER-UID"),
	WIDE(QP, SQ_DEPTH, U32, "sq-depth", "DEPTH"),
	WIDE(QP, CQ, U32, "cq", "CQ"),
	WIDE(QP, RECV_CQ, U32, "recv-cq", "RECV-CQ"),
	FIELD(QP, COUNTER, U32, "counter", NULL),
	FIELD(QP, RECV_COUNTER, U32, "recv-counter", NULL),
	FIELD(QP, USER_INDEX, U32, "user-index", NULL),
	FIELD(QP, POLLED, FLAG, "polled", NULL),
	WIDE(QP, PRODUCER, U64, "producer", "FETCHED"),
	/* shown even if the queue is not connected and the executor has fetched nothing */
	FIELD(QP, RUNG, U64, "rung", "PRODUCER"),
	FIELD(QP, CONSUMER, U64, "consumer", "CONSUMER"),
	FIELD(QP, WRITTEN, U32, "written", NULL),
	WIDE(QP, IN_FLIGHT, U32, "in-flight", "IN-FLIGHT"),
	WIDE(QP, EXECUTED, U64, "executed", "EXECUTED"),
	WIDE(QP, FLUSHED, U64, "flushed", "FLUSHED"),
	WIDE(QP, BYTES, U64, "bytes", "BYTES"),
	WIDE(QP, DOORBELLS, U64, "doorbells", "DOORBELLS"),
	FIELD(QP, VISITS, U64, "visits", NULL),
	FIELD(QP, LAST_PROGRESS, AGE, "last-progress", "PROGRESS"),
	FIELD(QP, ERROR_INDEX, U64, "error-index", NULL),
	WIDE_NAMED(QP, CLASS, ENUM, 0, classes, "class", "CLASS"),
	NAMED(QP, CAUSE, ENUM, 0, causes, "cause", "CAUSE"),
};

static const struct ctl_field cq_fields[] = {
	FIELD(CQ, CONTEXT, U32, "context", "CTX"),
	FIELD(CQ, HANDLE, U32, "handle", "HANDLE"),
	FIELD(CQ, CQN, HEX32, "cqn", "CQN"),
	FIELD(CQ, DEPTH, U32, "depth", "DEPTH"),
	FIELD(CQ, PRODUCER, U64, "producer", "PRODUCER"),
	FIELD(CQ, USERS, U32, "users", "USERS"),
	FIELD(CQ, COLLAPSED, FLAG, "collapsed", "COLLAPSED"),
	FIELD(CQ, ARMED, FLAG, "armed", "ARMED"),
	FIELD(CQ, FAILED, FLAG, "failed", "OVERFLOWED"),
	FIELD(CQ, REVOKED, FLAG, "revoked", "REVOKED"),
};

static const struct ctl_field mr_fields[] = {
	FIELD(MR, CONTEXT, U32, "context", "CTX"),
	FIELD(MR, HANDLE, U32, "handle", "HANDLE"),
	FIELD(MR, KEY, HEX32, "key", "KEY"),
	NAMED(MR, KIND, ENUM, 1, mr_kinds, "kind", "KIND"),
	NAMED(MR, STATE, ENUM, 1, mr_states, "state", "STATE"),
	FIELD(MR, IOVA, HEX64, "iova", "IOVA"),
	FIELD(MR, LENGTH, U64, "length", "LENGTH"),
	NAMED(MR, ACCESS, FLAGS, 0, access_bits, "access", "ACCESS"),
};

static const struct ctl_field counter_fields[] = {
	FIELD(COUNTER, CONTEXT, U32, "context", "CTX"),
	FIELD(COUNTER, HANDLE, U32, "handle", "HANDLE"),
	FIELD(COUNTER, VALUE, U64, "value", "VALUE"),
	FIELD(COUNTER, ERRORS, U64, "errors", "ERRORS"),
	FIELD(COUNTER, USERS, U32, "users", "USERS"),
};

static const struct ctl_field wqe_fields[] = {
	FIELD(WQE, CONTEXT, U32, "context", "CTX"),
	FIELD(WQE, HANDLE, U32, "handle", "HANDLE"),
	FIELD(WQE, INDEX, U64, "index", "TICKET"),
	FIELD(WQE, RUNG, FLAG, "rung", "RUNG"),
	FIELD(WQE, SLOTS, U32, "slots", "SLOTS"),
	FIELD(WQE, OPCODE, OPCODE, "opcode", "OPCODE"),
	FIELD(WQE, LENGTH, U32, "length", "LENGTH"),
	FIELD(WQE, RADDR, HEX64, "raddr", "RADDR"),
	FIELD(WQE, RKEY, HEX32, "rkey", "RKEY"),
	FIELD(WQE, LADDR, HEX64, "laddr", "LADDR"),
	FIELD(WQE, LKEY, HEX32, "lkey", "LKEY"),
	NAMED(WQE, CLASS, ENUM, 0, classes, "class", "CLASS"),
	NAMED(WQE, CAUSE, ENUM, 0, causes, "cause", "CAUSE"),
};

static const struct ctl_field stats_fields[] = {
	FIELD(STATS, CONTEXTS, U64, "contexts", "CONTEXTS"),
	FIELD(STATS, QPS, U64, "qps", "QPS"),
	FIELD(STATS, CQS, U64, "cqs", "CQS"),
	FIELD(STATS, COUNTERS, U64, "counters", "COUNTERS"),
	FIELD(STATS, MRS, U64, "mrs", "MRS"),
	FIELD(STATS, REGIONS, U64, "regions", "REGIONS"),
	FIELD(STATS, PAGES, U64, "pages", "PAGES"),
	FIELD(STATS, KEYS, U64, "keys", "KEYS"),
};

static const struct ctl_field limits_fields[] = {
	FIELD(LIMITS, MAX_CONTEXTS, U32, "max-contexts", "MAX-CONTEXTS"),
	FIELD(LIMITS, MAX_OBJECTS, U32, "max-objects", "MAX-OBJECTS"),
	FIELD(LIMITS, IDLE_US, U32, "idle-us", "IDLE-US"),
	FIELD(LIMITS, MAX_EXECUTOR_QPS, U32, "max-executor-qps", "MAX-EXECUTOR-QPS"),
};

static const struct ctl_field event_fields[] = {
	FIELD(EVENT, TIME, U64, "time", NULL),
	NAMED(EVENT, KIND, ENUM, 0, event_kinds, "kind", "EVENT"),
	FIELD(EVENT, LOST, U64, "lost", NULL),
	FIELD(EVENT, DEVICE, STRING, "device", "DEVICE"),
	FIELD(EVENT, CONTEXT, U32, "context", "CTX"),
	FIELD(EVENT, PID, U32, "pid", "PID"),
	FIELD(EVENT, UID, U32, "uid", "UID"),
	FIELD(EVENT, HANDLE, U32, "handle", "HANDLE"),
	FIELD(EVENT, QPN, HEX32, "qpn", "QPN"),
	FIELD(EVENT, PEER_QPN, HEX32, "peer-qpn", "PEER"),
	NAMED(EVENT, CLASS, ENUM, 0, classes, "class", "CLASS"),
	NAMED(EVENT, CAUSE, ENUM, 0, causes, "cause", "CAUSE"),
	FIELD(EVENT, ERROR_INDEX, U64, "error-index", "INDEX"),
};

/* A context that has ended, or the last state of one of its QPs. */
static const struct ctl_field dead_fields[] = {
	FIELD(RECORD, DEAD, U32, "dead", NULL),
	FIELD(RECORD, CONTEXT, U32, "context", NULL),
	FIELD(RECORD, DEVICE, STRING, "device", NULL),
	FIELD(RECORD, PID, U32, "pid", NULL),
	FIELD(RECORD, UID, U32, "uid", NULL),
	FIELD(RECORD, TIME, U64, "time", NULL),
	FIELD(RECORD, QPN, HEX32, "qpn", NULL),
	FIELD(RECORD, HANDLE, U32, "handle", NULL),
	NAMED(RECORD, STATE, ENUM, 0, qp_states, "state", NULL),
	NAMED(RECORD, CLASS, ENUM, 0, classes, "class", NULL),
	NAMED(RECORD, CAUSE, ENUM, 0, causes, "cause", NULL),
	FIELD(RECORD, ERROR_INDEX, U64, "error-index", NULL),
	FIELD(RECORD, PRODUCER, U64, "producer", NULL),
	FIELD(RECORD, CONSUMER, U64, "consumer", NULL),
	FIELD(RECORD, EXECUTED, U64, "executed", NULL),
	FIELD(RECORD, FLUSHED, U64, "flushed", NULL),
	FIELD(RECORD, BYTES, U64, "bytes", NULL),
};

#define KIND(kind, CMD, is_object)						\
	const struct ctl_kind ctl_##kind = {					\
		.name = #kind, .cmd = GDA_CMD_##CMD, .object = is_object,	\
		.fields = kind##_fields, .nfields = COUNT(kind##_fields),	\
	}

KIND(device, DEVICE_GET, false);
KIND(context, CONTEXT_GET, false);
KIND(qp, QP_GET, true);
KIND(cq, CQ_GET, true);
KIND(mr, MR_GET, true);
KIND(counter, COUNTER_GET, true);
KIND(wqe, WQE_GET, true);
KIND(stats, STATS_GET, false);
KIND(limits, LIMITS_GET, false);
KIND(event, EVENT, false);
KIND(dead, DEAD_GET, false);

static const char *name_of(const char *const *names, size_t n, uint64_t value)
{
	return value < n ? names[value] : "?";
}

const char *ctl_state_name(uint64_t state)
{
	return name_of(qp_states, COUNT(qp_states), state);
}

const char *ctl_class_name(uint64_t value)
{
	return name_of(classes, COUNT(classes), value);
}

const char *ctl_cause_name(uint64_t value)
{
	return name_of(causes, COUNT(causes), value);
}

uint64_t ctl_number(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	return nla_len(attr) >= 8 ? nla_get_u64(attr) : nla_get_u32(attr);
}

/* A value that is newer than this program has no name. */
static const char *value_name(const struct ctl_field *f, uint64_t value)
{
	return value >= f->first && value - f->first < f->nnames ? f->names[value - f->first] :
								     NULL;
}

/*
 * A process chooses its name, which may be invalid UTF-8: bytes beyond ASCII are taken as Latin-1.
 */
static void put_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
			printf("\\u%04x", (unsigned char)*s);
		else
			putchar(*s);
	}
	putchar('"');
}

/*
 * A process chooses its name: only printable ASCII may reach the terminal, or it could move
 * columns.
 */
static void format_string(const char *s, char *text, size_t room)
{
	size_t i;

	for (i = 0; s[i] && i + 1 < room; i++)
		text[i] = s[i] < ' ' || s[i] > '~' ? '?' : s[i];
	text[i] = 0;
}

static void put_flags(const struct ctl_field *f, uint64_t value)
{
	const char *comma = "";

	putchar('[');
	for (size_t i = 0; i < f->nnames; i++) {
		if (!(value >> i & 1))
			continue;
		fputs(comma, stdout);
		put_string(f->names[i]);
		comma = ",";
	}
	putchar(']');
}

static void put_value(const struct ctl_field *f, const struct nlattr *attr)
{
	const char *name;

	switch (f->type) {
	case CTL_STRING:
		put_string(nla_get_string((struct nlattr *)attr));
		return;
	case CTL_FLAG:
		fputs("true", stdout);
		return;
	case CTL_FLAGS:
		put_flags(f, ctl_number(attr));
		return;
	case CTL_ENUM:
		name = value_name(f, ctl_number(attr));
		if (name) {
			put_string(name);
			return;
		}
		break;
	}
	printf("%" PRIu64, ctl_number(attr));
}

void ctl_print_json(const struct ctl_kind *kind, struct nlattr *const *attrs)
{
	const char *comma = "";

	putchar('{');
	for (size_t i = 0; i < kind->nfields; i++) {
		const struct ctl_field *f = &kind->fields[i];

		if (!attrs[f->attr])
			continue;
		printf("%s\"%s\":", comma, f->name);
		put_value(f, attrs[f->attr]);
		comma = ",";
	}
	putchar('}');
}

/* The offset of this time namespace's CLOCK_MONOTONIC from the kernel's, in ns. */
static int64_t namespace_offset(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long sec, ns;
	int64_t offset = 0;
	char name[32];

	while (f && fscanf(f, "%31s %lld %lld", name, &sec, &ns) == 3)
		if (!strcmp(name, "monotonic"))
			offset = sec * 1000000000 + ns;
	if (f)
		fclose(f);
	return offset;
}

uint64_t ctl_now_ns(void)
{
	static int64_t offset;
	static bool known;
	struct timespec t;

	if (!known)
		offset = namespace_offset();
	known = true;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)(t.tv_sec * 1000000000LL + t.tv_nsec - offset);
}

/* "12.3s", "4.5ms" */
static void format_ns(uint64_t ns, char *text, size_t room)
{
	if (ns >= 1000000000)
		snprintf(text, room, "%" PRIu64 ".%" PRIu64 "s", ns / 1000000000,
			 ns / 100000000 % 10);
	else
		snprintf(text, room, "%" PRIu64 ".%" PRIu64 "ms", ns / 1000000, ns / 100000 % 10);
}

/* "local,write,read": the last word of each right's name, "local" for the first. */
static void format_flags(const struct ctl_field *f, uint64_t value, char *text, size_t room)
{
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < f->nnames; i++) {
		const char *name = f->names[i];

		if (!(value >> i & 1))
			continue;
		if (strncmp(name, "remote-", 7))
			len += (size_t)snprintf(text + len, room - len, "%s%.*s", len ? "," : "",
						(int)strcspn(name, "-"), name);
		else
			len += (size_t)snprintf(text + len, room - len, "%s%s", len ? "," : "",
						name + 7);
	}
	if (!len)
		snprintf(text, room, "none");
}

static void format_opcode(uint64_t value, char *text, size_t room)
{
	const char *name = gda_opcode_name((uint32_t)value);

	if (name)
		snprintf(text, room, "%s", name);
	else
		snprintf(text, room, "0x%" PRIx64, value);
}

void ctl_format(const struct ctl_field *f, const struct nlattr *attr, char *text, size_t room)
{
	uint64_t value, now;
	const char *name;

	if (!attr) {
		snprintf(text, room, f->type == CTL_FLAG ? "no" : "-");
		return;
	}
	value = f->type == CTL_STRING || f->type == CTL_FLAG ? 0 : ctl_number(attr);
	switch (f->type) {
	case CTL_STRING:
		format_string(nla_get_string((struct nlattr *)attr), text, room);
		break;
	case CTL_FLAG:
		snprintf(text, room, "yes");
		break;
	case CTL_FLAGS:
		format_flags(f, value, text, room);
		break;
	case CTL_OPCODE:
		format_opcode(value, text, room);
		break;
	case CTL_HEX32:
	case CTL_HEX64:
		snprintf(text, room, "0x%" PRIx64, value);
		break;
	case CTL_NS:
		format_ns(value, text, room);
		break;
	case CTL_AGE:
		now = ctl_now_ns();
		if (value)
			format_ns(now > value ? now - value : 0, text, room);
		else
			snprintf(text, room, "never");
		break;
	case CTL_ENUM:
		name = value_name(f, value);
		if (name) {
			snprintf(text, room, "%s", name);
			break;
		}
		__attribute__((fallthrough));
	default:
		snprintf(text, room, "%" PRIu64, value);
	}
}
