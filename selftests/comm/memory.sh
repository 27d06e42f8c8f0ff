#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# memory.sh - rank 0, which has the hub, takes at most four times the memory of another of 64 ranks
#
# shellcheck disable=SC2317	# the tests are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh

gathers() {
	timeout $((120 * ${GDA_SLOW:-1})) build/tools/gda-run -b -n 64 build/selftests/comm/memory "$1" \
		>"$tmp/out" 2>"$tmp/err" </dev/null
}

echo 1..2
ok item_9_memory_of_rank_0_large_gather gathers 131072
sed 's/^/# /' "$tmp/out"
# What the set-up of a front end gathers: an address of each rank for each.
ok item_9_memory_of_rank_0_set_up gathers 8192
sed 's/^/# /' "$tmp/out"
exit $rc
