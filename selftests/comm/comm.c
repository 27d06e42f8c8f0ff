// SPDX-License-Identifier: MIT
/*
 * Communicators: collective calls, parts, and every way in which a rank can be missed.
 */
#include <dirent.h>
#include <gda/view.h>
#include <time.h>
#include "../lib/repeat.h"
#include "ranks.h"

static int body_gather(struct r_rank *r)
{
	uint32_t out[R_MAX], i, k;
	char *big = malloc(R_MAX * 65536);

	for (i = 0; i < 50; i++) {
		uint32_t in = r->rank * 1000 + i;
		size_t bytes = 1 + i * 1313;

		if (gda_comm_allgather(r->comm, &in, sizeof(in), out, 0))
			return 1;
		for (k = 0; k < r->nranks; k++)
			if (out[k] != k * 1000 + i)
				return 2;
		memset(big + r->rank * bytes, (int)(r->rank + i), bytes);
		if (gda_comm_allgather(r->comm, big + r->rank * bytes, bytes, big, 0))
			return 3;
		for (k = 0; k < r->nranks; k++)
			if (big[k * bytes] != (char)(k + i) ||
			    big[(k + 1) * bytes - 1] != (char)(k + i))
				return 4;
		if (gda_comm_barrier(r->comm, 0))
			return 5;
	}
	free(big);
	return gda_comm_rank(r->comm) != r->rank || gda_comm_size(r->comm) != r->nranks;
}

TEST(threads_gather)
{
	uint32_t counts[] = { 1, 2, 5, 16 };

	for (int i = 0; i < 4; i++)
		EXPECT_ALL(counts[i], 0, body_gather);
}

TEST(ids_are_text_and_differ)
{
	struct gda_comm_id a, b;

	ASSERT_OK(gda_comm_id_create(NULL, &a));
	ASSERT_OK(gda_comm_id_create("lo", &b));
	EXPECT_STRNE(a.text, b.text);
	EXPECT_EQ(0, strncmp(a.text, "gda1 127.0.0.1 ", 15));
	EXPECT_EQ(0, strncmp(b.text, "gda1 127.0.0.1 ", 15));
	EXPECT_EQ(-ENODEV, gda_comm_id_create("no such", &b));
	EXPECT_STREQ(gda_last_error(),
		     "gda_comm_id_create: there is no interface \"no such\" with an address: choose one that ip address shows");
}

TEST(arguments)
{
	static const char *const texts[] = {
		"", "gda1", "gda1 127.0.0.1 1",
		"gda1 127.0.0.1 70000 0123456789abcdef0123456789abcdef",
		"gda1 host 1 0123456789abcdef0123456789abcdef", "gda1 127.0.0.1 1 0123",
		"gda1 127.0.0.1 1 0123456789abcdef0123456789abcdeg",
		"gda2 127.0.0.1 1 0123456789abcdef0123456789abcdef",
	};
	struct {
		struct gda_comm_attr attr;
		uint64_t later;
	} grown = { .attr = { .size = sizeof(grown), .nranks = 1 } };
	struct gda_comm_attr attr = { .size = sizeof(attr), .nranks = 2 };
	struct gda_comm *comm = NULL;
	struct gda_comm_id id;
	size_t i;

	EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm));
	EXPECT_STREQ("gda_comm_create: id and allgather are NULL: set one of them",
		     gda_last_error());
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	attr.id = &id;
	attr.rank = 2;
	EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm));
	EXPECT_STREQ("gda_comm_create: rank 2: set it to one of 0 to 1", gda_last_error());
	attr.rank = 0;
	attr.nranks = GDA_COMM_MAX_RANKS + 1;
	EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm));
	attr.nranks = 2;
	attr.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_comm_create(&attr, &comm));
	attr.flags = 0;
	attr.size = 8;
	EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm));
	attr.size = sizeof(attr);
	attr.timeout_ns = R_SECOND;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(id.text, sizeof(id.text), "%s", texts[i]);
		attr.rank = i % 2;
		EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm)) {
			TH_LOG("%s", texts[i]);
		}
		EXPECT_STREQ(gda_last_error(),
			     "gda_comm_create: id is no text of gda_comm_id_create(): pass all of it on");
	}
	memset(id.text, 'a', sizeof(id.text));
	EXPECT_EQ(-EINVAL, gda_comm_create(&attr, &comm));

	ASSERT_OK(gda_comm_create(&grown.attr, &comm));
	gda_comm_destroy(comm);
	grown.later = 1;
	EXPECT_EQ(-E2BIG, gda_comm_create(&grown.attr, &comm));
	gda_comm_destroy(NULL);
}

/* An all-gather of the caller's: rank 0 leaves its bytes, the others wait for them. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned char bytes[R_MAX][256];
	uint32_t came;
} board = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { { 0 } }, 0 };

static int board_gather(void *arg, const void *in, size_t bytes, void *out)
{
	struct r_rank *r = arg;
	uint32_t k;

	pthread_mutex_lock(&board.lock);
	memcpy(board.bytes[r->rank], in, bytes);
	board.came++;
	pthread_cond_broadcast(&board.changed);
	while (board.came < r->nranks)
		pthread_cond_wait(&board.changed, &board.lock);
	for (k = 0; k < r->nranks; k++)
		memcpy((char *)out + k * bytes, board.bytes[k], bytes);
	pthread_mutex_unlock(&board.lock);
	return 0;
}

static void *board_main(void *arg)
{
	struct r_rank *r = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = r->rank, .nranks = r->nranks,
		.allgather = board_gather, .arg = r,
	};

	r->created = gda_comm_create(&attr, &r->comm);
	r->result = r->created ? 1 : body_gather(r);
	if (!r->created)
		gda_comm_destroy(r->comm);
	return NULL;
}

TEST(callers_allgather)
{
	struct r_rank r[3] = { { 0 } };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		r[i].rank = i;
		r[i].nranks = 3;
		pthread_create(&r[i].thread, NULL, board_main, &r[i]);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(r[i].thread, NULL);
		EXPECT_OK(r[i].created);
		EXPECT_OK(r[i].result);
	}
}

TEST(a_rank_that_never_comes)
{
	const char *why = "gda_comm_create: 1 of 3 ranks did not join in time, "
			  "their own output may say why: 2";
	uint64_t patience = R_SECOND / 2;
	struct r_rank r[3];
	struct gda_comm_id id;
	uint32_t i;

	/* rank 2 of 3; on a busy machine rank 1 may be too late, too: more patience then */
	for (i = 0; i < 3; i++, patience *= 6) {
		ASSERT_OK(gda_comm_id_create(NULL, &id));
		r_run(r, 2, 3, patience, &id, NULL);
		if (!strcmp(why, r[0].why) && !strcmp(why, r[1].why))
			break;
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ETIMEDOUT, r[i].created);
		EXPECT_STREQ(why, r[i].why);
		EXPECT_GT(R_SECOND * 60, r[i].took_ns);
	}
	/* the one that began later is told by the deadline of the other */
	EXPECT_LE(R_SECOND / 2, r[0].took_ns > r[1].took_ns ? r[0].took_ns : r[1].took_ns);
	/* rank 0: somebody listens, but does not answer */
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	memset(r, 0, sizeof(r));
	r[1] = (struct r_rank) { .id = &id, .rank = 1, .nranks = 2, .timeout_ns = R_SECOND / 4 };
	EXPECT_EQ(-ETIMEDOUT, r_create(&r[1]));
	EXPECT_STREQ(r[1].why,
		     "gda_comm_create: 1 of 2 ranks did not join in time, their own output may say why: 0");
	/* nobody listens */
	snprintf(id.text, sizeof(id.text), "gda1 127.0.0.1 1 %032x", 7);
	EXPECT_EQ(-ETIMEDOUT, r_create(&r[1]));
}

/* Does the last error begin so? */
static bool says(const char *text)
{
	if (!strncmp(gda_last_error(), text, strlen(text)))
		return true;
	printf("# \"%s\", not \"%s\"\n", gda_last_error(), text);
	return false;
}

static int body_late(struct r_rank *r)
{
	uint64_t begin;
	int err;

	if (gda_comm_barrier(r->comm, 0))
		return 1;
	begin = gda_clock_ns();
	if (r->rank == 1) {
		/* too late, and told so; the others are not, however slow this machine is */
		while (gda_comm_failed(r->comm) < 0)
			usleep(10000);
		return gda_comm_barrier(r->comm, 0) != -ETIMEDOUT;
	}
	err = gda_comm_barrier(r->comm, begin + 3 * R_SECOND);
	if (err != -ETIMEDOUT || gda_comm_failed(r->comm) != 1 ||
	    gda_comm_state(r->comm, 1) != -ETIMEDOUT ||
	    gda_comm_state(r->comm, 2) == -ETIMEDOUT ||
	    *gda_comm_abort_word(r->comm, 1) != 1 || *gda_comm_abort_word(r->comm, 2))
		return 2;
	if (!says("gda_comm_barrier: 1 of 3 ranks did not make this call in time: rank 1 ("))
		return 3;
	/* for good, and at once */
	return gda_comm_barrier(r->comm, 0) != -ETIMEDOUT;
}

TEST(a_rank_that_is_late)
{
	EXPECT_ALL(3, 30 * R_SECOND, body_late);
}

static int body_leave(struct r_rank *r)
{
	int err;

	if (gda_comm_barrier(r->comm, 0))
		return 1;
	if (r->rank == 1)
		return 0;
	err = gda_comm_barrier(r->comm, 0);
	if (!says("gda_comm_barrier: rank 1 of 3 has left by gda_comm_destroy(): "))
		return 2;
	return err != -ESHUTDOWN || gda_comm_state(r->comm, 1) != -ESHUTDOWN ||
	       gda_comm_failed(r->comm) != -1 || *gda_comm_abort_word(r->comm, 1);
}

TEST(a_rank_that_leaves)
{
	EXPECT_ALL(3, 5 * R_SECOND, body_leave);
}

/* The first and the last see the others go, who do not wait for each other. */
static int body_leave_together(struct r_rank *r)
{
	uint32_t k;
	int state;

	if (gda_comm_barrier(r->comm, 0))
		return 1;
	if (r->rank && r->rank < r->nranks - 1)
		return 0;
	for (k = 1; k < r->nranks - 1; k++) {
		do
			state = gda_comm_state(r->comm, k);
		while (!state && !usleep(100));
		if (state != -ESHUTDOWN)
			return 2;
	}
	return gda_comm_failed(r->comm) == -1 ? 0 : 3;
}

TEST(ranks_that_leave_together)
{
	uint32_t rounds = test_times() > 1 ? 2000 : 100;

	while (rounds--)
		EXPECT_ALL(R_MAX, 0, body_leave_together);
}

static int body_unequal(struct r_rank *r)
{
	char bytes[R_MAX * 8] = { 0 };

	if (gda_comm_allgather(r->comm, bytes, r->rank ? 8 : 4, bytes, 0) != -EPROTO)
		return 1;
	/* in the order in which the hub heard them */
	return !says(strstr(gda_last_error(), "rank 0 gives") ?
		     "gda_comm_allgather: rank 0 gives 4 bytes, rank " :
		     strstr(gda_last_error(), "rank 1 gives") ?
		     "gda_comm_allgather: rank 1 gives 8 bytes, rank 0 gave 4: pass the same " :
		     "gda_comm_allgather: rank 2 gives 8 bytes, rank 0 gave 4: pass the same ");
}

TEST(ranks_that_disagree)
{
	struct r_rank r[2];
	struct gda_comm_id id;

	EXPECT_ALL(3, 5 * R_SECOND, body_unequal);
	/* on how many they are */
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	r[0] = (struct r_rank) { .id = &id, .nranks = 2, .timeout_ns = R_SECOND };
	r[1] = (struct r_rank) { .id = &id, .rank = 1, .nranks = 3, .timeout_ns = R_SECOND };
	pthread_create(&r[0].thread, NULL, r_main, &r[0]);
	EXPECT_EQ(-EPROTO, r_create(&r[1]));
	EXPECT_STREQ(r[1].why,
		     "gda_comm_create: this is rank 1 of 3, rank 0 is one of 2 ranks: give all ranks the same number");
	/* and on who is which */
	r[1] = (struct r_rank) { .id = &id, .rank = 0, .nranks = 2, .timeout_ns = R_SECOND };
	EXPECT_EQ(-EINVAL, r_create(&r[1]));
	EXPECT_NE(NULL, strstr(r[1].why, "rank 0 calls gda_comm_id_create()"));
	pthread_join(r[0].thread, NULL);
	EXPECT_EQ(-ETIMEDOUT, r[0].created);
}

static int body_split(struct r_rank *r)
{
	struct gda_comm *part, *machine;
	uint32_t color = r->rank == 4 ? GDA_COMM_NO_COLOR : r->rank % 2, in, out[R_MAX], k;

	if (gda_comm_split(r->comm, color, 0, &part) || (r->rank == 4 && part))
		return 1;
	if (part) {
		if (gda_comm_size(part) != 2 || gda_comm_rank(part) != r->rank / 2)
			return 3;
		in = r->rank;
		if (gda_comm_allgather(part, &in, sizeof(in), out, 0))
			return 4;
		for (k = 0; k < 2; k++)
			if (out[k] != 2 * k + color)
				return 5;
		gda_comm_destroy(part);
	}
	if (gda_comm_split_machine(r->comm, 0, &machine))
		return 6;
	k = gda_comm_size(machine) != r->nranks || gda_comm_rank(machine) != r->rank;
	gda_comm_destroy(machine);
	return k ? 7 : 0;
}

TEST(parts)
{
	EXPECT_ALL(5, 10 * R_SECOND, body_split);
}

/* The body of a rank that is a process; its exit status says what went wrong. */
static int process(struct r_rank *r, uint32_t victim, const int *go)
{
	struct gda_view v = { 0 };
	char byte, why[128];
	uint64_t until;

	if (r_create(r) || gda_comm_watch(r->comm, victim, &v) ||
	    gda_comm_watch(r->comm, 99, &v) != -EINVAL || gda_comm_barrier(r->comm, 0))
		return 1;
	if (r->rank == victim) {
		(void)!read(go[0], &byte, 1);
		raise(SIGKILL);
	}
	/* the word is set though nobody calls */
	until = gda_clock_ns() + 20 * R_SECOND;
	while (!gda_nic_load32((const uint32_t *)(uintptr_t)v.abort))
		if (gda_clock_ns() > until)
			return 2;
	if (gda_comm_failed(r->comm) != (int)victim ||
	    gda_comm_state(r->comm, victim) != -ECONNRESET)
		return 3;
	if (gda_comm_barrier(r->comm, 0) != -ECONNRESET)
		return 4;
	snprintf(why, sizeof(why), "gda_comm_barrier: rank %u of 4 died, or ended without gda_comm_destroy(): its output, or gda-run's, says which",
		 victim);
	return says(why) ? 0 : 5;
}

TEST(a_rank_that_dies_is_named)
{
	uint32_t victim, i;

	for (victim = 0; victim < 4; victim++) {
		struct r_rank r[4] = { { 0 } };
		struct gda_comm_id id;
		int go[2], status;

		ASSERT_OK(pipe(go));
		ASSERT_OK(gda_comm_id_create(NULL, &id));
		for (i = 0; i < 4; i++) {
			r[i] = (struct r_rank) { .id = &id, .rank = i, .nranks = 4 };
			r[i].pid = fork();
			if (!r[i].pid)
				_exit(process(&r[i], victim, go));
		}
		ASSERT_EQ(1, write(go[1], "", 1));
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(r[i].pid, waitpid(r[i].pid, &status, 0));
			EXPECT_EQ(i == victim ? SIGKILL : 0, status);
		}
		close(go[0]);
		close(go[1]);
	}
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Rank 0 would have the id of a part of two; the other leaves before it is told. */
static int body_half_split(struct r_rank *r)
{
	struct { uint64_t vote; struct gda_comm_id id; } own = { 0 }, all[2];
	struct gda_comm *part = NULL;

	if (r->rank)
		return gda_comm_allgather(r->comm, &own, sizeof(own), all, 0);
	return gda_comm_split(r->comm, 0, 0, &part) == -ESHUTDOWN ? 0 : 1;
}

/* The socket that listens for ranks is closed where none will come. */
TEST(no_socket_is_left)
{
	int before = open_files(), i;
	struct gda_comm_id id;
	struct r_rank r[2];

	for (i = 0; i < 3; i++) {
		ASSERT_OK(gda_comm_id_create(NULL, &id));
		r_run(r, 1, 1, 0, &id, NULL);
		EXPECT_OK(r[0].created);
		EXPECT_EQ(before, open_files());
		ASSERT_OK(gda_comm_id_create(NULL, &id));
		r_run(r, 2, 2, 0, &id, body_half_split);
		EXPECT_OK(r[0].result);
		EXPECT_OK(r[1].result);
		EXPECT_EQ(before, open_files());
	}
}

static int body_for_ever(struct r_rank *r)
{
	struct gda_comm *part = NULL;
	uint32_t out[R_MAX];

	if (gda_comm_allgather(r->comm, &r->rank, sizeof(r->rank), out, UINT64_MAX) ||
	    gda_comm_barrier(r->comm, UINT64_MAX - 1) || gda_comm_barrier(r->comm, 0) ||
	    gda_comm_split(r->comm, 0, UINT64_MAX, &part))
		return 1;
	gda_comm_destroy(part);
	return 0;
}

/* The longest deadline and the longest time-out are none that have passed. */
TEST(deadlines_that_never_come)
{
	EXPECT_ALL(2, 0, body_for_ever);
	EXPECT_ALL(2, UINT64_MAX, body_for_ever);
}

static void *kills_in_a_second(void *arg)
{
	const struct timespec second = { .tv_sec = 1 };

	nanosleep(&second, NULL);
	kill(*(pid_t *)arg, SIGKILL);
	return NULL;
}

/* A rank that waits for room at rank 0, which has stopped, sees its end; the deadline is never. */
TEST(rank_0_dies_while_it_has_no_room)
{
	enum { BYTES = 1 << 20 };
	struct gda_comm_id id;
	struct r_rank r = { .id = &id, .nranks = 2, .timeout_ns = 10 * R_SECOND };
	char *in = calloc(1, BYTES), *out = calloc(2, BYTES);
	int status;

	ASSERT_OK(gda_comm_id_create("lo", &id));
	r.pid = fork();
	if (!r.pid) {
		if (!r_create(&r))
			raise(SIGSTOP);
		_exit(1);
	}
	r.rank = 1;
	ASSERT_OK(r_create(&r)) TH_LOG("%s", r.why);
	ASSERT_EQ(r.pid, waitpid(r.pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_OK(pthread_create(&r.thread, NULL, kills_in_a_second, &r.pid));
	EXPECT_EQ(-ECONNRESET, gda_comm_allgather(r.comm, in, BYTES, out, UINT64_MAX));
	pthread_join(r.thread, NULL);
	EXPECT_EQ(r.pid, waitpid(r.pid, &status, 0));
	gda_comm_destroy(r.comm);
	free(in);
	free(out);
}

TEST(a_child_of_fork)
{
	struct gda_comm *comm;
	struct gda_comm_attr attr = { .size = sizeof(attr), .nranks = 1 };
	char byte = 1, out = 0;
	int status;
	pid_t pid;

	ASSERT_OK(gda_comm_create(&attr, &comm));
	pid = fork();
	if (!pid) {
		status = gda_comm_allgather(comm, &byte, 1, &out, 0) != -ENODEV;
		gda_comm_destroy(comm);
		_exit(status);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_OK(gda_comm_allgather(comm, &byte, 1, &out, 0));
	EXPECT_EQ(1, out);
	EXPECT_EQ(NULL, gda_comm_abort_word(comm, 1));
	EXPECT_EQ(-EINVAL, gda_comm_state(comm, 1));
	EXPECT_STREQ("gda_comm_state: rank 1: the communicator has ranks 0 to 0", gda_last_error());
	EXPECT_EQ(-EMSGSIZE, gda_comm_allgather(comm, &byte, GDA_COMM_MAX_GATHER + 1, &out, 0));
	gda_comm_destroy(comm);
}

TEST_HARNESS_MAIN
