#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# abi-of.sh LIBRARY [HEADERS] - print the ABI of a libgda, as abidiff reads it
#
# Types of the public headers, and no more, without what can be left out: the baseline is small.
# HEADERS is the tree that it was compiled from [.].

set -euo pipefail

tree=${2:-.}
abidw --headers-dir "$tree/lib/include/gda" --headers-dir "$tree/lib/include/gda/gin" \
	--headers-dir "$tree/uapi/gda" --drop-private-types --exported-interfaces-only \
	--no-show-locs --no-comp-dir-path --no-corpus-path --no-parameter-names \
	--no-write-default-sizes --no-elf-needed --type-id-style hash "$1" |
	sed "s/^ *//; s/ mangled-name='[^']*'//; s/ visibility='default[^']*'//"
