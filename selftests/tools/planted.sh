#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# planted.sh - the bugs that `make planted` plants fit into the modules as they are, and
# name a program and a row. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
patches=(selftests/planted/*.patch)
. selftests/lib/ktap.sh

# The rows that a patch may name: attacks, or where it is for a native program, ids in tests.
rows() {
	if grep -qx 'Place: native' "$1"; then
		grep -rhoE '\b(item_?|I40_|[A-Z]_?)[0-9]+_' selftests/*/*.c selftests/*/*.sh | sed 's/_$//'
	else
		cut -f 1 selftests/attacks.txt
		grep -rhoE '\bI[0-9]+_[0-9]+_' selftests/kernel/*.c | sed 's/_$//'
	fi
}

fits() { # PATCH
	patch -s -F0 --dry-run -p1 <"$1" && grep '^Program: ' "$1" &&
		rows "$1" | grep -x "$(sed -n 's/^Row: //p' "$1")"
}

echo "1..${#patches[@]}"
for p in "${patches[@]}"; do
	ok "$(basename "$p" .patch)" fits "$p"
done
exit $rc
