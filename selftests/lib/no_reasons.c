// SPDX-License-Identifier: MIT
/*
 * What the library's waits ask of contexts when somebody reads why they failed: here there are
 * queues in plain memory and no contexts.
 */
#include <errno.h>
#include "../../lib/core/gda_internal.h"

bool gda_view_is_inherited(const struct gda_view *v)
{
	(void)v;
	return false;
}

int gda_explain_at_once(struct gda_view *v, int64_t ticket, char *buf, size_t len)
{
	(void)v, (void)ticket, (void)buf, (void)len;
	return -ENODEV;
}

const char *gda_cause_remedy(uint32_t cause)
{
	(void)cause;
	return "";
}

const char *gda_syndrome_name(uint32_t syndrome)
{
	(void)syndrome;
	return "";
}
