// SPDX-License-Identifier: MIT
/*
 * Texts for control calls: why this thread's last failed call failed, and, with GDA_DEBUG in the
 * environment, a line on stderr for every control call.
 *
 * Every exported control call ends in gda_called(). On the way there, code that knows more than the
 * errno notes a reason with gda_because(): the device, where it knows best; else rules.c, which
 * looks for the rule that the arguments break. The first reason of a call wins, and gda_called()
 * takes it. A failed wait ends in gda_said(). gda_last_error() is in waited.c, because it may query
 * the queue that was waited for.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gda_internal.h"

static _Thread_local struct {
	char last[GDA_LAST_TEXT];
	struct gda_reason reason;	/* of the current call; empty: none yet */
	unsigned long failures;
	unsigned long texts;		/* how many texts were the last error */
} gda_words;

const char *gda_last_text(unsigned long *number)
{
	*number = gda_words.texts;
	return gda_words.last;
}

void gda_last_text_add(const char *text)
{
	size_t n = strlen(gda_words.last);

	snprintf(gda_words.last + n, sizeof(gda_words.last) - n, ": %s", text);
}

void gda_said(const char *format, ...)
{
	va_list args;

	gda_words.texts++;
	va_start(args, format);
	vsnprintf(gda_words.last, sizeof(gda_words.last), format, args);
	va_end(args);
}

unsigned long gda_failures(void)
{
	return gda_words.failures;
}

int gda_because(int err, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (gda_reason_known())
		return err;
	va_start(args, format);
	vsnprintf(gda_words.reason.text, sizeof(gda_words.reason.text), format, args);
	va_end(args);
	errno = saved;
	return err;
}

void gda_forget_reason(void)
{
	gda_words.reason.text[0] = 0;
}

int gda_reason_known(void)
{
	return gda_words.reason.text[0] != 0;
}

void gda_reason_save(struct gda_reason *reason)
{
	*reason = gda_words.reason;
}

void gda_reason_restore(const struct gda_reason *reason)
{
	if (reason->text[0])
		gda_words.reason = *reason;
}

static pthread_once_t gda_debug_once = PTHREAD_ONCE_INIT;
static int gda_debug_wanted;

static void gda_debug_read(void)
{
	const char *env = secure_getenv("GDA_DEBUG");

	gda_debug_wanted = env && *env && strcmp(env, "0");
}

int gda_debugging(void)
{
	pthread_once(&gda_debug_once, gda_debug_read);
	return gda_debug_wanted;
}

/* Print each line with one write(2), so that lines of several threads do not mix. */
static void gda_debug_print(const char *format, va_list args)
{
	char line[640];
	int n, m;

	n = snprintf(line, sizeof(line), "gda[%d]: ", (int)gettid());
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		return;		/* this failure cannot be reported */
}

void gda_debug(const char *format, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, format);
	gda_debug_print(format, args);
	va_end(args);
	errno = saved;
}

static void gda_debug_call(int err, const char *call, const char *format, va_list args)
{
	char with[256];

	vsnprintf(with, sizeof(with), format, args);
	if (err)
		gda_debug("%s(%s) = %d: %s", call, with, err,
			  gda_words.last + strlen(call) + 2);
	else
		gda_debug("%s(%s) = 0", call, with);
}

int gda_called(int err, const char *call, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (err) {
		gda_words.failures++;
		gda_words.texts++;
		snprintf(gda_words.last, sizeof(gda_words.last), "%s: %s", call,
			 gda_reason_known() ? gda_words.reason.text : gda_strerror(err));
	}
	gda_forget_reason();
	if (gda_debugging()) {
		va_start(args, format);
		gda_debug_call(err, call, format, args);
		va_end(args);
	}
	errno = saved;
	return err;
}
