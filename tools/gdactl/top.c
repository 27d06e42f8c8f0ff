// SPDX-License-Identifier: MIT
/*
 * gdactl top: the busiest queues, by comparing two dumps. The kernel computes no averages.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl.h"

#define ROWS	20U

/* A QP in one dump. */
struct sample {
	uint32_t context;
	uint32_t handle;
	uint32_t qpn;
	uint64_t executed, bytes, doorbells;
	uint64_t owes;			/* slots without an outcome */
};

struct samples {
	struct sample *v;
	size_t n, room;
	uint64_t ns;			/* when they were taken */
};

struct rate {
	const struct sample *now;
	double work, bytes, doorbells;	/* a second */
};

struct options {
	uint32_t rows, times, seconds;
	bool json;
};

static void note_qp(void *arg, struct nlattr *const *attrs)
{
	struct samples *s = arg;

	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct sample *v = realloc(s->v, room * sizeof(*v));

		if (!v)
			return;
		s->v = v;
		s->room = room;
	}
	s->v[s->n++] = (struct sample) {
		.context = (uint32_t)ctl_number(attrs[GDA_A_QP_CONTEXT]),
		.handle = (uint32_t)ctl_number(attrs[GDA_A_QP_HANDLE]),
		.qpn = (uint32_t)ctl_number(attrs[GDA_A_QP_QPN]),
		.executed = ctl_number(attrs[GDA_A_QP_EXECUTED]),
		.bytes = ctl_number(attrs[GDA_A_QP_BYTES]),
		.doorbells = ctl_number(attrs[GDA_A_QP_DOORBELLS]),
		.owes = ctl_number(attrs[GDA_A_QP_RUNG]) -
			ctl_number(attrs[GDA_A_QP_CONSUMER]),
	};
}

static int take(struct ctl_link *link, struct samples *s)
{
	s->n = 0;
	s->ns = ctl_now_ns();
	return ctl_dump(link, GDA_CMD_QP_GET, 0, note_qp, s);
}

static int order(const struct sample *a, const struct sample *b)
{
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return a->handle < b->handle ? -1 : a->handle > b->handle;
}

/* Compare two dumps; both have the same order. If a handle was reused the QP number differs. */
static size_t compare(const struct samples *old, const struct samples *new, struct rate *rates)
{
	double seconds = (double)(new->ns - old->ns) / 1e9;
	size_t i = 0, n = 0;

	for (size_t k = 0; k < new->n; k++) {
		const struct sample *now = &new->v[k], *was;

		while (i < old->n && order(&old->v[i], now) < 0)
			i++;
		was = &old->v[i];
		if (i == old->n || order(was, now) || was->qpn != now->qpn)
			continue;
		rates[n++] = (struct rate) {
			.now = now,
			.work = (double)(now->executed - was->executed) / seconds,
			.bytes = (double)(now->bytes - was->bytes) / seconds,
			.doorbells = (double)(now->doorbells - was->doorbells) / seconds,
		};
	}
	return n;
}

static int by_rate(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	if (x->work > y->work || x->work < y->work)
		return x->work < y->work ? 1 : -1;
	return order(x->now, y->now);
}

static void print_table(const struct rate *rates, size_t n, size_t all)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	printf("%zu of %zu queues\n%8s %8s %10s %12s %12s %12s %8s\n", n, all, "CTX", "HANDLE",
	       "QPN", "WORK/s", "BYTES/s", "DOORBELLS/s", "OWES");
	for (size_t i = 0; i < n; i++)
		printf("%8u %8u %#10x %12.0f %12.0f %12.0f %8" PRIu64 "\n", rates[i].now->context,
		       rates[i].now->handle, rates[i].now->qpn, rates[i].work, rates[i].bytes,
		       rates[i].doorbells, rates[i].now->owes);
}

static void print_json(const struct rate *rates, size_t n)
{
	putchar('[');
	for (size_t i = 0; i < n; i++) {
		printf("%s{\"context\":%u,\"handle\":%u,\"qpn\":%u", i ? ",\n " : "",
		       rates[i].now->context, rates[i].now->handle, rates[i].now->qpn);
		printf(",\"work\":%.1f,\"bytes\":%.1f,\"doorbells\":%.1f,\"owes\":%" PRIu64 "}",
		       rates[i].work, rates[i].bytes, rates[i].doorbells, rates[i].now->owes);
	}
	fputs("]\n", stdout);
}

static int show(const struct samples *old, const struct samples *new, const struct options *o)
{
	struct rate *rates = malloc((new->n + 1) * sizeof(*rates));
	size_t n, shown;

	if (!rates)
		return -1;
	n = compare(old, new, rates);
	qsort(rates, n, sizeof(*rates), by_rate);
	shown = n < o->rows ? n : o->rows;
	if (o->json)
		print_json(rates, shown);
	else
		print_table(rates, shown, n);
	fflush(stdout);
	free(rates);
	return 0;
}

static int options_parse(const struct ctl_args *args, struct options *o)
{
	*o = (struct options) { .rows = ROWS, .seconds = 1, .json = args->json };
	for (int i = 0; i < args->n; i += 2) {
		uint32_t *to = !strcmp(args->v[i], "rows") ? &o->rows :
			       !strcmp(args->v[i], "times") ? &o->times :
			       !strcmp(args->v[i], "seconds") ? &o->seconds : NULL;

		if (!to)
			return ctl_usage(args, "unknown word %s", args->v[i]);
		if (ctl_argument(args, i, to))
			return -1;
	}
	return 0;
}

int ctl_top(struct ctl_args *args)
{
	struct samples s[2] = { { 0 } };
	struct ctl_link *link;
	struct options o;
	int err;

	if (options_parse(args, &o))
		return 2;
	if (ctl_open(&link))
		return 1;
	err = take(link, &s[0]);
	for (uint32_t i = 1; !err && (!o.times || i <= o.times); i++) {
		sleep(o.seconds ? o.seconds : 1);
		err = take(link, &s[i % 2]) ?: show(&s[(i + 1) % 2], &s[i % 2], &o);
	}
	free(s[0].v);
	free(s[1].v);
	ctl_close(link);
	return err ? 1 : 0;
}
