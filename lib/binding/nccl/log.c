// SPDX-License-Identifier: MIT
/*
 * Writes to NCCL's log, which NCCL_DEBUG=INFO or WARN shows. Without NCCL_DEBUG it shows nothing,
 * and a program only gets "invalid usage": so errors that end the program at its start also go to
 * stderr.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "nccl_internal.h"

static gda_nccl_log_fn gda_nccl_logger;

void gda_nccl_log_to(gda_nccl_log_fn log)
{
	__atomic_store_n(&gda_nccl_logger, log, __ATOMIC_RELEASE);
}

static void gda_nccl_log_text(int level, const char *text)
{
	gda_nccl_log_fn log = __atomic_load_n(&gda_nccl_logger, __ATOMIC_ACQUIRE);

	if (log)
		log(level, level == GDA_NCCL_LOG_WARN ? GDA_NCCL_LOG_ALL :
		    GDA_NCCL_LOG_INIT | GDA_NCCL_LOG_NET, "lib/binding/nccl", 0, "%s", text);
}

void gda_nccl_log(int level, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gda_nccl_log_text(level, text);
}

void gda_nccl_refuse(const char *format, ...)
{
	const char *shown = secure_getenv("NCCL_DEBUG");
	static unsigned int said;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gda_nccl_log_text(GDA_NCCL_LOG_WARN, text);
	if ((!shown || !*shown) && !__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "%s\n", text);
}

const char *gda_nccl_reason(int err)
{
	switch (err) {
	case -EPIPE:
		return "a rank has closed its communicator";
	case -ETIME:
		return "a rank did not come to the same call within a minute";
	case -EBADMSG:
		return "ranks pass different arguments to the same call";
	case -ECANCELED:
		return "another rank failed in this call: its log says why";
	case -ENOMEM:
		return gda_strerror(err);
	default:
		return gda_last_error();
	}
}
