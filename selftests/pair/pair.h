/* SPDX-License-Identifier: MIT */
/*
 * For programs that gda-pair runs in both guests: which side this is, how the sides meet,
 * and how one asks for a cut link or a stopped machine. tools/vm/pair.sh is the same for
 * scripts, and says what the variables are.
 *
 * Names are good for once in a run: they are files, with the program's name before them.
 * Every wait ends after PAIR_SECONDS, times $GDA_SLOW, and when the other side has ended.
 */
#ifndef SELFTESTS_PAIR_H
#define SELFTESTS_PAIR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAIR_SECONDS	30

static inline const char *pair_env(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* 0 or 1; -1 outside of gda-pair. */
static inline int pair_side(void)
{
	const char *side = pair_env("GDA_PAIR_SIDE");

	return *side ? atoi(side) : -1;
}

static inline const char *pair_path(char *path, size_t room, const char *name)
{
	snprintf(path, room, "%s/%s.%s", pair_env("GDA_PAIR_DIR"),
		 program_invocation_short_name, name);
	return path;
}

/* Return: 0, -ETIMEDOUT, or -EPIPE if the other side has ended. */
static inline int pair_await(const char *path)
{
	int slow = atoi(pair_env("GDA_SLOW"));
	char gone[256];

	snprintf(gone, sizeof(gone), "%s/gone.%d", pair_env("GDA_PAIR_DIR"), 1 - pair_side());
	for (int i = 0; i < PAIR_SECONDS * 50 * (slow > 0 ? slow : 1); i++) {
		if (!access(path, F_OK))
			return 0;
		if (!access(gone, F_OK))
			return -EPIPE;
		usleep(20000);
	}
	return -ETIMEDOUT;
}

/* Give the other side @bytes as @name. Return: 0, or a negative errno. */
static inline int pair_put(const char *name, const void *data, size_t bytes)
{
	char path[256], new[264];
	bool whole;
	int fd;

	pair_path(path, sizeof(path), name);
	snprintf(new, sizeof(new), "%s.new", path);
	fd = open(new, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	whole = write(fd, data, bytes) == (ssize_t)bytes;
	close(fd);
	return whole && !rename(new, path) ? 0 : -EIO;
}

/* Await what the other side gave as @name. Return: 0, or a negative errno. */
static inline int pair_get(const char *name, void *data, size_t bytes)
{
	char path[256];
	int err = pair_await(pair_path(path, sizeof(path), name));
	int fd = err ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err ? err : -errno;
	err = read(fd, data, bytes) == (ssize_t)bytes ? 0 : -EIO;
	close(fd);
	return err;
}

/* Each gives the other one @own. Return: 0, or a negative errno. */
static inline int pair_swap(const char *name, const void *own, void *peer, size_t bytes)
{
	char file[160];
	int err;

	snprintf(file, sizeof(file), "%s.%d", name, pair_side());
	err = pair_put(file, own, bytes);
	snprintf(file, sizeof(file), "%s.%d", name, 1 - pair_side());
	return err ? err : pair_get(file, peer, bytes);
}

/* Go on when both are here. Return: 0, or a negative errno. */
static inline int pair_barrier(const char *name)
{
	char mine = 'x', theirs;

	return pair_swap(name, &mine, &theirs, 1);
}

/*
 * Have @action done to the guest of @side: "link-off", "link-on", "stop", "cont" or "kill".
 * Either link being off cuts the cable. Return: 0, -EINVAL if it was refused, or -ETIMEDOUT.
 */
static inline int pair_ask(const char *action, int side)
{
	static unsigned int asked;
	char path[256], new[264], answer[264], text[8] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/ask/%s.%d.%d.%u", pair_env("GDA_PAIR_DIR"),
		 program_invocation_short_name, pair_side(), (int)getpid(), asked++);
	snprintf(new, sizeof(new), "%s.new", path);
	snprintf(answer, sizeof(answer), "%s.ask", path);
	f = fopen(new, "we");
	if (!f)
		return -errno;
	fprintf(f, "%s %d\n", action, side);
	if (fclose(f) || rename(new, answer))
		return -errno;
	snprintf(answer, sizeof(answer), "%s.answer", path);
	for (int i = 0; i < 500 && access(answer, F_OK); i++)
		usleep(20000);
	f = fopen(answer, "re");
	if (!f)
		return -ETIMEDOUT;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return strcmp(text, "ok\n") ? -EINVAL : 0;
}

#endif /* SELFTESTS_PAIR_H */
