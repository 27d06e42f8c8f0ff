/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Runs gdactl and looks for words in what it prints, in tests whose fixture has char out[ROOM]. */
#ifndef GDA_GDACTL_TEST_H
#define GDA_GDACTL_TEST_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ROOM	65536

/* Run `gdactl ARGS`; @out is what it prints on both outputs. Its exit status, or -errno. */
static inline int run(char *out, const char *args)
{
	char command[256];
	size_t len;
	FILE *f;

	snprintf(command, sizeof(command), "build/tools/gdactl %s 2>&1", args);
	f = popen(command, "re");
	if (!f)
		return -errno;
	len = fread(out, 1, ROOM - 1, f);
	out[len] = 0;
	return WEXITSTATUS(pclose(f));
}

/* Run with the number of a QP. */
static inline int run_on(char *out, const char *args, uint32_t number)
{
	char command[128];

	snprintf(command, sizeof(command), "%s %u", args, number);
	return run(out, command);
}

#define EXPECT_SAYS(text)	\
	EXPECT_NE(NULL, strstr(self->out, text)) TH_LOG("%s", self->out)

#endif /* GDA_GDACTL_TEST_H */
