// SPDX-License-Identifier: MIT
/*
 * gdactl monitor: events, a line each, as they come.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "ctl.h"

static const char advice[] = "gdactl context and gdactl qp show the state";

struct monitor {
	bool json;
	bool losing;		/* events were lost while this runs */
	uint64_t n;		/* events that were printed */
	uint64_t lost;		/* lost records of the kernel's ring, by the last event */
};

/* "12.345678 qp-failed device soft0 context 3 ..." */
static void print_event(struct nlattr *const *attrs)
{
	uint64_t time = ctl_number(attrs[GDA_A_EVENT_TIME]);
	char text[256];

	printf("%" PRIu64 ".%06" PRIu64, time / 1000000000, time / 1000 % 1000000);
	for (size_t i = 0; i < ctl_event.nfields; i++) {
		const struct ctl_field *f = &ctl_event.fields[i];

		if (!f->column || !attrs[f->attr])
			continue;
		ctl_format(f, attrs[f->attr], text, sizeof(text));
		if (f->attr == GDA_A_EVENT_KIND)
			printf(" %s", text);
		else
			printf(" %s %s", f->name, text);
	}
	putchar('\n');
}

/* The kernel counts lost records since the module was loaded. */
static void note_lost(struct monitor *m, uint64_t lost)
{
	if (lost != m->lost && !m->n)
		fprintf(stderr, "gdactl: %" PRIu64 " events were lost since gda_core was loaded\n",
			lost);
	else if (lost != m->lost)
		fprintf(stderr, "gdactl: %" PRIu64 " events were lost: %s\n", lost - m->lost,
			advice);
	m->losing |= m->n && lost != m->lost;
	m->lost = lost;
}

static void show_event(void *arg, struct nlattr *const *attrs)
{
	struct monitor *m = arg;

	if (!attrs) {
		fprintf(stderr, "gdactl: events were lost, for they were not read in time: %s\n",
			advice);
		m->losing = true;
		return;
	}
	if (!attrs[GDA_A_EVENT_KIND])
		return;
	note_lost(m, ctl_number(attrs[GDA_A_EVENT_LOST]));
	if (m->json) {
		ctl_print_json(&ctl_event, attrs);
		putchar('\n');
	} else {
		print_event(attrs);
	}
	m->n++;
	fflush(stdout);
}

int ctl_monitor(struct ctl_args *args)
{
	struct monitor m = { .json = args->json };
	struct ctl_link *link;
	int err;

	if (args->n)
		return ctl_usage(args, "unknown word %s", args->v[0]);
	if (ctl_open(&link))
		return 1;
	err = ctl_listen(link, show_event, &m);
	if (!err)
		fprintf(stderr, "gdactl: %" PRIu64 " events%s\n", m.n,
			m.losing ? ", and more that were lost" : "");
	ctl_close(link);
	return err ? 1 : 0;
}
