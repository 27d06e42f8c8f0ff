#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# freeze.sh - keep the headers and the symbols of libgda as they are now
#
# selftests/abi/frozen is what programs that exist were built with, since the library has
# the name libgda.so.2. Run it at a release, and as long as there was none. The tests
# selftests/abi/layout.sh and sizes build programs with it. After that a member that moves
# or goes breaks them. libgda.abi is the ABI of the library, for abidiff.sh.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
to=selftests/abi/frozen
abi=$(mktemp)
trap 'rm -f "$abi"' EXIT
if command -v abidw >/dev/null; then
	make -s lib
	selftests/abi/abi-of.sh build/lib/libgda.so.2 >"$abi"
else
	echo "freeze.sh: $to/libgda.abi stays as it is: abidw is missing (package abigail-tools)" >&2
	cp "$to/libgda.abi" "$abi"
fi
rm -rf "$to"
mkdir -p "$to/gda/gin" "$to/gda/wqe"
cp lib/include/gda/*.h uapi/gda/*.h "$to/gda"
cp lib/include/gda/gin/*.h "$to/gda/gin"
cp lib/include/gda/wqe/*.h "$to/gda/wqe"
grep -oE '^[[:blank:]]gda_[a-z0-9_]+' lib/libgda.map | tr -d '\t ' >"$to/symbols"
sed -n 's/^LIB_SONAME[[:blank:]]*:=[[:blank:]]*//p' lib/lib.mk >"$to/soname"
cp "$abi" "$to/libgda.abi"
chmod 644 "$to/libgda.abi"
