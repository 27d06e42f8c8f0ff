// SPDX-License-Identifier: MIT
/*
 * gdactl record: shows the decoded flight record of a context, or of contexts that have ended, and
 * switches recording of work on and off.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <gda/record.h>
#include "ctl.h"
#include "gda_internal.h"

#define ON_RECORDS	4096U

static const char *const kinds[] = {
	"none", "doorbell", "fetched", "done", "failed", "flushed", "arrived", "connected", "lost",
	"registered", "revoked", "overflow", "sleep", "wake", "placed", "posted", "observed",
};

struct show_record {
	bool json;
	uint32_t qpn;			/* only records of this QP; 0: of all */
	size_t n;
};

const char *ctl_record_kind(const struct gda_record *r)
{
	return r->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[r->kind] : "?";
}

bool ctl_record_get(const struct nlattr *attr, struct gda_record *r)
{
	if (!attr || nla_len(attr) < (int)sizeof(*r))
		return false;
	memcpy(r, nla_data(attr), sizeof(*r));
	return true;
}

/* "   12  3.000123 failed qp 0x12 ticket 7 put remote-access/key len 8 rkey 0x..." */
void ctl_record_print(const struct gda_record *r)
{
	uint64_t ns = r->ns;

	printf("%8" PRIu64 " %6" PRIu64 ".%06" PRIu64 " %-10s", (uint64_t)r->seq - 1,
	       ns / 1000000000, ns / 1000 % 1000000, ctl_record_kind(r));
	if (r->qpn)
		printf(" qp %#x", r->qpn);
	if (r->qpn && r->kind != GDA_RECORD_CONNECTED && r->kind != GDA_RECORD_LOST)
		printf(" ticket %" PRIu64, (uint64_t)r->ticket);
	if (r->opcode && gda_opcode_name(r->opcode))
		printf(" %s", gda_opcode_name(r->opcode));
	else if (r->opcode)
		printf(" opcode %#x", r->opcode);
	if (r->err_class)
		printf(" %s/%s", ctl_class_name(r->err_class), ctl_cause_name(r->cause));
	if (r->len)
		printf(" len %u", r->len);
	if (r->rkey)
		printf(" rkey %#x", r->rkey);
	if (r->raddr)
		printf(" raddr %#" PRIx64, (uint64_t)r->raddr);
	if (r->aux)
		printf(" aux %#x", r->aux);
	putchar('\n');
}

/* Print a record with names of the specification. */
static void print_json(const struct gda_record *r)
{
	printf("{\"seq\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"ticket\":%" PRIu64, (uint64_t)r->seq,
	       (uint64_t)r->ns, (uint64_t)r->ticket);
	printf(",\"raddr\":%" PRIu64 ",\"laddr\":%" PRIu64, (uint64_t)r->raddr,
	       (uint64_t)r->laddr);
	printf(",\"len\":%u,\"rkey\":%u,\"lkey\":%u,\"qpn\":%u", r->len, r->rkey, r->lkey, r->qpn);
	printf(",\"kind\":%u,\"opcode\":%u,\"err-class\":%u,\"cause\":%u,\"aux\":%u}", r->kind,
	       r->opcode, r->err_class, r->cause, r->aux);
}

static void print_switch(uint64_t context, uint64_t records)
{
	if (records)
		printf("context %" PRIu64 ": work is recorded\n", context);
	else
		printf("context %" PRIu64 ": work is not recorded: gdactl record on ctx %" PRIu64
		       " switches it on\n", context, context);
}

static void show_record(void *arg, struct nlattr *const *attrs)
{
	struct show_record *s = arg;
	struct gda_record r;

	if (!ctl_record_get(attrs[GDA_A_RECORD_ENTRY], &r)) {
		if (!s->json && attrs[GDA_A_RECORD_RECORDS])
			print_switch(ctl_number(attrs[GDA_A_RECORD_CONTEXT]),
				     ctl_number(attrs[GDA_A_RECORD_RECORDS]));
		return;
	}
	if (s->qpn && r.qpn != s->qpn)
		return;
	if (s->json) {
		fputs(s->n++ ? ",\n " : "[\n ", stdout);
		print_json(&r);
	} else {
		ctl_record_print(&r);
	}
}

static void print_dead(struct nlattr *const *attrs)
{
	const struct nlattr *device = attrs[GDA_A_RECORD_DEVICE];
	uint64_t time = ctl_number(attrs[GDA_A_RECORD_TIME]);

	printf("context %" PRIu64 " of pid %" PRIu64 ", uid %" PRIu64,
	       ctl_number(attrs[GDA_A_RECORD_CONTEXT]), ctl_number(attrs[GDA_A_RECORD_PID]),
	       ctl_number(attrs[GDA_A_RECORD_UID]));
	printf(", on %s, ended at %" PRIu64 ".%06" PRIu64 "\n",
	       device ? nla_get_string((struct nlattr *)device) : "?", time / 1000000000,
	       time / 1000 % 1000000);
}

static void print_dead_qp(struct nlattr *const *attrs)
{
	uint64_t producer = ctl_number(attrs[GDA_A_RECORD_PRODUCER]);
	uint64_t consumer = ctl_number(attrs[GDA_A_RECORD_CONSUMER]);

	printf("  qp %#" PRIx64 " %s: %" PRIu64 " executed, %" PRIu64 " flushed, %" PRIu64
	       " slots without an outcome", ctl_number(attrs[GDA_A_RECORD_QPN]),
	       ctl_state_name(ctl_number(attrs[GDA_A_RECORD_STATE])),
	       ctl_number(attrs[GDA_A_RECORD_EXECUTED]), ctl_number(attrs[GDA_A_RECORD_FLUSHED]),
	       producer - consumer);
	if (ctl_number(attrs[GDA_A_RECORD_CLASS]))
		printf(", failed at %" PRIu64 ": %s/%s",
		       ctl_number(attrs[GDA_A_RECORD_ERROR_INDEX]),
		       ctl_class_name(ctl_number(attrs[GDA_A_RECORD_CLASS])),
		       ctl_cause_name(ctl_number(attrs[GDA_A_RECORD_CAUSE])));
	putchar('\n');
}

static void show_dead(void *arg, struct nlattr *const *attrs)
{
	struct show_record *s = arg;
	struct gda_record r;

	if (s->json) {
		fputs(s->n++ ? ",\n " : "[\n ", stdout);
		if (ctl_record_get(attrs[GDA_A_RECORD_ENTRY], &r))
			print_json(&r);
		else
			ctl_print_json(&ctl_dead, attrs);
	} else if (attrs[GDA_A_RECORD_DEAD]) {
		print_dead(attrs);
	} else if (attrs[GDA_A_RECORD_QPN]) {
		print_dead_qp(attrs);
	} else if (ctl_record_get(attrs[GDA_A_RECORD_ENTRY], &r)) {
		ctl_record_print(&r);
	}
}

int ctl_record_around(struct ctl_link *link, uint32_t context, uint32_t qpn)
{
	struct show_record s = { .qpn = qpn };

	return ctl_dump(link, GDA_CMD_RECORD_GET, context, show_record, &s);
}

static int show(struct ctl_link *link, uint32_t context, bool json)
{
	struct show_record s = { .json = json };
	int err;

	if (context)
		err = ctl_dump(link, GDA_CMD_RECORD_GET, context, show_record, &s);
	else
		err = ctl_dump(link, GDA_CMD_DEAD_GET, 0, show_dead, &s);
	if (!err && json)
		fputs(s.n ? "\n]\n" : "[]\n", stdout);
	return err ? 1 : 0;
}

/* Parse "on", "off" or "show": the context, and how many records. */
static int parse(const struct ctl_args *args, struct ctl_value values[2])
{
	const char *verb = args->n ? args->v[0] : "";
	bool on = !strcmp(verb, "on");
	int most = on ? 5 : 3;

	if (!on && strcmp(verb, "off") && strcmp(verb, "show"))
		return ctl_usage(args, "needs show, on or off");
	if (args->n < 2 || strcmp(args->v[1], "ctx"))
		return ctl_usage(args, "%s needs ctx ID, which gdactl context shows", verb);
	if (ctl_argument(args, 1, &values[0].value))
		return 2;
	values[1].value = on ? ON_RECORDS : 0;
	if (args->n > 3 && (!on || strcmp(args->v[3], "records")))
		return ctl_usage(args, "unknown word %s", args->v[3]);
	if (args->n > 3 && ctl_argument(args, 3, &values[1].value))
		return 2;
	return args->n > most ? ctl_usage(args, "unknown word %s", args->v[most]) : 0;
}

int ctl_record(struct ctl_args *args)
{
	struct ctl_value values[2] = { { GDA_A_RECORD_CONTEXT, 0 }, { GDA_A_RECORD_RECORDS, 0 } };
	bool dead = args->n == 2 && !strcmp(args->v[0], "show") && !strcmp(args->v[1], "dead");
	struct ctl_link *link;
	int status;

	if (!dead && parse(args, values))
		return 2;
	if (ctl_open(&link))
		return 1;
	if (!strcmp(args->v[0], "show"))
		status = show(link, values[0].value, args->json);
	else
		status = ctl_do(link, GDA_CMD_RECORD_SET, values, 2, NULL, NULL) ? 1 : 0;
	ctl_close(link);
	return status;
}
