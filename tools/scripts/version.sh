#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# version.sh - the version, as lib/include/gda/version.h has it: MAJOR.MINOR.PATCH

sed -n 's/^#define GDA_VERSION_\(MAJOR\|MINOR\|PATCH\)[[:blank:]]*//p' \
	"$(dirname "$0")/../../lib/include/gda/version.h" | paste -sd .
