// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * replay DIR - every input of a corpus once more, and mutations of each from a seed that
 * is its name, without libFuzzer: the same ones wherever and beside whatever the file
 * lies. Speaks KTAP.
 */
#include <dirent.h>
#include "fuzz.h"

#define INPUT_MAX	4096
#define MUTATIONS	200

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

static void mutate(uint8_t *buf, size_t *size)
{
	for (uint32_t i = below(4) + 1; i > 0; i--) {
		if (*size < INPUT_MAX && !below(4))
			buf[(*size)++] = (uint8_t)below(256);
		else if (*size)
			buf[below((uint32_t)*size)] = (uint8_t)below(256);
	}
}

static void seed(const char *name)
{
	state = 0xcbf29ce484222325ULL;
	for (; *name; name++)
		state = (state ^ (uint8_t)*name) * 0x100000001b3ULL;
	state += !state;
}

/* Return: executions, 0 if there is no such file. */
static unsigned long replay(const char *dir, const char *name)
{
	static uint8_t input[INPUT_MAX], buf[INPUT_MAX];
	char path[1024];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = name[0] == '.' ? NULL : fopen(path, "rb");
	if (!f)
		return 0;
	size = fread(input, 1, sizeof(input), f);
	fclose(f);
	seed(name);
	for (int i = 0; i <= MUTATIONS; i++) {
		size_t n = size;

		memcpy(buf, input, size);
		if (i)
			mutate(buf, &n);
		LLVMFuzzerTestOneInput(buf, n);
	}
	return 1 + MUTATIONS;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
	unsigned long files = 0, runs = 0;
	struct dirent **e;
	int n = argc == 2 ? scandir(argv[1], &e, NULL, by_name) : -1;

	if (n < 0) {
		fprintf(stderr, "usage: replay DIR\n");
		return 2;
	}
	printf("TAP version 13\n1..1\n");
	for (int i = 0; i < n; i++) {
		unsigned long did = replay(argv[1], e[i]->d_name);

		runs += did;
		files += did > 0;
		free(e[i]);
	}
	free(e);
	printf("# %lu inputs, %lu executions\n", files, runs);
	printf("%s 1 %s\n", files ? "ok" : "not ok", argv[1]);
	return !files;
}
