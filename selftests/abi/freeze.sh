#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# freeze.sh - keep the binary interface of the headers and of libgda as it is now
#
# To be run after an intended change; then read the difference: a line that is gone or changed
# breaks programs that exist. selftests/abi/*.txt are the tables of table.sh, for abi.sh and
# layout.sh.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
to=selftests/abi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Behind the comments that the table begins with.
keep() { # TABLE HEADER...
	local table=$to/$1

	shift
	{ grep '^#' "$table" || true; $to/table.sh "$@"; } >"$tmp/table"
	cp "$tmp/table" "$table"
}

for h in uapi/gda/*.h; do
	[ ! -e "$to/$(basename "$h" .h).txt" ] || keep "$(basename "$h" .h).txt" "$h"
done
make -s lib
keep library.txt --library
