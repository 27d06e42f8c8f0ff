// SPDX-License-Identifier: MIT
/*
 * While ranks live and none of them calls the library, its threads sleep: the hub's, and the one
 * that listens to it.
 */
#include <dirent.h>
#include <stdio.h>
#include "ranks.h"

#define IDLE_SECONDS	2

/* How often the threads of this process but the first have gone to sleep until now. */
static unsigned long sleeps(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned long sum = 0, n;
	struct dirent *entry;
	char path[300], line[128];
	FILE *file;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
				sum += n;
		if (file)
			fclose(file);
	}
	closedir(dir);
	return sum;
}

TEST(item_12_the_hub_sleeps)
{
	struct r_rank r[4] = { { 0 } };
	unsigned long before, after;
	struct gda_comm_id id;
	uint32_t i;

	ASSERT_OK(gda_comm_id_create(NULL, &id));
	for (i = 0; i < 4; i++)
		r[i] = (struct r_rank) { .id = &id, .rank = i, .nranks = 4 };
	for (i = 1; i < 4; i++) {
		r[i].pid = fork();
		if (r[i].pid)
			continue;
		if (!r_create(&r[i]) && !gda_comm_barrier(r[i].comm, 0))
			for (;;)
				pause();
		_exit(1);
	}
	ASSERT_OK(r_create(&r[0])) TH_LOG("%s", r[0].why);
	ASSERT_OK(gda_comm_barrier(r[0].comm, 0));
	/* what the barrier has left to do is done */
	usleep(200000);
	before = sleeps();
	sleep(IDLE_SECONDS);
	after = sleeps();
	ASSERT_NE(0, before);
	printf("# the hub's process has woken %lu times in %d s\n", after - before, IDLE_SECONDS);
	EXPECT_LE(after - before, 5);
	/* nor does it sleep when a rank ends */
	kill(r[3].pid, SIGKILL);
	EXPECT_EQ(-ECONNRESET, gda_comm_barrier(r[0].comm, 0));
	for (i = 1; i < 4; i++) {
		kill(r[i].pid, SIGKILL);
		waitpid(r[i].pid, NULL, 0);
	}
	gda_comm_destroy(r[0].comm);
}

TEST_HARNESS_MAIN
