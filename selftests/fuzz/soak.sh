#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# soak.sh TARGET FOLDER - the fuzzer of a target, which lies in FOLDER: a million inputs times
# $STRESS [10], beginning with its corpus. Speaks KTAP.

runs=$((1000000 * ${STRESS:-10}))
found=$2/found/$1
mkdir -p "$found"
echo 1..1
if "$2/$1" -runs=$runs -max_len=1024 -print_final_stats=1 -verbosity=0 -artifact_prefix="$found-" \
	"$found" "$2/corpus/$1" >"$found.log" 2>&1; then
	grep -E 'number_of_executed_units|average_exec_per_sec' "$found.log" | sed 's/^/# /'
	echo "ok 1 $runs inputs of $1"
else
	tail -n 40 "$found.log" | sed 's/^/# /'
	echo "not ok 1 $runs inputs of $1"
	exit 1
fi
