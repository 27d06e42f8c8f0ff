#!/bin/bash
# SPDX-License-Identifier: MIT
#
# callgrind.sh - sourced by the instructions.sh of several folders, beside a program "bench"
# whose `--count MODE` makes $calls calls, each in a function count_FUNCTION. Counts the
# instructions of each and compares them with $limits, lines of "MODE [FUNCTION] MOST"; FUNCTION
# is MODE where it is not named. $unit says what a call is. Speaks KTAP.

bench=$(dirname "${BASH_SOURCE[0]}")/bench
n=0 rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The variables are the caller's.
# shellcheck disable=SC2154
echo "1..$(wc -l <<<"$limits")"
# shellcheck disable=SC2154
while read -r mode function limit; do
	[ "$limit" ] || { limit=$function function=$mode; }
	n=$((n + 1)) what="$unit, $mode, at most $limit instructions"
	if ! command -v valgrind >/dev/null; then
		echo "ok $n $what # SKIP no valgrind here"
		continue
	fi
	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" \
		--toggle-collect="count_$function" "$bench" --count "$mode" 2>"$tmp/log" >/dev/null
	count=$(sed -n 's/.*Collected : //p' "$tmp/log")
	each=$(((${count:-1000000000} + calls / 2) / calls))
	echo "# $mode: $each instructions"
	if [ $each -gt 0 ] && [ $each -le "$limit" ]; then
		echo "ok $n $what"
	else
		echo "not ok $n $what"
		rc=1
	fi
done <<<"$limits"
exit $rc
