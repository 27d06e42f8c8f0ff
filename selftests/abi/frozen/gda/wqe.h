/* SPDX-License-Identifier: MIT */
/*
 * The dialect that posters speak. A header of gda/wqe encodes the entries and doorbells of one
 * dialect and reads its completions, under names that are the same for each: gda_wqe_*() and
 * gda_sq_*() for entries, gda_db_*() for doorbells, gda_cqe_*() for completions. All else in
 * the library, on CPUs and GPUs, uses these names and no byte of the format.
 */
#ifndef GDA_WQE_H
#define GDA_WQE_H

#include <gda/wqe/mlx5.h>

#endif /* GDA_WQE_H */
