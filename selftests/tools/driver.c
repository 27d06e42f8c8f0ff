// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * For doctor.sh, to be preloaded: another driver than this one, of which there is no way
 * to have these answers. It exports no queues, and fails the request that $GDA_REFUSED
 * names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <gda/ioctl.h>

static bool refused(unsigned long nr)
{
	const char *name = getenv("GDA_REFUSED");

	if (!name)
		return false;
	return (nr == GDA_IOC_MR_REG_USER && !strcmp(name, "MR_REG_USER")) ||
	       (nr == GDA_IOC_MR_REG_DMABUF && !strcmp(name, "MR_REG_DMABUF"));
}

int ioctl(int fd, unsigned long nr, ...)
{
	int (*next)(int fd, unsigned long nr, ...) = dlsym(RTLD_NEXT, "ioctl");
	va_list args;
	void *arg;
	int ret;

	va_start(args, nr);
	arg = va_arg(args, void *);
	va_end(args);
	if (refused(nr)) {
		errno = EIO;
		return -1;
	}
	ret = next(fd, nr, arg);
	if (!ret && nr == GDA_IOC_QUERY)
		((struct gda_query *)arg)->features[0] &= ~(__u64)GDA_FEATURE_EXPORT;
	return ret;
}
