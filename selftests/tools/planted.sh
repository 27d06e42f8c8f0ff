#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# planted.sh - the bugs that `make planted` plants fit into the modules as they are, and
# name a program and a row. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
patches=(selftests/planted/*.patch)
n=0 rc=0

# The rows that a patch may name: attacks, or where it is for a native program, ids in tests.
rows() {
	if grep -qx 'Place: native' "$1"; then
		grep -rhoE '\b(item_?|I40_|[A-Z]_?)[0-9]+_' selftests/*/*.c selftests/*/*.sh | sed 's/_$//'
	else
		cut -f 1 selftests/attacks.txt
		grep -rhoE '\bI[0-9]+_[0-9]+_' selftests/kernel/*.c | sed 's/_$//'
	fi
}

echo "1..${#patches[@]}"
for p in "${patches[@]}"; do
	n=$((n + 1))
	name=${p##*/}
	if ! out=$(patch -s -F0 --dry-run -p1 <"$p" 2>&1) ||
	   ! out=$(grep '^Program: ' "$p") ||
	   ! out=$(rows "$p" | grep -x "$(sed -n 's/^Row: //p' "$p")"); then
		echo "# $out"
		echo -n "not "
		rc=1
	fi
	echo "ok $n ${name%.patch}"
done
exit $rc
