// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Modules that come and go, for the kernel selftests. */
#include <sys/utsname.h>
#include "gda_test.h"
#include "reload.h"

const char *const t_module_names[T_MODULES] = { "gda_core", "gda_mr", "gda_test" };

int t_unload(int i)
{
	return t_module_remove(t_module_names[i]);
}

int t_load(const struct t_modules *m, int i, const char *parameters)
{
	int err = t_module_insert(m->path[i], parameters);

	/* The node is new; no udev here gives it to the group. */
	if (!err && i == T_CORE && chown("/dev/gda", 0, T_GROUP))
		err = -errno;
	return err;
}

int t_modules_begin(struct t_modules *m)
{
	const char *dir = getenv("GDA_MODULES");
	struct utsname un;

	m->test = false;
	if (uname(&un))
		return -errno;
	for (int i = 0; i < T_MODULES; i++) {
		char *p = m->path[i];
		int n = dir && i < T_TEST ?
			snprintf(p, 300, "%s", dir) :
			snprintf(p, 300, "build/%s/%skmod", un.release,
				 i == T_TEST ? "selftests/" : "");

		snprintf(p + n, sizeof(m->path[i]) - (size_t)n, "/%s/%s.ko", t_module_names[i],
			 t_module_names[i]);
	}
	if (access(m->path[T_CORE], R_OK))
		return -ENOENT;
	m->test = !t_unload(T_TEST);
	return 0;
}

int t_modules_end(struct t_modules *m)
{
	return m->test ? t_load(m, T_TEST, "") : 0;
}

int t_reload(const struct t_modules *m, const char *parameters)
{
	/* a moment's grace for references that are about to go */
	uint64_t end = t_now() + T_WAIT_NS;
	int err;

	for (int i = T_MR; i >= T_CORE; i--) {
		while ((err = t_unload(i)) == -EAGAIN || err == -EBUSY || err == -EWOULDBLOCK)
			if (t_now() > end)
				return err;
		if (err)
			return err;
	}
	err = t_load(m, T_CORE, parameters);
	return err ? err : t_load(m, T_MR, "");
}
