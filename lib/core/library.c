// SPDX-License-Identifier: MIT
/*
 * Opens libraries at run time: libcuda, libibverbs, librdmacm, libpmix.
 *
 * Invariant: no file is loaded by a path that depends on the working directory, for anybody may
 * have put a file there. An environment variable that names a library must be an absolute path. For
 * a soname and its dependencies dlopen(3) searches LD_LIBRARY_PATH and DT_RUNPATH, where a relative
 * or empty directory is below the working directory. If there is such a directory, dlopen(3) runs
 * on a thread whose own working directory has only files of the kernel, so nothing can be found
 * there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "gda_internal.h"
#include "library.h"

/* A directory of procfs that every user may enter and that has no subdirectory. */
#define GDA_LIBRARY_NOWHERE	"/proc/sys/kernel/random"
#define GDA_LIBRARY_WAIT_S	5

enum gda_library_search {
	GDA_LIBRARY_ABSOLUTE,	/* all directories of the search path are absolute */
	GDA_LIBRARY_BELOW,	/* some are below the working directory */
	GDA_LIBRARY_ABOVE,	/* some go up from there ("..") */
};

static enum gda_library_search gda_library_directory(const char *name)
{
	if (*name == '/')
		return GDA_LIBRARY_ABSOLUTE;
	return strstr(name, "..") ? GDA_LIBRARY_ABOVE : GDA_LIBRARY_BELOW;
}

#ifdef __GLIBC__
/* The search path that dlopen(3) uses when called from this file, or NULL. */
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
/* musl does not report its search path. */
static enum gda_library_search gda_library_search(void)
{
	const char *path = secure_getenv("LD_LIBRARY_PATH");

	return path && strstr(path, "..") ? GDA_LIBRARY_ABOVE : GDA_LIBRARY_BELOW;
}
#endif

/* Shared by the loading thread and the waiting caller: the last one frees it. */
struct gda_library_load {
	char *name;
	void *library;
	int err;
	unsigned int owners;
};

static void gda_library_put(struct gda_library_load *l)
{
	if (__atomic_sub_fetch(&l->owners, 1, __ATOMIC_ACQ_REL))
		return;
	free(l->name);
	free(l);
}

static void *gda_library_nowhere(void *arg)
{
	struct gda_library_load *l = arg;

	if (unshare(CLONE_FS) || chdir(GDA_LIBRARY_NOWHERE))
		l->err = -EACCES;
	else
		l->library = dlopen(l->name, RTLD_NOW | RTLD_LOCAL);
	gda_library_put(l);
	return NULL;
}

/*
 * Load @name on a thread with its own working directory. The wait is bounded, because the caller
 * may be a constructor that holds the loader's lock.
 */
static int gda_library_load_nowhere(const char *name, void **library)
{
	struct gda_library_load *l = calloc(1, sizeof(*l));
	struct timespec until;
	sigset_t all, mask;
	pthread_t thread;
	int err = -EACCES;

	if (!l)
		return -ENOMEM;
	l->owners = 2;
	l->name = strdup(name);
	/* no signal handler of the program runs on that thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	if (!l->name || pthread_create(&thread, NULL, gda_library_nowhere, l)) {
		pthread_sigmask(SIG_SETMASK, &mask, NULL);
		l->owners = 1;
		gda_library_put(l);
		return err;
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GDA_LIBRARY_WAIT_S;
	if (pthread_timedjoin_np(thread, NULL, &until)) {
		pthread_detach(thread);
	} else {
		*library = l->library;
		err = l->err;
	}
	gda_library_put(l);
	return err;
}

static int gda_library_load(const char *name, void **library)
{
	enum gda_library_search search = gda_library_search();
	int err = 0;

	/* a library that is already loaded opens no file */
	*library = dlopen(name, RTLD_NOW | RTLD_LOCAL | (*name ? RTLD_NOLOAD : 0));
	if (*library || !*name)
		search = GDA_LIBRARY_ABSOLUTE;
	else if (search == GDA_LIBRARY_ABSOLUTE)
		*library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	else if (search == GDA_LIBRARY_ABOVE)
		err = -EACCES;
	else
		err = gda_library_load_nowhere(name, library);
	return err ? err : *library ? 0 : -ENOENT;
}

int gda_library_open(const char *name, const char *variable, void **library)
{
	const char *path = variable ? secure_getenv(variable) : NULL;

	/* an empty path is the program itself */
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
