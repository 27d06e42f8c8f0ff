/* SPDX-License-Identifier: MIT */
/*
 * Children of each kind, for the tests of what a process leaves to them (item 5): they live
 * until they are killed, with the process group of the one that made them.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum child_kind {
	CHILD_FORK,
	CHILD_VFORK,
	CHILD_SPAWN,
	CHILD_SYSTEM,
	CHILD_CLONE_EXEC,
	CHILD_CLONE,		/* which does not call execve(2) */
};

#define CHILD_LIFE	"60"	/* seconds, if it is not killed */

extern char **environ;

static inline void child_exec(void)
{
	execl("/bin/sleep", "sleep", CHILD_LIFE, (char *)NULL);
	_exit(127);
}

/* Return: whether there is one now. It inherits what is not close-on-exec. */
static inline bool child_make(enum child_kind kind)
{
	char name[] = "sleep", life[] = CHILD_LIFE, *argv[] = { name, life, NULL };
	pid_t pid = -1;

	switch (kind) {
	case CHILD_FORK:
		pid = fork();
		if (!pid)
			for (;;)
				pause();
		break;
	case CHILD_VFORK:
		pid = vfork();
		if (!pid)
			child_exec();
		break;
	case CHILD_SPAWN:
		return !posix_spawn(&pid, "/bin/sleep", NULL, NULL, argv, environ);
	case CHILD_SYSTEM:
		return !system("sleep " CHILD_LIFE " &");
	case CHILD_CLONE_EXEC:
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			child_exec();
		break;
	case CHILD_CLONE:
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			for (;;)
				pause();
		break;
	}
	return pid > 0;
}

/* Does somebody still have the other end of the pipe @fd, which a child inherits? */
static inline bool child_lives(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

#endif /* CHILDREN_H */
