// SPDX-License-Identifier: MIT
/*
 * What /proc shows the caller of processes: whether one runs, and which move bytes by mapped
 * memory, unknown to the kernel's queues.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

/* Read a process's name, made printable, and its state. Return: whether the process exists. */
static bool process_stat(uint32_t pid, char *name, size_t room, char *state)
{
	char path[64], line[512], *open, *close;
	FILE *file;
	bool there;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	there = fgets(line, sizeof(line), file);
	fclose(file);
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!there || !open || !close || close[1] != ' ')
		return false;
	*close = 0;
	for (char *c = open + 1; *c; c++)
		*c = isprint((unsigned char)*c) ? *c : '?';
	snprintf(name, room, "%s", open + 1);
	*state = close[2];
	return true;
}

void ctl_process_words(uint32_t pid, char *text, size_t room)
{
	char name[32], state;

	if (!pid) {
		snprintf(text, room, "a process of another user, or on another machine");
		return;
	}
	if (!process_stat(pid, name, sizeof(name), &state)) {
		snprintf(text, room, "pid %u is gone", pid);
		return;
	}
	switch (state) {
	case 'T':
		snprintf(text, room, "pid %u (%s) is stopped: kill -CONT %u lets it go on", pid,
			 name, pid);
		break;
	case 't':
		snprintf(text, room, "pid %u (%s) is stopped by a debugger", pid, name);
		break;
	case 'Z':
	case 'X':
		snprintf(text, room, "pid %u (%s) is gone, and its parent has not waited for it",
			 pid, name);
		break;
	case 'R':
		snprintf(text, room, "pid %u (%s) runs: it polls memory or computes", pid, name);
		break;
	case 'D':
		snprintf(text, room, "pid %u (%s) waits for a disk or a device", pid, name);
		break;
	default:
		snprintf(text, room, "pid %u (%s) sleeps in a system call", pid, name);
	}
}

/* Does the process map a symmetric heap of gda/shmem.h? */
static bool process_maps_heap(uint32_t pid)
{
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, "/memfd:gda-shmem-");
	fclose(file);
	return found;
}

size_t ctl_process_mapped(size_t most)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char text[256];
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid || !process_maps_heap(pid) || n++ >= most)
			continue;
		ctl_process_words(pid, text, sizeof(text));
		printf("by mapped memory: %s\n", text);
	}
	if (dir)
		closedir(dir);
	return n;
}
