// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md P8: a device that does not reach the pages of a queue is given a copy by the
 * DMA layer, a bounce buffer that is not kept up to date. Such a mapping of an export is
 * refused. A mapping that an IOMMU translates is no copy and works.
 *
 * It takes a kernel that was started with "swiotlb=force": gda-vm -a swiotlb=force, with -e
 * for the device behind an IOMMU.
 */
#include "gda_fixture.h"
#include "move.h"
#include "../kmod/gda_edu/ioctl.h"

static bool booted_so(void)
{
	char line[4096] = "";
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, line, sizeof(line) - 1);

	close(fd);
	return n > 0 && strstr(line, "swiotlb=force");
}

FIXTURE(bounce) {
	int fd;
	struct t_qp qp;
};

T_SETUP(bounce)
{
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	ASSERT_OK(t_qp_open(&self->qp, self->fd, 64));
	ASSERT_OK(t_connect(&self->qp, &self->qp));
}

T_TEARDOWN(bounce)
{
	t_qp_close(&self->qp);
	close(self->fd);
}

static int export(FIXTURE_DATA(bounce) *self, uint32_t type)
{
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .type = type,
		.handle = type == GDA_REGION_CQ ? self->qp.cqc.handle : self->qp.qpc.handle,
	};
	int err = t_ioctl(self->fd, GDA_IOC_REGION_EXPORT, &cmd);

	return err ? err : cmd.fd;
}

/* Attach @buf for a device that has no IOMMU. */
static int attach(int buf)
{
	int dev = open("/dev/gda_test_importer", O_RDWR | O_CLOEXEC);
	int err = dev < 0 ? -errno : t_ioctl(dev, GDA_TEST_ATTACH, &buf);

	close(dev);
	return err;
}

TEST_F(bounce, P8_bounced_is_refused)
{
	static const uint32_t types[] = { GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB };
	bool bounced = booted_so();
	struct t_wr wr = { .opcode = GDA_MLX5_NOP };
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC), buf;

	ASSERT_LE(0, test);
	/* of another exporter, which does not look: there the device can be mapped for */
	buf = t_test_buffer(test, T_PAGE, 0);
	ASSERT_LE(0, buf);
	EXPECT_OK(attach(buf));
	close(buf);
	for (int i = 0; i < 3; i++) {
		buf = export(self, types[i]);
		ASSERT_LE(0, buf);
		EXPECT_EQ(bounced ? -EMEDIUMTYPE : 0, attach(buf)) TH_LOG("region %u", types[i]);
		close(buf);
	}
	EXPECT_OK(t_run(&self->qp, &wr, NULL));
	close(test);
	if (!bounced && !_metadata->exit_code)
		SKIP(return, "no bounce buffers: not started with swiotlb=force");
}

/* Behind an IOMMU nothing is bounced, whatever the others get. */
TEST_F(bounce, P8_through_the_iommu)
{
	static const uint32_t types[] = {
		GDA_REGION_SQ, GDA_REGION_DBREC, GDA_REGION_DB, GDA_REGION_CQ,
	};
	int edu = open("/dev/gda_edu", O_RDWR | O_CLOEXEC);
	uint8_t data[64], *sq = self->qp.sq;

	if (edu < 0 && errno == ENOENT)
		SKIP(return, "no edu device behind an IOMMU (gda-vm -e)");
	ASSERT_LE(0, edu);
	memset(data, 0x5e, sizeof(data));
	for (int i = 0; i < 4; i++) {
		struct gda_edu_attach cmd = {
			.fd = export(self, types[i]), .flags = i == 3 ? GDA_EDU_READ_ONLY : 0,
		};
		struct gda_edu_copy copy = {
			.data = (uintptr_t)data, .length = sizeof(data), .flags = GDA_EDU_WRITE,
		};

		ASSERT_LE(0, cmd.fd);
		ASSERT_OK(t_ioctl(edu, GDA_EDU_ATTACH, &cmd)) TH_LOG("region %u", types[i]);
		copy.iova = cmd.iova;
		if (!i) {
			/* the device writes the queue itself */
			ASSERT_OK(t_ioctl(edu, GDA_EDU_COPY, &copy));
			EXPECT_TRUE(t_all(sq, 0x5e, sizeof(data)));
		}
		close(cmd.fd);
	}
	close(edu);
}

TEST_HARNESS_MAIN
