#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions that a call in the first dialect takes more where a second one is
# compiled in (lib/include/gda/wqe.h), counted by callgrind in the benches of four suites. Speaks
# KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

. selftests/lib/callgrind.sh
aside=complete	# of async
out=$(dirname "$0")

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

more_than_one() { # SUITE MODE FUNCTION TIMES MOST
	local one two

	one=$(count "$4" "$out/../$1/bench" "$2" "$3") && two=$(count "$4" "$out/$1" "$2" "$3") || return
	say "$1, $2: $one instructions, $two with two dialects"
	[ "$one" -gt 0 ] && [ "$two" -gt 0 ] && [ $((two - one)) -le "$5" ]
}

echo "1..$(wc -l <<<"$rows")"
while read -r suite mode function times calls; do
	most=$((more * calls))
	ok_with valgrind "$suite, $mode: with two dialects at most $most instructions more" \
		more_than_one "$suite" "$mode" "$function" "$times" "$most"
done <<<"$rows"
exit $rc
