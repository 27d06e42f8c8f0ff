#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the examples of gda/gin.h: as threads, and where there is /dev/gda as the
# processes of gda-run; each compares with its serial reference. So do the tests that run
# as processes. Built with GDA_CHECK the examples break no rule. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-gin.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0
examples=(allgather allreduce halo alltoall dispatch)
tests=(verbs semantics)

check() { # NAME COMMAND...
	local name=$1

	n=$((n + 1))
	shift
	if timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/log" 2>&1 && ! grep -q '^not ok\|WRONG' "$tmp/log"; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$tmp/log"
		echo "not ok $n $name"
		rc=1
	fi
}

echo "1..$((3 * ${#examples[@]} + ${#tests[@]}))"
for e in "${examples[@]}"; do
	if [ ! -e /dev/gda ]; then
		check "${e}_threads" "build/examples/gin-$e"
		check "${e}_breaks_no_rule" "build/selftests/gin/checked/gin-$e"
		continue
	fi
	for name in threads breaks_no_rule; do
		n=$((n + 1))
		echo "ok $n ${e}_$name # SKIP threads are tried where nothing is emulated"
	done
done
for p in "${examples[@]/#/examples/gin-}" "${tests[@]/#/selftests/gin/plain/}"; do
	name=${p##*/}_processes
	if [ -e /dev/gda ]; then
		check "$name" build/tools/gda-run -n 4 "build/$p"
	else
		n=$((n + 1))
		echo "ok $n $name # SKIP no /dev/gda: processes are on no common device"
	fi
done
exit $rc
