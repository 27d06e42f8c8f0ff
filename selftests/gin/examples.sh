#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the examples of gda/gin.h: as threads, and where there is /dev/gda as the
# processes of gda-run; each compares with its serial reference. So do the tests that run
# as processes. Built with GDA_CHECK the examples break no rule. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh
examples=(allgather allreduce halo alltoall dispatch)
tests=(verbs semantics)

good() { # COMMAND...
	timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/out" 2>&1 && ! grep -q '^not ok\|WRONG' "$tmp/out"
}

echo "1..$((3 * ${#examples[@]} + ${#tests[@]}))"
for e in "${examples[@]}"; do
	if [ ! -e /dev/gda ]; then
		ok "${e}_threads" good "build/examples/gin-$e"
		ok "${e}_breaks_no_rule" good "build/selftests/gin/checked/gin-$e"
		continue
	fi
	for name in threads breaks_no_rule; do
		skip "${e}_$name" "threads are tried where nothing is emulated"
	done
done
for p in "${examples[@]/#/examples/gin-}" "${tests[@]/#/selftests/gin/plain/}"; do
	name=${p##*/}_processes
	if [ -e /dev/gda ]; then
		ok "$name" good build/tools/gda-run -n 4 "build/$p"
	else
		skip "$name" "no /dev/gda: processes are on no common device"
	fi
done
exit $rc
