#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per call of gda/shmem.h and of OpenSHMEM, counted by
# callgrind, with the loop around it. Speaks KTAP.

bench=$(dirname "${BASH_SOURCE[0]}")/bench
calls=8192 n=0 rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# MODE, the function that is counted, and the most instructions that a call may take
limits="direct_p p 30
direct_inc inc 30
queue_p p 112
queue_p_exclusive p_exclusive 85
queue_inc inc 125
queue_put put 200
direct_shmem_p shmem_p 40
direct_shmem_p_data shmem_p_data 45
queue_shmem_p shmem_p 110
queue_shmem_inc shmem_inc 125
queue_shmem_p_threads shmem_p 210
queue_shmem_inc_threads shmem_inc 210"

echo "1..$(wc -l <<<"$limits")"
while read -r mode function limit; do
	n=$((n + 1)) what="a call, $mode, at most $limit instructions"
	if ! command -v valgrind >/dev/null; then
		echo "ok $n $what # SKIP no valgrind here"
		continue
	fi
	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" \
		--toggle-collect="count_$function" "$bench" --count "$mode" 2>"$tmp/log" >/dev/null
	count=$(sed -n 's/.*Collected : //p' "$tmp/log")
	each=$(((${count:-1000000000} + calls / 2) / calls))
	echo "# $mode: $each instructions"
	if [ $each -gt 0 ] && [ $each -le "$limit" ]; then echo "ok $n $what"; else echo "not ok $n $what"; rc=1; fi
done <<<"$limits"
exit $rc
