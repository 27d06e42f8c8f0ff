/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The list of dialects, one GDA_DIALECT(name) per line. This file is included by path, more than
 * once. The first dialect is the default for CQs. Tests with a dialect of their own have another
 * file of this name, which includes this one.
 */
GDA_DIALECT(mlx5)
GDA_DIALECT(efa)
