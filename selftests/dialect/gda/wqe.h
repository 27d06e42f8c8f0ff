/* SPDX-License-Identifier: MIT */
/* The dialect that posters speak, for a libgda that is built with this path first. */
#ifndef GDA_WQE_H
#define GDA_WQE_H

#include <gda/wqe/phase.h>

#endif /* GDA_WQE_H */
