// SPDX-License-Identifier: MIT
/*
 * Prints messages of the kernel as aligned tables, or as an array in JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

static bool has_column(const struct ctl_rows *rows, const struct ctl_field *field)
{
	return field->column && (rows->wide || !field->wide);
}

static void rows_begin(struct ctl_rows *rows)
{
	for (size_t i = 0; i < rows->kind->nfields; i++)
		rows->columns += has_column(rows, &rows->kind->fields[i]);
}

void ctl_rows_init(struct ctl_rows *rows, const struct ctl_kind *kind, bool json)
{
	*rows = (struct ctl_rows) { .kind = kind, .json = json };
	rows_begin(rows);
}

void ctl_rows_init_wide(struct ctl_rows *rows, const struct ctl_kind *kind, bool json)
{
	*rows = (struct ctl_rows) { .kind = kind, .json = json, .wide = true };
	rows_begin(rows);
}

static bool rows_grow(struct ctl_rows *rows)
{
	size_t room = rows->room ? 2 * rows->room : 64;
	char **cells;

	if (rows->n < rows->room)
		return true;
	cells = realloc(rows->cells, room * rows->columns * sizeof(*cells));
	if (!cells)
		return false;
	rows->cells = cells;
	rows->room = room;
	return true;
}

void ctl_rows_add(struct ctl_rows *rows, struct nlattr *const *attrs)
{
	const struct ctl_kind *kind = rows->kind;
	char **cell, text[256];

	if (rows->json) {
		fputs(rows->n++ ? ",\n " : "[\n ", stdout);
		ctl_print_json(kind, attrs);
		return;
	}
	if (!rows_grow(rows))
		return;
	cell = rows->cells + rows->n++ * rows->columns;
	for (size_t i = 0; i < kind->nfields; i++) {
		if (!has_column(rows, &kind->fields[i]))
			continue;
		ctl_format(&kind->fields[i], attrs[kind->fields[i].attr], text, sizeof(text));
		*cell++ = strdup(text);
	}
}

void ctl_rows_clear(struct ctl_rows *rows)
{
	for (size_t i = 0; !rows->json && i < rows->n * rows->columns; i++)
		free(rows->cells[i]);
	rows->n = 0;
}

static bool is_text(const struct ctl_field *field)
{
	return field->type == CTL_STRING || field->type == CTL_ENUM || field->type == CTL_FLAGS ||
	       field->type == CTL_FLAG || field->type == CTL_OPCODE;
}

static size_t widest(const struct ctl_rows *rows, size_t column, const char *head)
{
	size_t width = strlen(head);

	for (size_t i = 0; i < rows->n; i++) {
		const char *cell = rows->cells[i * rows->columns + column];
		size_t len = cell ? strlen(cell) : 0;

		width = len > width ? len : width;
	}
	return width;
}

static void print_line(const struct ctl_rows *rows, const size_t *width, char *const *cells)
{
	const struct ctl_kind *kind = rows->kind;
	size_t column = 0;

	for (size_t i = 0; i < kind->nfields; i++) {
		const char *cell = kind->fields[i].column;
		bool last = column + 1 == rows->columns;

		if (!has_column(rows, &kind->fields[i]))
			continue;
		if (cells)
			cell = cells[column] ? cells[column] : "";
		if (!is_text(&kind->fields[i]))
			printf("%*s", (int)width[column], cell);
		else if (last)
			fputs(cell, stdout);
		else
			printf("%-*s", (int)width[column], cell);
		fputs(last ? "\n" : "  ", stdout);
		column++;
	}
}

void ctl_rows_print(struct ctl_rows *rows)
{
	size_t width[CTL_ATTRS], column = 0;

	if (rows->json) {
		fputs(rows->n ? "\n]\n" : "[]\n", stdout);
		return;
	}
	for (size_t i = 0; i < rows->kind->nfields; i++) {
		if (!has_column(rows, &rows->kind->fields[i]))
			continue;
		width[column] = widest(rows, column, rows->kind->fields[i].column);
		column++;
	}
	print_line(rows, width, NULL);
	for (size_t i = 0; i < rows->n; i++)
		print_line(rows, width, rows->cells + i * rows->columns);
	ctl_rows_clear(rows);
	free(rows->cells);
	rows->cells = NULL;
	rows->room = 0;
}
