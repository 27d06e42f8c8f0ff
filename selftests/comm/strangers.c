// SPDX-License-Identifier: MIT
/*
 * Connections to the hub that are not ranks: they say nothing, lie, say too much, or are
 * very many. The ranks find each other all the same, and nothing of a stranger counts.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include "comm_internal.h"
#include "ranks.h"
#include "siphash.h"

/* Of the reference implementation, and of OpenSSL: the key and the text are 0, 1, 2... */
TEST(siphash_of_the_reference)
{
	static const unsigned char want[16] = {
		0x47, 0x3d, 0x06, 0xe8, 0x73, 0x8d, 0xb8, 0x98,
		0x54, 0xc0, 0x66, 0xc4, 0x7a, 0xe4, 0x77, 0x40,
	};
	unsigned char nonce[16], tag[16];
	struct gda_comm_secret secret;
	unsigned int i;

	for (i = 0; i < sizeof(nonce); i++)
		secret.bytes[i] = (unsigned char)i;
	memcpy(nonce, secret.bytes, sizeof(nonce));
	gda_comm_tag(&secret, (enum gda_comm_side)16, nonce, tag);
	EXPECT_EQ(0, memcmp(want, tag, 16));
	EXPECT_TRUE(gda_comm_tag_equal(want, tag));
	tag[15] ^= 1;
	EXPECT_FALSE(gda_comm_tag_equal(want, tag));
}

/* Of the paper, appendix A, and of the kernel's own test: 15 bytes and the key are 0, 1, 2... */
TEST(siphash_of_the_paper)
{
	const struct gda_siphash_key key = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };
	unsigned char text[15];
	unsigned int i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)i;
	EXPECT_EQ(0xa129ca6149be45e5ULL, gda_siphash(text, sizeof(text), &key));
}

static int stranger(const struct gda_comm_id *id)
{
	struct sockaddr_storage addr;
	struct gda_comm_secret secret;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (gda_comm_id_parse(id, &secret, &addr) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Whether the hub ends the connection within some seconds; what it says is dropped. */
static bool ended(int fd)
{
	uint64_t until = gda_clock_ns() + 30 * R_SECOND;
	char bytes[256];

	while (gda_clock_ns() < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 100) > 0 && read(fd, bytes, sizeof(bytes)) <= 0)
			return true;
	}
	return false;
}

/* Two ranks, of which the second comes when the test lets it. */
FIXTURE(hub) {
	struct gda_comm_id id;
	struct gda_comm_secret secret;
	struct r_rank first, second;
};

FIXTURE_SETUP(hub)
{
	struct sockaddr_storage addr;

	memset(self, 0, sizeof(*self));
	ASSERT_OK(gda_comm_id_create(NULL, &self->id));
	ASSERT_OK(gda_comm_id_parse(&self->id, &self->secret, &addr));
	self->first = (struct r_rank) { .id = &self->id, .nranks = 2,
					.timeout_ns = 60 * R_SECOND };
	self->second = self->first;
	self->second.rank = 1;
	ASSERT_OK(pthread_create(&self->first.thread, NULL, r_main, &self->first));
}

/* It all was in vain: the ranks find each other. */
FIXTURE_TEARDOWN(hub)
{
	EXPECT_OK(r_create(&self->second));
	if (!self->second.created)
		gda_comm_destroy(self->second.comm);
	pthread_join(self->first.thread, NULL);
	EXPECT_OK(self->first.created);
}

TEST_F(hub, silence_ends)
{
	int fd = stranger(&self->id);

	ASSERT_LE(0, fd);
	EXPECT_TRUE(ended(fd));
	close(fd);
}

/* The first rank has found its second: for the teardown, another two. */
static void another_two(struct __test_metadata *_metadata, FIXTURE_DATA(hub) *self)
{
	pthread_join(self->first.thread, NULL);
	ASSERT_OK(self->first.created);
	ASSERT_OK(gda_comm_id_create(NULL, &self->id));
	ASSERT_OK(pthread_create(&self->first.thread, NULL, r_main, &self->first));
}

TEST_F(hub, very_many)
{
	int fds[600], i;

	for (i = 0; i < 600; i++)
		fds[i] = stranger(&self->id);
	/* while they are there: the oldest make room */
	EXPECT_OK(r_create(&self->second));
	gda_comm_destroy(self->second.comm);
	for (i = 0; i < 600; i++)
		close(fds[i]);
	another_two(_metadata, self);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * R_SECOND + (uint64_t)ts.tv_nsec;
}

/* The connection that cannot be accepted stays pending; the hub does not spin meanwhile. */
TEST_F(hub, out_of_descriptors)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), more[256], n = 0;
	struct timespec half = { .tv_nsec = R_SECOND / 2 };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct gda_comm_secret secret;
	struct sockaddr_storage addr;
	struct rlimit old, none;
	char said[64];
	struct pollfd up = { .fd = stranger(&self->id), .events = POLLIN };
	uint64_t before;

	/* the hub has what it needs, and lets go of no descriptor later */
	ASSERT_EQ(1, poll(&up, 1, 10000));
	while (recv(up.fd, said, sizeof(said), 0) > 0)
		;
	ASSERT_OK(gda_comm_id_parse(&self->id, &secret, &addr));
	ASSERT_OK(getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	/* less than the hub has room for guests */
	none.rlim_cur = 64;
	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &none));
	while (n < 256 && (more[n] = dup(fd)) >= 0)
		n++;
	ASSERT_LT(0, n);
	ASSERT_OK(connect(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)));
	before = cpu_ns();
	nanosleep(&half, NULL);
	EXPECT_GT(R_SECOND / 10, cpu_ns() - before);
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &old));
	/* it is heard then: the hub says its nonce */
	EXPECT_EQ(1, poll(&p, 1, 10000));
	while (n)
		close(more[--n]);
	close(fd);
	close(up.fd);
}

/* With few descriptors the ranks find each other; with too few rank 0 says so at once. */
TEST(few_descriptors)
{
	struct rlimit old, few;
	struct gda_comm_id id;
	struct r_rank r[2];

	ASSERT_OK(getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	few.rlim_cur = 32;
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &few));
	r_run(r, 2, 2, 30 * R_SECOND, &id, NULL);
	EXPECT_OK(r[0].created) TH_LOG("%s", r[0].why);
	EXPECT_OK(r[1].created) TH_LOG("%s", r[1].why);
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	r[0] = (struct r_rank) { .id = &id, .nranks = 100, .timeout_ns = 30 * R_SECOND };
	EXPECT_EQ(-EMFILE, r_create(&r[0]));
	EXPECT_STREQ(r[0].why,
		     "gda_comm_create: rank 0 of 100 ranks needs 103 descriptors and more, RLIMIT_NOFILE is 32: raise it, ulimit -n");
	EXPECT_OK(setrlimit(RLIMIT_NOFILE, &old));
}

TEST_F(hub, wrong_proofs)
{
	unsigned char nonce[16], proof[32], tag[16];
	int how;

	for (how = 0; how < 4; how++) {
		int fd = stranger(&self->id);

		ASSERT_LE(0, fd);
		ASSERT_EQ(16, recv(fd, nonce, 16, MSG_WAITALL));
		memset(proof, 0, sizeof(proof));
		if (how == 1)		/* its own words */
			memcpy(proof, nonce, 16);
		if (how == 2) {		/* right but for a bit */
			gda_comm_tag(&self->secret, GDA_COMM_RANK, nonce, proof);
			proof[0] ^= 1;
		}
		if (how == 3)		/* that of the other side */
			gda_comm_tag(&self->secret, GDA_COMM_HUB, nonce, proof);
		ASSERT_EQ(32, send(fd, proof, 32, MSG_NOSIGNAL));
		/* and not a byte of an answer */
		EXPECT_GE(0, recv(fd, tag, 16, MSG_WAITALL));
		close(fd);
	}
}

/* Answer the hub as a rank does, that is, with the secret. */
static bool answer(int fd, const struct gda_comm_secret *secret)
{
	unsigned char nonce[16], proof[32] = { 0 }, tag[16];

	if (recv(fd, nonce, 16, MSG_WAITALL) != 16)
		return false;
	gda_comm_tag(secret, GDA_COMM_RANK, nonce, proof);
	return send(fd, proof, 32, MSG_NOSIGNAL) == 32 && recv(fd, tag, 16, MSG_WAITALL) == 16;
}

/* One that was too slow for its second comes again, as a rank does. */
static int insider(const struct gda_comm_id *id, const struct gda_comm_secret *secret)
{
	for (int i = 0; i < 20; i++) {
		int fd = stranger(id);

		if (fd < 0 || answer(fd, secret))
			return fd;
		close(fd);
	}
	return -1;
}

TEST_F(hub, nonsense_behind_a_good_proof)
{
	static const struct gda_comm_frame frames[] = {
		{ .kind = 0 }, { .kind = GDA_COMM_BYE }, { .kind = GDA_COMM_GATHER },
		{ .kind = GDA_COMM_HELLO, .bytes = 0, .a = 1, .b = 2 },
		{ .kind = GDA_COMM_HELLO, .bytes = 1, .a = 2, .b = 2 },
		{ .kind = GDA_COMM_HELLO, .bytes = 1, .a = 1, .b = 3 },
		{ .kind = GDA_COMM_HELLO, .bytes = 0xffffffff, .a = 1, .b = 2 },
		{ .kind = GDA_COMM_RESULT, .bytes = 1 },
	};
	unsigned char payload[] = { GDA_COMM_VERSION };
	size_t i;

	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		int fd = insider(&self->id, &self->secret);

		ASSERT_LE(0, fd);
		ASSERT_EQ(24, send(fd, &frames[i], 24, MSG_NOSIGNAL));
		if (frames[i].bytes)
			send(fd, payload, 1, MSG_NOSIGNAL);
		EXPECT_TRUE(ended(fd)) {
			TH_LOG("frame %zu", i);
		}
		close(fd);
	}
}

/* A rank that is stopped for longer than a proof may take, but behind its proof, still joins. */
TEST_F(hub, late_hello)
{
	struct gda_comm_frame hello = {
		.kind = GDA_COMM_HELLO, .bytes = sizeof(struct gda_comm_hello), .a = 1, .b = 2,
		.time = 30 * R_SECOND,
	}, welcome = { 0 };
	struct gda_comm_hello body = { .version = GDA_COMM_VERSION };
	int fd = insider(&self->id, &self->secret);
	struct timespec late = { .tv_sec = 2 };

	ASSERT_LE(0, fd);
	nanosleep(&late, NULL);
	ASSERT_EQ(sizeof(hello), send(fd, &hello, sizeof(hello), MSG_NOSIGNAL));
	ASSERT_EQ(sizeof(body), send(fd, &body, sizeof(body), MSG_NOSIGNAL));
	EXPECT_EQ(sizeof(welcome), recv(fd, &welcome, sizeof(welcome), MSG_WAITALL));
	EXPECT_EQ((uint32_t)GDA_COMM_WELCOME, welcome.kind);
	close(fd);
	another_two(_metadata, self);
}

/* One that proves itself and then says nothing has some seconds, and no more. */
TEST_F(hub, half_a_hello)
{
	int fd = insider(&self->id, &self->secret);

	ASSERT_LE(0, fd);
	ASSERT_EQ(10, send(fd, "\1\0\0\0\1\0\0\0\1", 10, MSG_NOSIGNAL));
	EXPECT_TRUE(ended(fd));
	close(fd);
}

/* A hub that does not know the secret is not believed. */
TEST(a_false_hub)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct r_rank r = { .rank = 1, .nranks = 2, .timeout_ns = 5 * R_SECOND };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	socklen_t length = sizeof(addr);
	unsigned char bytes[32] = { 0 };
	struct gda_comm_id id;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ASSERT_OK(bind(listener, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_OK(listen(listener, 1));
	ASSERT_OK(getsockname(listener, (struct sockaddr *)&addr, &length));
	snprintf(id.text, sizeof(id.text), "gda1 127.0.0.1 %u %032x", ntohs(addr.sin_port), 7);
	r.id = &id;
	pthread_create(&r.thread, NULL, r_main, &r);
	fd = accept(listener, NULL, NULL);
	ASSERT_EQ(16, send(fd, bytes, 16, MSG_NOSIGNAL));
	ASSERT_EQ(32, recv(fd, bytes, 32, MSG_WAITALL));
	/* what the rank said itself */
	ASSERT_EQ(16, send(fd, bytes, 16, MSG_NOSIGNAL));
	pthread_join(r.thread, NULL);
	EXPECT_EQ(-EACCES, r.created);
	close(fd);
	close(listener);
}

TEST_HARNESS_MAIN
