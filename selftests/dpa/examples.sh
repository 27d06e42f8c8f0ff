#!/bin/bash
# SPDX-License-Identifier: MIT
#
# examples.sh - the all-to-all of tasks: with ranks as threads, and where there is /dev/gda as the
# processes of gda-run. It compares itself with a serial loop. The threads that launch it use
# under 2 % of the processor time of the exchange. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh

alltoall() { # COMMAND...
	timeout $((100 * ${GDA_SLOW:-1})) "$@" >"$tmp/out" 2>&1 &&
		grep -q 'as the reference' "$tmp/out" && ! grep -q 'WRONG\|error' "$tmp/out"
}

sleep_meanwhile() {
	local share

	share=$(sed -n 's/^launching threads: \([0-9.]*\) % of .*/\1/p' "$tmp/out")
	say "launching threads: ${share:-?} % of the processor time"
	awk -v share="${share:-100}" 'BEGIN { exit !(share < 2) }'
}

echo 1..3
ok D_07_D_08_D_09_alltoall_threads alltoall build/examples/dpa-alltoall
if [ -e /dev/gda ]; then
	skip D_11_launching_threads_sleep "workers of the kernel are not counted"
	ok D_07_D_08_D_09_alltoall_processes alltoall build/tools/gda-run -n 4 build/examples/dpa-alltoall
else
	ok D_11_launching_threads_sleep sleep_meanwhile
	skip D_07_D_08_D_09_alltoall_processes "no /dev/gda: processes are on no common device"
fi
exit $rc
