#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the all-to-all of tasks: with ranks as threads, and where there is /dev/gda as the
# processes of gda-run. It compares itself with a serial loop. The threads that launch it use
# under 2 % of the processor time of the exchange. Speaks KTAP.

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

echo 1..3
check D_07_D_08_D_09_alltoall_threads build/examples/dpa-alltoall
# Where workers are the kernel's, their time is not the process's.
if [ ! -e /dev/gda ]; then
	share=$(sed -n 's/^launching threads: \([0-9.]*\) % of .*/\1/p' "$tmp/log")
	echo "# launching threads: ${share:-?} % of the processor time"
	awk -v share="${share:-100}" 'BEGIN { exit !(share < 2) }' || { echo -n "not "; rc=1; }
	echo "ok 2 D_11_launching_threads_sleep"
else
	echo "ok 2 D_11_launching_threads_sleep # SKIP workers of the kernel are not counted"
fi
n=2
if [ -e /dev/gda ]; then
	check D_07_D_08_D_09_alltoall_processes build/tools/gda-run -n 4 build/examples/dpa-alltoall
else
	echo "ok 3 D_07_D_08_D_09_alltoall_processes # SKIP no /dev/gda: processes are on no common device"
fi
exit $rc
