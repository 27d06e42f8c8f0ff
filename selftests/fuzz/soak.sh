#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# soak.sh TARGET FOLDER - the fuzzer of a target, which lies in FOLDER: a million inputs times
# $GDA_STRESS [10], beginning with its corpus. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

. selftests/lib/ktap.sh
runs=$((1000000 * ${GDA_STRESS:-10}))
found=$2/found/$1

fuzz() {
	mkdir -p "$found"
	"$2/$1" -runs="$runs" -max_len=1024 -print_final_stats=1 -verbosity=0 -artifact_prefix="$found-" \
		"$found" "$2/corpus/$1" >"$found.log" 2>&1 ||
		{ tail -n 40 "$found.log"; return 1; }
	say "$(grep -E 'number_of_executed_units|average_exec_per_sec' "$found.log")"
}

echo 1..1
ok "$runs inputs of $1" fuzz "$@"
exit $rc
