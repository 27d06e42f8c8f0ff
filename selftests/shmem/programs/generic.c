// SPDX-License-Identifier: MIT
#include "generic.h"
