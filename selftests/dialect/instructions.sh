#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions that a call in the first dialect takes more where a second one is
# compiled in (lib/include/gda/wqe.h), counted by callgrind in the benches of four suites. Speaks
# KTAP.

out=$(dirname "${BASH_SOURCE[0]}")
n=0 rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# SUITE, MODE, function that is counted, how often it is called, and calls of the API in each
rows="lib exclusive exclusive 8192 1
lib shared shared 8192 1
lib value value 8192 1
lib deferred deferred 8192 1
gin exclusive exclusive 4096 1
gin shared shared 4096 1
gin signal signal 4096 1
gin counter counter 4096 1
shmem direct_p p 8192 1
shmem direct_inc inc 8192 1
shmem queue_p p 8192 1
shmem queue_p_exclusive p_exclusive 8192 1
shmem queue_inc inc 8192 1
shmem queue_put put 8192 1
shmem queue_shmem_p shmem_p 8192 1
shmem queue_shmem_inc shmem_inc 8192 1
shmem queue_shmem_p_threads shmem_p 8192 1
shmem queue_shmem_inc_threads shmem_inc 8192 1
async get get 4096 2
async get_exclusive get_exclusive 4096 2
async async async 4096 2
async async_exclusive async_exclusive 4096 2
async peer peer 4096 2"
more=5	# of each call, at most

# count BENCH MODE FUNCTION TIMES: instructions of a call; the bench of async stops the count by a
# function of that name
count() {
	local sum

	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" --toggle-collect="count_$3" \
		--toggle-collect=complete "$1" --count "$2" 2>"$tmp/log" >/dev/null || return
	sum=$(sed -n 's/.*Collected : //p' "$tmp/log")
	echo $(((${sum:-0} + $4 / 2) / $4))
}

echo "1..$(wc -l <<<"$rows")"
while read -r suite mode function times calls; do
	most=$((more * calls))
	n=$((n + 1)) what="$suite, $mode: with two dialects at most $most instructions more"
	if ! command -v valgrind >/dev/null; then
		echo "ok $n $what # SKIP no valgrind here"
		continue
	fi
	one=$(count "$out/../$suite/bench" "$mode" "$function" "$times")
	two=$(count "$out/$suite" "$mode" "$function" "$times")
	echo "# $suite, $mode: $one instructions, $two with two dialects"
	if [ "${one:-0}" -gt 0 ] && [ "${two:-0}" -gt 0 ] && [ $((two - one)) -le "$most" ]; then
		echo "ok $n $what"
	else
		echo "not ok $n $what"
		rc=1
	fi
done <<<"$rows"
exit $rc
