// SPDX-License-Identifier: MIT
/*
 * gdactl device|context|qp|cq|mr|counter|stats: filtered tables of existing objects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

/* The contexts that the user selects; 0 and NULL: any. */
struct filter {
	const char *dev;
	uint32_t ctx;
	uint32_t pid;
	uint32_t uid;
	bool by_pid, by_uid;
};

/* Ids of the contexts that a filter lets through, ascending. */
struct contexts {
	const struct filter *filter;
	uint32_t *id;
	size_t n, room;
};

struct show {
	const struct filter *filter;
	size_t n;			/* rows */
	struct contexts *contexts;	/* NULL: all */
	struct ctl_rows rows;
};

int ctl_argument(const struct ctl_args *args, int i, uint32_t *value)
{
	char *end = NULL;
	unsigned long v = 0;

	if (i + 1 < args->n)
		v = strtoul(args->v[i + 1], &end, 0);
	if (!end || *end || end == args->v[i + 1] || v > UINT32_MAX) {
		ctl_usage(args, "%s needs a number behind it", args->v[i]);
		return -1;
	}
	/* the kernel counts contexts from 1 */
	if (!v && !strcmp(args->v[i], "ctx")) {
		ctl_usage(args, "there is no ctx 0");
		return -1;
	}
	*value = (uint32_t)v;
	return 0;
}

static int parse(const struct ctl_kind *kind, const struct ctl_args *args, struct filter *f)
{
	bool origin = kind->object || kind == &ctl_context;
	int i = args->n && !strcmp(args->v[0], "show");

	for (; i < args->n; i += 2) {
		const char *word = args->v[i];
		int err = 0;

		if (!strcmp(word, "dev") && i + 1 < args->n && kind != &ctl_stats) {
			f->dev = args->v[i + 1];
		} else if (!origin) {
			return ctl_usage(args, "unknown word %s", word);
		} else if (!strcmp(word, "ctx")) {
			err = ctl_argument(args, i, &f->ctx);
		} else if (!strcmp(word, "pid")) {
			err = ctl_argument(args, i, &f->pid);
			f->by_pid = true;
		} else if (!strcmp(word, "uid")) {
			err = ctl_argument(args, i, &f->uid);
			f->by_uid = true;
		} else if (!strcmp(word, "dev")) {
			err = ctl_usage(args, "dev needs a name behind it");
		} else {
			err = ctl_usage(args, "unknown word %s", word);
		}
		if (err)
			return err;
	}
	return 0;
}

static bool context_fits(const struct filter *f, struct nlattr *const *attrs)
{
	return (!f->ctx || ctl_number(attrs[GDA_A_CONTEXT_ID]) == f->ctx) &&
	       (!f->by_pid || ctl_number(attrs[GDA_A_CONTEXT_PID]) == f->pid) &&
	       (!f->by_uid || ctl_number(attrs[GDA_A_CONTEXT_UID]) == f->uid) &&
	       (!f->dev || (attrs[GDA_A_CONTEXT_DEVICE] &&
			    !strcmp(nla_get_string(attrs[GDA_A_CONTEXT_DEVICE]), f->dev)));
}

static void note_context(void *arg, struct nlattr *const *attrs)
{
	struct contexts *c = arg;

	if (!context_fits(c->filter, attrs))
		return;
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		uint32_t *id = realloc(c->id, room * sizeof(*id));

		if (!id)
			return;
		c->id = id;
		c->room = room;
	}
	c->id[c->n++] = (uint32_t)ctl_number(attrs[GDA_A_CONTEXT_ID]);
}

static int by_id(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool fits(const struct show *s, struct nlattr *const *attrs)
{
	const struct ctl_kind *kind = s->rows.kind;
	uint32_t id;

	if (kind == &ctl_context)
		return context_fits(s->filter, attrs);
	if (kind == &ctl_device)
		return !s->filter->dev ||
		       !strcmp(nla_get_string(attrs[GDA_A_DEVICE_NAME]), s->filter->dev);
	if (!kind->object || !s->contexts)
		return true;
	id = (uint32_t)ctl_number(attrs[GDA_A_QP_CONTEXT]);
	return s->contexts->n &&
	       bsearch(&id, s->contexts->id, s->contexts->n, sizeof(id), by_id);
}

static void show_one(void *arg, struct nlattr *const *attrs)
{
	struct show *s = arg;

	if (!fits(s, attrs))
		return;
	s->n++;
	ctl_rows_add(&s->rows, attrs);
}

static int show_all(struct ctl_link *link, struct show *s)
{
	const struct ctl_kind *kind = s->rows.kind;
	const struct filter *f = s->filter;

	if (kind == &ctl_stats)
		return ctl_do(link, kind->cmd, NULL, 0, show_one, s);
	if (kind->object && (f->dev || f->by_pid || f->by_uid) &&
	    ctl_dump(link, GDA_CMD_CONTEXT_GET, 0, note_context, s->contexts))
		return -1;
	if (!kind->object || !(f->dev || f->by_pid || f->by_uid))
		s->contexts = NULL;
	return ctl_dump(link, kind->cmd, kind->object ? f->ctx : 0, show_one, s);
}

/* Report an empty table whose filter let nothing through. */
static void say_none(const struct show *s)
{
	const struct filter *f = s->filter;
	bool object = s->rows.kind->object;

	if (s->n || !(f->dev || f->ctx || f->by_pid || f->by_uid))
		return;
	fprintf(stderr, "gdactl: no %s fits that, or it is another user's: gdactl %s shows all\n",
		s->rows.kind->name, object ? "context" : s->rows.kind->name);
}

int ctl_show(const struct ctl_kind *kind, struct ctl_args *args)
{
	struct filter filter = { 0 };
	struct contexts contexts = { .filter = &filter };
	struct show show = { .filter = &filter, .contexts = &contexts };
	struct ctl_link *link;
	int err;

	if (parse(kind, args, &filter))
		return 2;
	if (ctl_open(&link))
		return 1;
	if (args->wide)
		ctl_rows_init_wide(&show.rows, kind, args->json);
	else
		ctl_rows_init(&show.rows, kind, args->json);
	err = show_all(link, &show);
	if (!err) {
		ctl_rows_print(&show.rows);
		say_none(&show);
	}
	free(contexts.id);
	ctl_close(link);
	return err ? 1 : 0;
}
