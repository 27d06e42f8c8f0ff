// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory regions: checks of registrations, and queries (mr.h). */
#include "mr.h"

int gda_control_check_mr(const struct gda_control_mr_range *range, u64 max)
{
	const u32 remote = GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_ATOMIC;

	if (range->access & ~GDA_ACCESS_ALL)
		return -EOPNOTSUPP;
	/* as in verbs, remote write and atomic rights require local write */
	if (range->access & remote && !(range->access & GDA_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (!range->length || range->length > max)
		return -EINVAL;
	if (range->length > ~range->addr || range->length > ~range->iova)
		return -EOVERFLOW;
	return 0;
}

void gda_control_query_mr(const struct gda_mem *mem, u32 kind, struct gda_mr_query *cmd)
{
	cmd->key = mem->key;
	cmd->kind = kind;
	cmd->state = READ_ONCE(mem->state) & ~GDA_MEM_NO_CPU;
	cmd->access = mem->access;
	cmd->iova = mem->iova;
	cmd->length = mem->size;
}
