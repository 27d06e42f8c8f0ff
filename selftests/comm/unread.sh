#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unread.sh - gda-run with output that nobody reads, or not at once: its limit and signals work, no
# rank waits for the output of another, it needs no memory for it, and nothing is lost
#
# shellcheck disable=SC2317,SC2016	# the tests are called by name; ranks expand some words

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
run=build/tools/gda-run
. selftests/lib/ktap.sh

export GDA_UNREAD_SLOW=${GDA_SLOW:-1}
# A pipe that has a reader which never reads.
mkfifo "$tmp/pipe"
exec 9<>"$tmp/pipe"

# Both streams of rank 0 without an end; rank 1 says on the other that it goes on.
writer='if [ $GDA_COMM_RANK = 0 ]; then exec yes; fi; echo rank 1 goes on >&2; sleep 100'

# empty: take from the pipe what is in it
empty() { timeout 0.3 cat <"$tmp/pipe" >"$tmp/late" 9<&-; }

# read_until_end PID: take all from the pipe until PID has ended. Return: its exit status
read_until_end() {
	local reader status

	cat <"$tmp/pipe" >"$tmp/late" 9<&- &
	reader=$!
	wait "$1"
	status=$?
	sleep 0.5
	kill "$reader"
	return "$status"
}

limit_ends_it() {
	timeout -s KILL $((20 * GDA_UNREAD_SLOW)) "$run" -t 1 -n 2 sh -c "$writer" >"$tmp/pipe" 2>"$tmp/err"
	[ $? = 124 ] && grep -qF '[1] rank 1 goes on' "$tmp/err" && grep -q '1 s are over: ending 2 ranks' "$tmp/err"
}

# signal_ends_it SIGNAL STATUS: with both streams into the pipe
signal_ends_it() {
	local pid killer status

	"$run" -n 2 sh -c "$writer" >"$tmp/pipe" 2>&1 &
	pid=$!
	sleep 1
	(sleep $((20 * GDA_UNREAD_SLOW)); kill -KILL "$pid") &
	killer=$!
	awk '/VmRSS/ { exit $2 > 32768 }' "/proc/$pid/status" || return 1
	kill "-$1" "$pid"
	wait "$pid"
	status=$?
	kill "$killer"
	[ "$status" = "$2" ] || { echo "exit status $status"; return 1; }
}

# A rank that fails ends the others at once; how it failed is said behind what is there before.
failure_ends_ranks() {
	local pid i

	timeout -s KILL $((60 * GDA_UNREAD_SLOW)) "$run" -n 2 sh -c '
		echo $$ >"$0.$GDA_COMM_RANK"
		if [ $GDA_COMM_RANK = 0 ]; then exec yes; fi
		sleep 1; echo last words; exit 7' "$tmp/pid" >"$tmp/pipe" 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		sleep 0.1
		[ -s "$tmp/pid.1" ] && ! kill -0 "$(cat "$tmp/pid.0")" 2>/dev/null && break
	done
	[ "$i" -lt 100 ] && kill -0 "$pid" || return 1
	read_until_end "$pid"
	[ $? = 7 ] && awk '/^\[1\] last words$/ { words = 1 }
		words && /^gda-run: rank 1 exited with status 7$/ { said = 1 }
		END { exit !said }' "$tmp/late"
}

nothing_is_lost() {
	local pid status

	timeout -s KILL $((60 * GDA_UNREAD_SLOW)) "$run" -n 3 sh -c '
		i=0
		while [ $i -lt 5000 ]; do
			echo "rank $GDA_COMM_RANK line $i of many, which are longer than a pipe has room for"
			i=$((i + 1))
		done
		printf "the end"' >"$tmp/pipe" 2>&1 &
	pid=$!
	sleep 2
	kill -0 "$pid" || return 1
	read_until_end "$pid"
	status=$?
	[ "$status" = 0 ] && [ "$(wc -l <"$tmp/late")" = 15003 ] &&
		[ "$(grep -cE '^\[([012])\] rank \1 line [0-9]+ of .* for$' "$tmp/late")" = 15000 ] &&
		[ "$(grep -cE '^\[[012]\] the end$' "$tmp/late")" = 3 ]
}

# The reader has gone: the ranks are not told, and end.
reader_is_gone() {
	timeout -s KILL $((20 * GDA_UNREAD_SLOW)) "$run" -n 2 sh -c 'yes | head -n 100000' | head -n 1 >"$tmp/out"
	[ "${PIPESTATUS[0]}" = 0 ] && [ "$(wc -l <"$tmp/out")" = 1 ]
}

echo 1..6
ok item_11_unread_the_limit_ends_it limit_ends_it
empty
ok item_11_unread_a_signal_ends_it signal_ends_it TERM 143
empty
ok item_11_unread_an_interrupt_ends_it signal_ends_it INT 130
empty
ok item_11_unread_a_failure_ends_the_ranks failure_ends_ranks
empty
ok item_11_unread_and_read_later_nothing_is_lost nothing_is_lost
ok item_11_unread_for_ever_by_nobody reader_is_gone
exit $rc
