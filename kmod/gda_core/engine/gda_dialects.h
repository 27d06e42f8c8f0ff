/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The dialects, a line each: GDA_DIALECT(name). Included by path, more than once;
 * tests that bring a dialect of their own have another file of this name, which includes
 * this one.
 */
GDA_DIALECT(mlx5)
