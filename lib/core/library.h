/* SPDX-License-Identifier: MIT */
/*
 * Opens libraries at run time, for all parts of libgda and for gdactl (library.c).
 */
#ifndef GDA_LIBRARY_H
#define GDA_LIBRARY_H

/*
 * Open the library that the environment variable @variable names, if that is not NULL and is set,
 * or else the soname @name. The library stays open. Return: 0; -ENOENT it cannot be loaded; -EINVAL
 * @variable is no absolute path; -EACCES the search path of the loader has relative directories and
 * cannot be made safe.
 */
int gda_library_open(const char *name, const char *variable, void **library);

/* Note with gda_because() why gda_library_open() returned @err. Return: @err. */
int gda_library_because(int err, const char *name, const char *variable);

#endif /* GDA_LIBRARY_H */
