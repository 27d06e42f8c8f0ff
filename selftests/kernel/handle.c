// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Handles: SECURITY.md O3 (one that is none, or of another type, or freed), K4 (one of
 * another context), order of destruction, and the limits of numbers.
 */
#include "gda_fixture.h"
#include "requests.h"

FIXTURE(handle) {
	struct t_world w;
	union {
		uint8_t buf[T_REQUEST_MAX];
		struct gda_region_query region;
	};
};

T_SETUP(handle)
{
	ASSERT_OK(t_world_open(&self->w));
}

T_TEARDOWN(handle)
{
	t_world_close(&self->w);
}

/* The objects of the table are whole and answer. */
static int victims_live(struct t_world *w)
{
	struct gda_mr_query mr = { .size = sizeof(mr), .handle = w->mr };
	struct gda_region_query cq = {
		.size = sizeof(cq), .handle = w->cq, .type = GDA_REGION_CQ,
	};
	struct gda_qp_query qp;

	return t_qp_query(w->fd, w->qp, &qp) || qp.state != GDA_QP_INIT ||
	       t_ioctl(w->fd, GDA_IOC_MR_QUERY, &mr) || mr.state != GDA_MR_LIVE ||
	       t_ioctl(w->fd, GDA_IOC_REGION_INFO, &cq);
}

static int with_handle(FIXTURE_DATA(handle) *self, unsigned int nr, uint32_t handle)
{
	int fd = t_request(&self->w, nr, self->buf);

	if (fd < 0)
		return fd;
	memcpy(self->buf + t_calls[nr].in_handle, &handle, sizeof(handle));
	return t_ioctl(fd, t_calls[nr].nr, self->buf);
}

TEST_F(handle, O3_none_such)
{
	static const uint32_t none[] = {
		0, 1000, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001,
		0xfffffffe, 0xffffffff,
	};

	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		if (!t_calls[nr].in_handle)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
			EXPECT_EQ(-ENOENT, with_handle(self, nr, none[i]))
				TH_LOG("%s %#x", t_calls[nr].name, none[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct gda_qp_create qp;

		EXPECT_EQ(-ENOENT, t_qp_create(self->w.fd, none[i], 64, &qp));
	}
	EXPECT_EQ(0, victims_live(&self->w));
}

TEST_F(handle, O3_of_another_type)
{
	struct gda_qp_create qp;

	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		bool mr = nr == GDA_IOC_NR_MR_QUERY;

		if (!t_calls[nr].in_handle || nr == GDA_IOC_NR_DESTROY)
			continue;
		EXPECT_EQ(-ENOENT, with_handle(self, nr, mr ? self->w.qp : self->w.mr))
			TH_LOG("%s", t_calls[nr].name);
		if (nr == GDA_IOC_NR_REGION_INFO || nr == GDA_IOC_NR_REGION_EXPORT ||
		    nr == GDA_IOC_NR_CQ_EVENT)
			continue;
		EXPECT_EQ(-ENOENT, with_handle(self, nr, self->w.cq))
			TH_LOG("%s", t_calls[nr].name);
	}
	EXPECT_EQ(-ENOENT, t_qp_create(self->w.fd, self->w.qp, 64, &qp));
	EXPECT_EQ(-ENOENT, t_qp_create(self->w.fd, self->w.mr, 64, &qp));
	EXPECT_EQ(0, victims_live(&self->w));
}

TEST_F(handle, O3_freed)
{
	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		struct gda_cq_create cq;
		struct gda_qp_create qp;
		struct t_mr mr;
		uint32_t gone[3];

		if (!t_calls[nr].in_handle)
			continue;
		ASSERT_OK(t_cq_create(self->w.fd, GDA_CQ_COLLAPSED, 1, &cq));
		ASSERT_OK(t_qp_create(self->w.fd, cq.handle, 64, &qp));
		ASSERT_OK(t_mr_reg(self->w.fd, self->w.mem, 64, 0, &mr));
		gone[0] = qp.handle;
		gone[1] = cq.handle;
		gone[2] = mr.handle;
		for (int i = 0; i < 3; i++) {
			ASSERT_OK(t_destroy(self->w.fd, gone[i]));
			EXPECT_EQ(-ENOENT, t_destroy(self->w.fd, gone[i]));
		}
		/* with_handle() may make objects of its own, after these. */
		for (int i = 0; i < 3; i++) {
			int fd = t_request(&self->w, nr, self->buf);
			uint32_t own;

			memcpy(&own, self->buf + t_calls[nr].in_handle, sizeof(own));
			if (own == gone[i] || self->w.temp[0] == gone[i] ||
			    self->w.temp[1] == gone[i])
				continue;
			memcpy(self->buf + t_calls[nr].in_handle, &gone[i], 4);
			EXPECT_EQ(-ENOENT, t_ioctl(fd, t_calls[nr].nr, self->buf))
				TH_LOG("%s", t_calls[nr].name);
		}
	}
	EXPECT_EQ(0, victims_live(&self->w));
}

TEST_F(handle, O3_never_zero_and_31_bits)
{
	struct gda_cq_create cq;

	for (int i = 0; i < 300; i++) {
		ASSERT_OK(t_cq_create(self->w.fd, GDA_CQ_COLLAPSED, 1, &cq));
		ASSERT_NE(0, cq.handle);
		ASSERT_LT(cq.handle, 1U << 31);
		ASSERT_NE(self->w.cq, cq.handle);
		ASSERT_NE(self->w.qp, cq.handle);
		ASSERT_NE(self->w.mr, cq.handle);
	}
}

TEST_F(handle, O3_destroy_with_context_flag_and_handle)
{
	struct gda_destroy cmd = {
		.size = sizeof(cmd), .flags = GDA_DESTROY_CONTEXT, .handle = self->w.qp,
	};

	EXPECT_EQ(-EINVAL, t_ioctl(self->w.fd, GDA_IOC_DESTROY, &cmd));
	EXPECT_EQ(0, victims_live(&self->w));
}

TEST_F(handle, O3_region_types)
{
	static const uint32_t types[] = {
		0, GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB, GDA_REGION_CQ,
		GDA_REGION_CQ_DBREC, GDA_REGION_COUNTER, GDA_REGION_RECORD, 255, 0x10001,
		0x80000001, 0xffffffff,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		bool of_qp = types[i] >= GDA_REGION_SQ && types[i] <= GDA_REGION_DB;
		bool known = types[i] && types[i] <= GDA_REGION_RECORD;
		int none = known ? -ENOENT : -EINVAL;
		struct gda_region_query q = { .size = sizeof(q), .type = types[i] };

		q.handle = self->w.qp;
		EXPECT_EQ(of_qp ? 0 : none, t_ioctl(self->w.fd, GDA_IOC_REGION_INFO, &q))
			TH_LOG("type %#x of a QP", types[i]);
		q.handle = self->w.cq;
		EXPECT_EQ(types[i] == GDA_REGION_CQ ? 0 : none,
			  t_ioctl(self->w.fd, GDA_IOC_REGION_INFO, &q))
			TH_LOG("type %#x of a collapsed CQ", types[i]);
		q.handle = self->w.mr;
		EXPECT_EQ(none, t_ioctl(self->w.fd, GDA_IOC_REGION_INFO, &q));
	}
}

/* REGION_INFO returns the same as the creation did. */
TEST_F(handle, region_info_repeats)
{
	struct t_qp qp;
	const struct gda_region_info *said[] = {
		[GDA_REGION_SQ] = &qp.qpc.sq, [GDA_REGION_DBREC] = &qp.qpc.dbrec,
		[GDA_REGION_DB] = &qp.qpc.db, [GDA_REGION_CQ] = &qp.cqc.cq,
	};

	ASSERT_OK(t_qp_open(&qp, self->w.fd, 256));
	for (uint32_t type = GDA_REGION_SQ; type <= GDA_REGION_CQ; type++) {
		struct gda_region_query q = {
			.size = sizeof(q), .type = type,
			.handle = type == GDA_REGION_CQ ? qp.cqc.handle : qp.qpc.handle,
		};

		ASSERT_OK(t_ioctl(self->w.fd, GDA_IOC_REGION_INFO, &q));
		EXPECT_EQ(0, memcmp(said[type], &q.info, sizeof(q.info)));
	}
	t_qp_close(&qp);
}

/* Every handle of one context, used in another that has none, or other ones. */
TEST_F(handle, K4_handle_of_another_context)
{
	const uint32_t theirs[] = { self->w.qp, self->w.cq, self->w.mr };
	int empty = t_context();

	ASSERT_GE(empty, 0);
	for (unsigned int nr = 0; nr < T_CALLS; nr++) {
		if (!t_calls[nr].in_handle)
			continue;
		for (int i = 0; i < 3; i++) {
			ASSERT_GE(t_request(&self->w, nr, self->buf), 0);
			memcpy(self->buf + t_calls[nr].in_handle, &theirs[i], 4);
			EXPECT_EQ(-ENOENT, t_ioctl(empty, t_calls[nr].nr, self->buf))
				TH_LOG("%s", t_calls[nr].name);
		}
	}
	for (int i = 0; i < 3; i++) {
		struct gda_qp_create qp;

		EXPECT_EQ(-ENOENT, t_qp_create(empty, theirs[i], 64, &qp));
	}
	EXPECT_EQ(0, victims_live(&self->w));
	close(empty);
}

TEST_F(handle, cq_in_use_is_EBUSY)
{
	struct gda_qp_create second;

	EXPECT_EQ(-EBUSY, t_destroy(self->w.fd, self->w.cq));
	EXPECT_EQ(-EBUSY, t_qp_create(self->w.fd, self->w.cq, 64, &second));
	EXPECT_EQ(0, victims_live(&self->w));
	EXPECT_OK(t_destroy(self->w.fd, self->w.qp));
	EXPECT_OK(t_qp_create(self->w.fd, self->w.cq, 64, &second));
	EXPECT_EQ(-EBUSY, t_destroy(self->w.fd, self->w.cq));
	EXPECT_OK(t_destroy(self->w.fd, second.handle));
	EXPECT_OK(t_destroy(self->w.fd, self->w.cq));
}

TEST_F(handle, device_names)
{
	static const struct {
		const char *name;
		int err;
	} names[] = {
		{ "", 0 }, { GDA_DEVICE_SOFT, 0 }, { "soft", -ENOENT }, { "soft1", -ENOENT },
		{ GDA_DEVICE_SOFT "0", -ENOENT }, { " " GDA_DEVICE_SOFT, -ENOENT },
		{ "../" GDA_DEVICE_SOFT, -ENOENT }, { "Soft0", -ENOENT },
		{ "ib:none", -ENOENT }, { "%s%n", -ENOENT },
	};
	struct gda_bind bind = { .size = sizeof(bind) };
	struct gda_query query = { .size = sizeof(query) };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int fd = t_open();

		ASSERT_GE(fd, 0);
		memset(bind.device, 0, sizeof(bind.device));
		memcpy(bind.device, names[i].name, strlen(names[i].name));
		EXPECT_EQ(names[i].err, t_ioctl(fd, GDA_IOC_BIND, &bind))
			TH_LOG("'%s'", names[i].name);
		EXPECT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
		EXPECT_STREQ(names[i].err ? "" : GDA_DEVICE_SOFT, (char *)query.device);
		/* A failure to bind is not final. */
		memset(bind.device, 0, sizeof(bind.device));
		EXPECT_EQ(names[i].err ? 0 : -EALREADY, t_ioctl(fd, GDA_IOC_BIND, &bind));
		close(fd);
	}
	memset(bind.device, 'x', sizeof(bind.device));
	ASSERT_GE(t_request(&self->w, GDA_IOC_NR_BIND, self->buf), 0);
	EXPECT_EQ(-EINVAL, t_ioctl(self->w.other, GDA_IOC_BIND, &bind));
}

/* The figures that everything else is checked against make sense. */
TEST_F(handle, query_figures)
{
	struct gda_query q = { .size = sizeof(q) };

	ASSERT_OK(t_ioctl(self->w.fd, GDA_IOC_QUERY, &q));
	EXPECT_EQ(T_PAGE, q.page_size);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_DIALECT_MLX5);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_CQ_COLLAPSED);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_MR_USER);
	EXPECT_EQ(0, q.features[1] | q.features[2] | q.features[3]);
	EXPECT_GE(q.max_qp, 64U);
	EXPECT_GE(q.max_cq, q.max_qp);
	EXPECT_GE(q.max_mr, 1024U);
	EXPECT_EQ((uint32_t)GDA_MLX5_MAX_DEPTH, q.max_sq_depth);
	EXPECT_EQ(0, q.max_cq_depth & (q.max_cq_depth - 1));
	EXPECT_GE(q.max_sge, 2U);
	EXPECT_GE(q.max_msg, 1U << 30);
	EXPECT_GE(q.max_mr_size, 1ULL << 32);
	EXPECT_GT(q.idle_ns, 0);
	EXPECT_LE(q.idle_ns, T_NS / 10);
}

TEST_HARNESS_MAIN
