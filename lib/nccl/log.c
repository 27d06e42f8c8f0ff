// SPDX-License-Identifier: MIT
/* Lines in NCCL's log, which NCCL_DEBUG=INFO or WARN shows. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "nccl_internal.h"

static gda_nccl_log_fn gda_nccl_logger;

void gda_nccl_log_to(gda_nccl_log_fn log)
{
	__atomic_store_n(&gda_nccl_logger, log, __ATOMIC_RELEASE);
}

void gda_nccl_log(int level, const char *format, ...)
{
	gda_nccl_log_fn log = __atomic_load_n(&gda_nccl_logger, __ATOMIC_ACQUIRE);
	char text[512];
	va_list args;

	if (!log)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log(level, GDA_NCCL_LOG_NET, "lib/nccl", 0, "%s", text);
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
		return "another rank could not; its log says why";
	case -ENOMEM:
		return gda_strerror(err);
	default:
		return gda_last_error();
	}
}
