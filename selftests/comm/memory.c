// SPDX-License-Identifier: MIT
/*
 * memory BYTES - a rank for memory.sh: gathers BYTES of each, then rank 0 prints how much memory it
 * and the one of the others that has most took for it, in KiB, and fails if it took over four
 * times as much
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/comm.h>
#include <gda/gda.h>

/* The most that was resident, in KiB. */
static long peak(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	long most = 0, own, *all;
	struct gda_comm *comm;
	uint32_t n, i;
	char *in, *out;
	int err = gda_comm_create(NULL, &comm);

	if (err) {
		fprintf(stderr, "%s\n", gda_last_error());
		return 1;
	}
	n = gda_comm_size(comm);
	in = malloc(bytes);
	out = malloc(n * bytes);
	all = calloc(n, sizeof(*all));
	if (!in || !out || !all)
		return 1;
	memset(in, (int)gda_comm_rank(comm), bytes);
	own = -peak();
	err = gda_comm_allgather(comm, in, bytes, out, 0);
	for (i = 0; !err && i < n; i++)
		err = out[i * bytes] != (char)i || out[(i + 1) * bytes - 1] != (char)i;
	own += peak();
	if (!err)
		err = gda_comm_allgather(comm, &own, sizeof(own), all, 0);
	for (i = 1; i < n; i++)
		most = all[i] > most ? all[i] : most;
	if (!gda_comm_rank(comm)) {
		printf("%zu bytes of each of %u ranks: rank 0 took %ld KiB, another %ld KiB\n",
		       bytes, n, all[0], most);
		err = err || all[0] > 4 * most;
	}
	gda_comm_destroy(comm);
	return err != 0;
}
