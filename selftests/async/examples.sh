#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the examples of gda/async.h: as threads, and where there is /dev/gda as the
# processes of gda-run; each compares with its serial reference. P14 and P15 are those of PTO.
# Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-async.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0
alone=(simple_get)
examples=(simple_get_peer batch_get put_notify tiles)
declare -A ids=([simple_get]=P14_ [simple_get_peer]=P14_ [batch_get]=P14_ [put_notify]=P15_)

check() { # NAME COMMAND...
	local name=$1

	n=$((n + 1))
	shift
	if timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/log" 2>&1 &&
		grep -q 'as the reference' "$tmp/log" && ! grep -q WRONG "$tmp/log"; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$tmp/log"
		echo "not ok $n $name"
		rc=1
	fi
}

echo "1..$((${#alone[@]} + 2 * ${#examples[@]}))"
for e in "${alone[@]}" "${examples[@]}"; do
	check "${ids[$e]-}${e}_threads" "build/examples/async-$e"
done
for e in "${examples[@]}"; do
	name=${ids[$e]-}${e}_processes
	if [ -e /dev/gda ]; then
		check "$name" build/tools/gda-run -n 4 "build/examples/async-$e"
	else
		n=$((n + 1))
		echo "ok $n $name # SKIP no /dev/gda: processes are on no common device"
	fi
done
exit $rc
