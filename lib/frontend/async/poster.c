// SPDX-License-Identifier: MIT
/*
 * Functions of the library that CPU posters of gda/async.h call: the text for a refused call, and
 * the number of a thread.
 */
#include <errno.h>
#include <stdatomic.h>
#include "async_internal.h"

GDA_EXPORT void gda_async_refused(const char *call, uint32_t why)
{
	static const char *const reasons[] = {
		[GDA_ASYNC_WHY_NULL] = "an address is NULL: pass memory of a window",
		[GDA_ASYNC_WHY_DST] =
			"the destination is not all in one window: give gda_async_create() a window of it, or cut the copy where one ends",
		[GDA_ASYNC_WHY_SRC] =
			"the source is not all in one window: give gda_async_create() a window of it, or cut the copy where one ends",
		[GDA_ASYNC_WHY_SHAPE] =
			"a tensor is not contiguous and of one dimension: copy it by rows",
		[GDA_ASYNC_WHY_TYPE] = "the tensors differ in length, element or layout",
		[GDA_ASYNC_WHY_ENGINE] =
			"the session was opened for another engine: GDA_ASYNC_COPY is without ranks, GDA_ASYNC_PEER by gda_async_open_peer(), else GDA_ASYNC_PEERS()",
		[GDA_ASYNC_WHY_PEER] = "the workspace has no such rank: pass 0 to nranks - 1",
		[GDA_ASYNC_WHY_WORD] =
			"the word's address is no multiple of 8, or the change is neither set nor add",
		[GDA_ASYNC_WHY_PITCH] =
			"a pitch is less than the row, the row is 1 GiB or more, or the last one wraps",
		[GDA_ASYNC_WHY_WORKSPACE] = "the workspace is NULL, or of an older library",
		[GDA_ASYNC_WHY_GROUP] =
			"the workspace has no such group: pass less than gda_async_attr.groups, or GDA_ASYNC_AUTO",
		[GDA_ASYNC_WHY_SCRATCH] =
			"the scratch is less than gda_async_scratch_bytes(), or not aligned to 8 bytes",
		[GDA_ASYNC_WHY_SCRATCH_WINDOW] =
			"GDA_ASYNC_FLAG_WAIT: the scratch must lie in a window",
		[GDA_ASYNC_WHY_SESSION] = "the session's size is too small: set it to sizeof()",
		[GDA_ASYNC_WHY_ATOMIC] =
			"the queues have no atomics (GDA_CAN_ATOMIC): notify with GDA_ASYNC_SET, or choose another dialect",
	};
	const char *reason = why < sizeof(reasons) / sizeof(reasons[0]) ? reasons[why] : NULL;

	if (reason)
		gda_because(-EINVAL, "%s", reason);
	gda_called(-EINVAL, call, "%u", why);
}

/* The number of this thread, plus 1. */
static _Thread_local uint32_t gda_async_number;

GDA_EXPORT uint32_t gda_async_thread(void)
{
	static atomic_uint threads;

	if (!gda_async_number)
		gda_async_number = atomic_fetch_add(&threads, 1) + 1;
	return gda_async_number - 1;
}
