/* SPDX-License-Identifier: MIT */
/*
 * The version of these headers, and of the library. Everything else that names a version takes it
 * from here (tools/scripts/version.sh).
 */
#ifndef GDA_VERSION_H
#define GDA_VERSION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * define GDA_VERSION_MAJOR - the first of the three numbers of a version
 */
#define GDA_VERSION_MAJOR	0
/**
 * define GDA_VERSION_MINOR - the second one
 */
#define GDA_VERSION_MINOR	2
/**
 * define GDA_VERSION_PATCH - the third one
 */
#define GDA_VERSION_PATCH	0

/**
 * define GDA_VERSION - version of these headers as one number, for comparisons, also in #if
 *
 * Major << 16 | minor << 8 | patch.
 */
#define GDA_VERSION	(GDA_VERSION_MAJOR << 16 | GDA_VERSION_MINOR << 8 | GDA_VERSION_PATCH)

#define GDA_VERSION_WORD_(n)	#n
#define GDA_VERSION_WORD(n)	GDA_VERSION_WORD_(n)

/**
 * define GDA_VERSION_STRING - the same as a string, such as "1.2.3"
 */
#define GDA_VERSION_STRING	GDA_VERSION_WORD(GDA_VERSION_MAJOR) "." \
				GDA_VERSION_WORD(GDA_VERSION_MINOR) "." \
				GDA_VERSION_WORD(GDA_VERSION_PATCH)

/**
 * gda_version - version of the library that runs
 *
 * It may be older or newer than the headers that the program was compiled with: functions that both
 * know work. The version is meant for printing and bug reports; gda_query.features has the features
 * of a device.
 *
 * Return: as %GDA_VERSION.
 */
uint32_t gda_version(void);

#ifdef __cplusplus
}
#endif

#endif /* GDA_VERSION_H */
