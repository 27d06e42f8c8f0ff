// SPDX-License-Identifier: MIT
/*
 * Libraries that are opened at run time: libcuda, libibverbs, librdmacm, libpmix.
 *
 * Invariant: no file is loaded by a path that depends on the working directory, for anybody may
 * have put a file there. A variable of the environment that names a library must be absolute.
 * dlopen(3) of a soname searches the directories of LD_LIBRARY_PATH and of DT_RUNPATH, for the
 * library and for those that it needs; a relative or empty one is below the working directory.
 * Where there is one, dlopen(3) is called by a thread whose own working directory
 * holds no file that anybody but the kernel made, so such a directory adds nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gda_internal.h"
#include "library.h"

/* A directory of the kernel with files alone, which every user may enter. */
#define GDA_LIBRARY_NOWHERE	"/proc/sys/kernel/random"

enum gda_library_search {
	GDA_LIBRARY_ABSOLUTE,	/* all directories of the search path are */
	GDA_LIBRARY_BELOW,	/* some are below the working directory */
	GDA_LIBRARY_ABOVE,	/* some go up from there */
};

static enum gda_library_search gda_library_directory(const char *name)
{
	if (*name == '/')
		return GDA_LIBRARY_ABSOLUTE;
	return strstr(name, "..") ? GDA_LIBRARY_ABOVE : GDA_LIBRARY_BELOW;
}

#ifdef __GLIBC__
/* The search path of dlopen(3) when this file calls it, or NULL. */
static Dl_serinfo *gda_library_path(void)
{
	Dl_serinfo size, *path = NULL;
	struct link_map *self;
	Dl_info info;

	if (!dladdr1((void *)(uintptr_t)gda_library_open, &info, (void **)&self,
		     RTLD_DL_LINKMAP) ||
	    dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
		return NULL;
	path = malloc(size.dls_size);
	if (path && (dlinfo(self, RTLD_DI_SERINFOSIZE, path) ||
		     dlinfo(self, RTLD_DI_SERINFO, path))) {
		free(path);
		return NULL;
	}
	return path;
}

static enum gda_library_search gda_library_search(void)
{
	enum gda_library_search most = GDA_LIBRARY_ABSOLUTE, one;
	Dl_serinfo *path = gda_library_path();
	unsigned int i;

	if (!path)
		return GDA_LIBRARY_BELOW;
	for (i = 0; i < path->dls_cnt; i++) {
		one = gda_library_directory(path->dls_serpath[i].dls_name);
		if (one > most)
			most = one;
	}
	free(path);
	return most;
}
#else
/* musl does not tell its search path. */
static enum gda_library_search gda_library_search(void)
{
	const char *path = secure_getenv("LD_LIBRARY_PATH");

	return path && strstr(path, "..") ? GDA_LIBRARY_ABOVE : GDA_LIBRARY_BELOW;
}
#endif

struct gda_library_load {
	const char *name;
	void *library;
	int err;
};

static void *gda_library_nowhere(void *arg)
{
	struct gda_library_load *l = arg;

	if (unshare(CLONE_FS) || chdir(GDA_LIBRARY_NOWHERE))
		l->err = -EACCES;
	else
		l->library = dlopen(l->name, RTLD_NOW | RTLD_LOCAL);
	return NULL;
}

static int gda_library_load(const char *name, void **library)
{
	enum gda_library_search search = gda_library_search();
	struct gda_library_load l = { .name = name };
	pthread_t thread;

	/* no file is opened for a library that is there already */
	l.library = dlopen(name, RTLD_NOW | RTLD_LOCAL | (*name ? RTLD_NOLOAD : 0));
	if (l.library || !*name)
		search = GDA_LIBRARY_ABSOLUTE;
	else if (search == GDA_LIBRARY_ABSOLUTE)
		l.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	else if (search == GDA_LIBRARY_ABOVE ||
		 pthread_create(&thread, NULL, gda_library_nowhere, &l))
		l.err = -EACCES;
	else
		pthread_join(thread, NULL);
	*library = l.library;
	return l.err ? l.err : l.library ? 0 : -ENOENT;
}

int gda_library_open(const char *name, const char *variable, void **library)
{
	const char *path = variable ? secure_getenv(variable) : NULL;

	/* the empty one is the program itself */
	if (path && *path && *path != '/')
		return -EINVAL;
	return gda_library_load(path ? path : name, library);
}

int gda_library_because(int err, const char *name, const char *variable)
{
	if (err == -EINVAL)
		return gda_because(err, "%s is no absolute path: set it to that of %s, or unset it",
				   variable, name);
	if (err == -EACCES)
		return gda_because(err,
				   "%s is not loaded while LD_LIBRARY_PATH or a RUNPATH has a relative or empty directory: make all absolute",
				   name);
	return gda_because(err, "there is no %s: is its package installed?", name);
}
