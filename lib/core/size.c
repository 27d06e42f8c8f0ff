// SPDX-License-Identifier: MIT
/*
 * Structures that cross libgda.so. Each begins with a 32-bit size, which the caller sets to
 * sizeof() of the structure that it was compiled with. Members are only appended, and zero in an
 * appended member selects the behaviour before that member existed. So a program and a library of
 * different ages share the members that both know.
 */
#include <errno.h>
#include <string.h>
#include "gda_internal.h"

/* No structure is larger; an uninitialized size is rarely smaller. */
#define GDA_STRUCT_MAX 4096U

static size_t gda_smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

int gda_struct_check(const void *theirs, size_t least)
{
	uint32_t size = *(const uint32_t *)theirs;

	if (size < least)
		return gda_because(-EINVAL, "size %u is less than %zu: set it to sizeof()", size,
				   least);
	if (size > GDA_STRUCT_MAX)
		return gda_because(-E2BIG,
				   "size %u is more than any version has: set it to sizeof()",
				   size);
	return 0;
}

int gda_struct_read(void *ours, size_t size, size_t least, const void *theirs)
{
	int err = gda_struct_check(theirs, least);
	const char *bytes = theirs;
	uint32_t given, i;

	if (err)
		return err;
	given = *(const uint32_t *)theirs;
	for (i = (uint32_t)size; i < given; i++)
		if (bytes[i])
			return gda_because(-E2BIG,
					   "byte %u is set, this library knows %zu: clear the structure, or install a newer libgda",
					   i, size);
	memset(ours, 0, size);
	memcpy(ours, theirs, gda_smaller(size, given));
	return 0;
}

int gda_ranges_check(const struct gda_range *ranges, size_t count)
{
	const struct gda_range *r;

	for (r = ranges; r < ranges + count; r++)
		if (r->value > r->most)
			return gda_because(-EINVAL, "%s %u: the most is %u", r->name, r->value,
					   r->most);
	return 0;
}

void gda_struct_write(void *theirs, const void *ours, size_t size)
{
	uint32_t given = *(const uint32_t *)theirs;
	size_t known = gda_smaller(size, given);

	memcpy((char *)theirs + sizeof(given), (const char *)ours + sizeof(given),
	       known - sizeof(given));
	memset((char *)theirs + known, 0, given - known);
}
