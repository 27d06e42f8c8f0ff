/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The dialects, a line each: GDA_DIALECT(name). Included by path, more than once;
 * the first one is that of a CQ whose creator names none. Tests that bring a dialect of their
 * own have another file of this name, which includes this one.
 */
GDA_DIALECT(mlx5)
GDA_DIALECT(efa)
