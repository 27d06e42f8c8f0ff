#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the all-to-all of tasks: with ranks as threads, and where there is /dev/gda as the
# processes of gda-run. It compares itself with a serial loop. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-dpa.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0

check() { # NAME COMMAND...
	local name=$1

	n=$((n + 1))
	shift
	if timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/log" 2>&1 &&
			grep -q 'as the reference' "$tmp/log" && ! grep -q 'WRONG\|error' "$tmp/log"; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$tmp/log"
		echo "not ok $n $name"
		rc=1
	fi
}

echo 1..2
check D_07_D_08_D_09_alltoall_threads build/examples/dpa-alltoall
if [ -e /dev/gda ]; then
	check D_07_D_08_D_09_alltoall_processes build/tools/gda-run -n 4 build/examples/dpa-alltoall
else
	echo "ok 2 D_07_D_08_D_09_alltoall_processes # SKIP no /dev/gda: processes are on no common device"
fi
exit $rc
