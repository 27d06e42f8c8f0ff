#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the examples of gda/async.h: as threads, and where there is /dev/gda as the
# processes of gda-run; each compares with its serial reference. P14 and P15 are those of PTO.
# Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh
alone=(simple_get)
examples=(simple_get_peer batch_get put_notify tiles)
declare -A ids=([simple_get]=P14_ [simple_get_peer]=P14_ [batch_get]=P14_ [put_notify]=P15_)

reference() { # COMMAND...
	timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/out" 2>&1 &&
		grep -q 'as the reference' "$tmp/out" && ! grep -q WRONG "$tmp/out"
}

echo "1..$((${#alone[@]} + 2 * ${#examples[@]}))"
for e in "${alone[@]}" "${examples[@]}"; do
	ok "${ids[$e]-}${e}_threads" reference "build/examples/async-$e"
done
for e in "${examples[@]}"; do
	name=${ids[$e]-}${e}_processes
	if [ -e /dev/gda ]; then
		ok "$name" reference build/tools/gda-run -n 4 "build/examples/async-$e"
	else
		skip "$name" "no /dev/gda: processes are on no common device"
	fi
done
exit $rc
