/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The dialects of the product and that of the tests, for who is built with this path first. */
#include_next <gda_dialects.h>
GDA_DIALECT(phase)
