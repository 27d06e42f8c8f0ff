// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The form of every ioctl, generated from one table: SECURITY.md O1 (sizes) and O2
 * (flags and reserved members), and the numbers and states for which there is none.
 */
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(ioctl) {
	struct t_world w;
	const struct t_call *call;
	union {
		uint8_t buf[T_REQUEST_MAX];
		uint32_t size;
	};
	uint8_t sent[T_REQUEST_MAX];
};

FIXTURE_VARIANT(ioctl) {
	unsigned int nr;
};

#define VARIANT(NAME) \
	FIXTURE_VARIANT_ADD(ioctl, NAME) { .nr = GDA_IOC_NR_##NAME }
VARIANT(BIND);
VARIANT(QUERY);
VARIANT(DESTROY);
VARIANT(REGION_INFO);
VARIANT(CQ_CREATE);
VARIANT(QP_CREATE);
VARIANT(QP_ADDRESS);
VARIANT(QP_CONNECT);
VARIANT(QP_QUERY);
VARIANT(MR_REG_USER);
VARIANT(MR_QUERY);
VARIANT(CQ_EVENT);
VARIANT(COUNTER_CREATE);
VARIANT(MR_REG_DMABUF);
VARIANT(REGION_EXPORT);
VARIANT(MR_REG_PEER);
VARIANT(DEVICE_INFO);
VARIANT(RECORD);
VARIANT(PEER_ADD);

T_SETUP(ioctl)
{
	ASSERT_OK(t_world_open(&self->w));
	self->call = &t_calls[variant->nr];
}

T_TEARDOWN(ioctl)
{
	t_world_close(&self->w);
}

/* Send what is in self->buf: the result; a refused request must come back as sent. */
static int send(FIXTURE_DATA(ioctl) *self, int fd)
{
	int err;

	memcpy(self->sent, self->buf, sizeof(self->buf));
	err = t_ioctl(fd, self->call->nr, self->buf);
	if (err && memcmp(self->sent, self->buf, sizeof(self->buf)))
		return -EUCLEAN;
	return err;
}

TEST_F(ioctl, O1_exact_size)
{
	int fd = t_request(&self->w, variant->nr, self->buf);

	ASSERT_GE(fd, 0);
	ASSERT_OK(send(self, fd));
	EXPECT_EQ(self->call->size, self->size);
	EXPECT_OK(t_request_undo(&self->w, variant->nr, self->buf));
}

TEST_F(ioctl, O1_shorter)
{
	uint32_t min = self->call->min ? self->call->min : self->call->size;

	for (uint32_t size = 0; size < self->call->size; size++) {
		int fd = t_request(&self->w, variant->nr, self->buf);

		ASSERT_GE(fd, 0);
		self->size = size;
		EXPECT_EQ(size < min ? -EINVAL : 0, send(self, fd)) TH_LOG("size %u", size);
		if (size >= min)
			EXPECT_OK(t_request_undo(&self->w, variant->nr, self->buf));
	}
}

TEST_F(ioctl, O1_longer_and_zero)
{
	static const uint32_t more[] = { 1, 4, 8, 64, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		int fd = t_request(&self->w, variant->nr, self->buf);

		ASSERT_GE(fd, 0);
		self->size = self->call->size + more[i];
		EXPECT_OK(send(self, fd)) TH_LOG("%u more", more[i]);
		for (uint32_t k = 0; k < more[i]; k++) {
			EXPECT_EQ(0, self->buf[self->call->size + k]);
		}
		EXPECT_OK(t_request_undo(&self->w, variant->nr, self->buf));
	}
}

TEST_F(ioctl, O1_longer_and_not_zero)
{
	static const uint32_t more[] = { 1, 2, 4, 8, 64, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		for (uint32_t at = 0; at < more[i]; at++) {
			int fd = t_request(&self->w, variant->nr, self->buf);

			ASSERT_GE(fd, 0);
			self->size = self->call->size + more[i];
			self->buf[self->call->size + at] = (uint8_t)(1U << at % 8);
			EXPECT_EQ(-E2BIG, send(self, fd))
				TH_LOG("byte %u of %u more", at, more[i]);
		}
	}
}

/* Sizes that no caller means: an error, in no time. */
TEST_F(ioctl, O1_absurd_size)
{
	static const uint32_t sizes[] = {
		1U << 16, 1U << 20, 1U << 30, 0x7fffffff, 0x80000000, 0xffffffff,
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int fd = t_request(&self->w, variant->nr, self->buf);
		int err;

		ASSERT_GE(fd, 0);
		self->size = sizes[i];
		self->buf[self->call->size] = 1;
		err = send(self, fd);
		EXPECT_TRUE(err == -E2BIG || err == -EFAULT)
			TH_LOG("size %#x: %d", sizes[i], err);
	}
}

TEST_F(ioctl, O2_unknown_bits)
{
	for (size_t f = 0; f < ARRAY_SIZE(self->call->zero); f++) {
		const struct t_field *field = &self->call->zero[f];

		for (uint32_t bit = 0; bit < 8U * field->bytes; bit++) {
			int fd;

			if (bit < 32 && field->known & 1U << bit)
				continue;
			fd = t_request(&self->w, variant->nr, self->buf);
			ASSERT_GE(fd, 0);
			self->buf[field->offset + bit / 8] |= (uint8_t)(1U << bit % 8);
			EXPECT_EQ(-EOPNOTSUPP, send(self, fd))
				TH_LOG("bit %u of %s", bit, field->name);
		}
	}
}

TEST_F(ioctl, unbound_is_ENOTCONN)
{
	int fd, err = t_request(&self->w, variant->nr, self->buf);

	ASSERT_GE(err, 0);
	fd = t_open();
	ASSERT_GE(fd, 0);
	err = send(self, fd);
	if (variant->nr == GDA_IOC_NR_BIND || variant->nr == GDA_IOC_NR_QUERY ||
	    variant->nr == GDA_IOC_NR_DEVICE_INFO) {
		EXPECT_EQ(0, err);
	} else {
		EXPECT_EQ(-ENOTCONN, err);
	}
	close(fd);
}

TEST_F(ioctl, shut_down_is_ENODEV)
{
	ASSERT_GE(t_request(&self->w, variant->nr, self->buf), 0);
	ASSERT_OK(t_shutdown(self->w.fd));
	EXPECT_EQ(-ENODEV, send(self, self->w.fd));
}

TEST_F(ioctl, bad_pointer_is_EFAULT)
{
	static const uint64_t bad[] = {
		0, 1, 0x7ffffffff000, 0xffff888000000000, 0xffffffff81000000,
		0xffffffffff600000, UINT64_MAX - 3,
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int fd = t_request(&self->w, variant->nr, self->buf);

		ASSERT_GE(fd, 0);
		/* In 32 bits it would be another one. */
		if ((uintptr_t)bad[i] != bad[i])
			continue;
		EXPECT_EQ(-EFAULT, t_ioctl(fd, self->call->nr, (void *)(uintptr_t)bad[i]))
			TH_LOG("%#llx", (unsigned long long)bad[i]);
	}
}

FIXTURE(number) {
	struct t_world w;
	uint8_t buf[T_REQUEST_MAX];
};

T_SETUP(number)
{
	ASSERT_OK(t_world_open(&self->w));
}

T_TEARDOWN(number)
{
	t_world_close(&self->w);
}

/* A known number with another direction, size or type is another ioctl. */
TEST_F(number, unknown_is_ENOTTY)
{
	uint8_t buf[16384 + T_REQUEST_MAX];

	memset(buf, 0, sizeof(buf));
	for (unsigned int nr = GDA_IOC_NR_END; nr < 256; nr++) {
		*(uint32_t *)buf = 64;
		EXPECT_EQ(-ENOTTY, t_ioctl(self->w.fd,
					   _IOC(_IOC_READ | _IOC_WRITE, GDA_IOC_MAGIC, nr, 64),
					   buf)) TH_LOG("number %u", nr);
	}
	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		unsigned long good = t_calls[nr].nr;
		int fd = t_request(&self->w, nr, buf);

		ASSERT_GE(fd, 0);
		EXPECT_EQ(-ENOTTY, t_ioctl(fd, good ^ 1UL << _IOC_TYPESHIFT, buf));
		EXPECT_EQ(-ENOTTY, t_ioctl(fd, good | 0xf0, buf));
	}
	EXPECT_EQ(-ENOTTY, t_ioctl(self->w.fd, 0, buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->w.fd, ~0UL, buf));
	EXPECT_EQ(-ENOTTY, t_ioctl(self->w.fd, 0x5401 /* TCGETS */, buf));
}

TEST_F(number, bound_twice_is_EALREADY)
{
	ASSERT_GE(t_request(&self->w, GDA_IOC_NR_BIND, self->buf), 0);
	EXPECT_EQ(-EALREADY, t_ioctl(self->w.fd, GDA_IOC_BIND, self->buf));
}

/* The answer is no function of what stood in the output members before. */
TEST_F(number, O2_outputs_are_not_read)
{
	uint8_t first[T_REQUEST_MAX], in[T_REQUEST_MAX];

	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		const struct t_call *call = &t_calls[nr];
		int fd = t_request(&self->w, nr, in);

		/* Creations answer with something new each time. */
		if (!call->output || call->creates)
			continue;
		memcpy(first, in, sizeof(first));
		ASSERT_OK(t_ioctl(fd, call->nr, first));
		/* Bytes that the answer changed are outputs: put anything there. */
		for (size_t i = 4; i < call->size; i++)
			self->buf[i] = first[i] == in[i] ? in[i] : (uint8_t)~first[i];
		memcpy(self->buf, in, 4);
		ASSERT_OK(t_ioctl(fd, call->nr, self->buf)) TH_LOG("%s", call->name);
		EXPECT_EQ(0, memcmp(first, self->buf, call->size)) TH_LOG("%s", call->name);
	}
}

TEST_HARNESS_MAIN
