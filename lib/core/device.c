// SPDX-License-Identifier: MIT
/*
 * The list of devices: those that /dev/gda reports, and those that this process executes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "gda_internal.h"

/* The caller's array, whose elements are as long as the caller's structure. */
struct gda_device_list {
	char *entries;
	unsigned int room;
	unsigned int found;
	uint32_t size;
};

static void gda_device_list_add(struct gda_device_list *list, const struct gda_device_info *info)
{
	void *to = list->entries + (size_t)list->found * list->size;

	if (list->found++ >= list->room)
		return;
	memcpy(to, &list->size, sizeof(list->size));
	gda_struct_write(to, info, sizeof(*info));
}

static int gda_device_list_add_all(struct gda_device_list *list, const struct gda_context *ctx)
{
	struct gda_device_info info = { .size = sizeof(info) };
	int err;

	for (;;) {
		info.after = info.id;
		err = gda_ioctl(ctx, GDA_IOC_DEVICE_INFO, &info);
		if (err)
			return err == -ENOENT ? 0 : err;
		gda_device_list_add(list, &info);
	}
}

static int gda_device_list_kernel(struct gda_device_list *list)
{
	struct gda_context ctx = { .ops = &gda_device_kernel };
	int err = gda_kernel_open_node(&ctx);

	/* no driver, or the user may not open its node */
	if (err == -ENOENT || err == -ENXIO || err == -ENODEV || err == -EACCES) {
		gda_forget_reason();
		return 0;
	}
	if (err)
		return err;
	err = gda_device_list_add_all(list, &ctx);
	ctx.ops->close(&ctx);
	/* this driver is older than the call */
	return err == -ENOTTY ? 0 : err;
}

static int gda_device_list_fill(struct gda_device_info *devices, unsigned int n)
{
	struct gda_device_list list = { .entries = (char *)devices, .room = n };
	struct gda_device_info inproc = { .size = sizeof(inproc) };
	uint32_t i;
	int err;

	if (n) {
		err = gda_struct_check(devices, GDA_THROUGH(struct gda_device_info, device));
		if (err)
			return err;
		if (devices->flags)
			return gda_because(-EOPNOTSUPP, "flags %#x: set it to 0",
					   devices->flags);
		list.size = devices->size;
	}
	err = gda_device_list_kernel(&list);
	if (err)
		return err;
	for (i = 0; !gda_inproc_describe(i, &inproc); i++)
		gda_device_list_add(&list, &inproc);
	return (int)list.found;
}

void gda_device_names(char *names, size_t size)
{
	struct gda_device_info all[16] = { { .size = sizeof(all[0]) } };
	int saved = errno, n = gda_device_list_fill(all, 16), i;
	size_t at = 0;

	names[0] = 0;
	for (i = 0; i < n && i < 16 && at < size; i++)
		at += (size_t)snprintf(names + at, size - at, "%s%s", i ? ", " : "", all[i].device);
	if (at >= size)
		memcpy(names + size - 4, "...", 4);
	errno = saved;
}

GDA_EXPORT int gda_devices(struct gda_device_info *devices, unsigned int n)
{
	int saved = errno, found = gda_device_list_fill(devices, n);

	/* libibverbs lists its devices */
	errno = saved;
	gda_called(found < 0 ? found : 0, "gda_devices", "%u entries", n);
	return found;
}
