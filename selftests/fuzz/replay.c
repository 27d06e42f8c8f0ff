// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * replay DIR - every input of a corpus once more, and mutations of each from a fixed
 * seed, without libFuzzer. Speaks KTAP.
 */
#include <dirent.h>
#include "fuzz.h"

#define INPUT_MAX	4096
#define MUTATIONS	200

static uint64_t state = 1;

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

int main(int argc, char **argv)
{
	static uint8_t input[INPUT_MAX], buf[INPUT_MAX];
	unsigned long files = 0, runs = 0;
	struct dirent *e;
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;

	if (!dir) {
		fprintf(stderr, "usage: replay DIR\n");
		return 2;
	}
	printf("TAP version 13\n1..1\n");
	while ((e = readdir(dir))) {
		char path[1024];
		size_t size;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (!f)
			continue;
		size = fread(input, 1, sizeof(input), f);
		fclose(f);
		files++;
		for (int i = 0; i <= MUTATIONS; i++, runs++) {
			size_t n = size;

			memcpy(buf, input, size);
			if (i)
				mutate(buf, &n);
			LLVMFuzzerTestOneInput(buf, n);
		}
	}
	closedir(dir);
	printf("# %lu inputs, %lu executions\n", files, runs);
	printf("%s 1 %s\n", files ? "ok" : "not ok", argv[1]);
	return !files;
}
