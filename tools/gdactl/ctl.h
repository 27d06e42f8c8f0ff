/* SPDX-License-Identifier: MIT */
/*
 * Shared by gdactl's commands of the netlink family. Only link.c communicates with the kernel.
 */
#ifndef GDACTL_CTL_H
#define GDACTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <gda/netlink.h>

#define CTL_ATTRS	48	/* more than any attribute set has */

/* --- fields.c: names of attributes, as in the family's specification --- */

enum ctl_type {
	CTL_U32,
	CTL_U64,
	CTL_STRING,
	CTL_FLAG,
	CTL_ENUM,		/* @names by value, beginning with @first */
	CTL_FLAGS,		/* @names by bit */
	CTL_HEX32,		/* hexadecimal in tables; a number in JSON, as always */
	CTL_HEX64,
	CTL_OPCODE,		/* a word in tables; a number in JSON */
	CTL_AGE,		/* a time, shown as an age in tables */
	CTL_NS,			/* a duration */
};

/* One attribute; @column is its heading in tables, NULL: only JSON has it. */
struct ctl_field {
	uint16_t attr;
	uint8_t type;		/* enum ctl_type */
	uint8_t first;
	bool wide;		/* only wide tables have this column */
	const char *name;
	const char *column;
	const char *const *names;
	size_t nnames;
};

/* One command shows the attributes of one set. An object's first attribute is its context. */
struct ctl_kind {
	const char *name;	/* also of the command */
	uint8_t cmd;
	bool object;		/* is in a context */
	const struct ctl_field *fields;
	size_t nfields;
};

extern const struct ctl_kind ctl_device, ctl_context, ctl_qp, ctl_cq, ctl_mr, ctl_counter,
			     ctl_wqe, ctl_stats, ctl_limits, ctl_event, ctl_dead;

/* --- link.c --- */

struct ctl_link;

/* An attribute of a request. */
struct ctl_value {
	uint16_t type;
	uint32_t value;
};

/* These functions print errors to stderr, and return 0 or -1. */
int ctl_open(struct ctl_link **link);
void ctl_close(struct ctl_link *link);
/*
 * Call @fn for each message of a dump of @cmd; @context: only of that context, unless 0. If objects
 * came or went during the dump it is repeated, at most three times, and @fn sees only the last one.
 */
int ctl_dump(struct ctl_link *link, uint8_t cmd, uint32_t context,
	     void (*fn)(void *arg, struct nlattr *const *attrs), void *arg);
/* The same, with the @n attributes in @values. */
int ctl_dump_of(struct ctl_link *link, uint8_t cmd, const struct ctl_value *values, size_t n,
		void (*fn)(void *arg, struct nlattr *const *attrs), void *arg);
/* Send a request that is no dump, with @n attributes; @fn may be NULL. */
int ctl_do(struct ctl_link *link, uint8_t cmd, const struct ctl_value *values, size_t n,
	   void (*fn)(void *arg, struct nlattr *const *attrs), void *arg);
/*
 * Call @fn for each event, with NULL if the socket lost events, until SIGINT or SIGTERM (0) or an
 * error, for example that gda_core is unloaded.
 */
int ctl_listen(struct ctl_link *link, void (*fn)(void *arg, struct nlattr *const *attrs),
	       void *arg);

/* --- values, fields.c --- */

const char *ctl_state_name(uint64_t state);
const char *ctl_class_name(uint64_t value);
const char *ctl_cause_name(uint64_t value);
uint64_t ctl_now_ns(void);	/* the kernel's CLOCK_MONOTONIC, even in a time namespace */
uint64_t ctl_number(const struct nlattr *attr);		/* of 32 or 64 bits; 0 for NULL */
void ctl_print_json(const struct ctl_kind *kind, struct nlattr *const *attrs);
/* Format a value as tables show it. */
void ctl_format(const struct ctl_field *field, const struct nlattr *attr, char *text, size_t room);

/* --- rows.c: a table, whose columns are as wide as their contents --- */

struct ctl_rows {
	const struct ctl_kind *kind;
	bool json, wide;
	char **cells;
	size_t n, room, columns;
};

void ctl_rows_init(struct ctl_rows *rows, const struct ctl_kind *kind, bool json);
/* The same, including columns that do not fit into 100. */
void ctl_rows_init_wide(struct ctl_rows *rows, const struct ctl_kind *kind, bool json);
/* Add a message as a row. In JSON it is printed at once. */
void ctl_rows_add(struct ctl_rows *rows, struct nlattr *const *attrs);
void ctl_rows_clear(struct ctl_rows *rows);
void ctl_rows_print(struct ctl_rows *rows);

/* --- process.c: what /proc shows of a process --- */

/* Write "pid 12 (put) is stopped: kill -CONT 12 lets it go on" or the like. */
void ctl_process_words(uint32_t pid, char *text, size_t room);
/*
 * Print at most @most lines, one for each process that moves bytes by mapped memory. Return: how
 * many.
 */
size_t ctl_process_mapped(size_t most);

/* --- record.c --- */

struct gda_record;
bool ctl_record_get(const struct nlattr *attr, struct gda_record *r);
const char *ctl_record_kind(const struct gda_record *r);
void ctl_record_print(const struct gda_record *r);
/* Print the newest records of one QP in a context's ring. */
int ctl_record_around(struct ctl_link *link, uint32_t context, uint32_t qpn);

/* --- commands; each returns the exit status --- */

struct ctl_args {
	const char *name;	/* the command */
	int n;
	char **v;		/* behind the command */
	bool json, wide;
};

int ctl_show(const struct ctl_kind *kind, struct ctl_args *args);
int ctl_wqe_command(struct ctl_args *args);
int ctl_limits_command(struct ctl_args *args);
int ctl_monitor(struct ctl_args *args);
int ctl_top(struct ctl_args *args);
int ctl_record(struct ctl_args *args);
int ctl_why(struct ctl_args *args);
/* Print what is wrong with the arguments, and where help is. Return: the exit status. */
int ctl_usage(const struct ctl_args *args, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The numeric argument behind @args->v[i]; -1 after a message. */
int ctl_argument(const struct ctl_args *args, int i, uint32_t *value);

#endif /* GDACTL_CTL_H */
