#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# run.sh - gda-run: whose line is whose, who failed, and that nothing is left. And ranks
# that mpirun starts. In a guest, which is slow, only that both start ranks. Speaks KTAP.
#
# shellcheck disable=SC2317,SC2016	# functions are called by name; ranks expand some words

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
run=build/tools/gda-run
hello=build/selftests/comm/hello
. selftests/lib/ktap.sh

# No rank is left, once those that were killed have had the processor to die.
gone() {
	local i

	for i in {1..600}; do
		pgrep -f "$hello" >"$tmp/left" || return 0
		sleep 0.05
	done
	echo "# left: $(cat "$tmp/left")"
	return 1
}

# go STATUS ARGUMENT...: gda-run ends with it, and leaves nothing
go() {
	local want=$1 status

	shift
	timeout 60 "$run" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" = "$want" ] || { echo "# exit status $status, not $want"; return 1; }
	gone
}

says() { grep -qxF -- "$2" "$tmp/$1" || { echo "# not said: $2"; return 1; }; }

lines() {
	go 0 -n 3 "$hello" && says out '[0] rank 0 of 3' && says out '[1] rank 1 of 3' &&
		says out '[2] rank 2 of 3' && says out '[2] barrier: done, failed: -1' &&
		[ "$(wc -l <"$tmp/out")" = 6 ]
}

bare() { go 0 -b -n 2 "$hello" && says out 'rank 1 of 2'; }
part() { go 0 -n 2 "$hello" part && says out '[0] no newline' && says out '[1] no newline'; }
exits() { go 7 -n 3 "$hello" exit 1 && says err 'gda-run: rank 1 exited with status 7'; }
dies() { go 137 -n 3 "$hello" die 2 && says err 'gda-run: rank 2 was ended by signal 9 (Killed)'; }

keeps() { # whoever dies is named by the others, which go on
	for r in 0 1 2 3; do
		go 137 -k -n 4 "$hello" die "$r" || return
		[ "$(grep -c "barrier: Connection reset by peer, failed: $r" "$tmp/out")" = 3 ] ||
			return
	done
}

time_is_up() {
	go 124 -t 1 -n 2 "$hello" hang 1 && says err 'gda-run: 1 s are over: ending 2 ranks'
}

# While ranks say nothing gda-run sleeps: how often has it woken in two seconds?
sleeps() {
	local pid before after

	"$run" -n 2 "$hello" hang </dev/null >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	until [ "$(grep -c 'rank . of 2' "$tmp/out")" = 2 ] || ! kill -0 "$pid"; do sleep 0.1; done
	sleep 0.5
	before=$(sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$pid/status")
	sleep 2
	after=$(sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$pid/status")
	kill "$pid"
	wait "$pid"
	echo "# gda-run has woken $((after - before)) times in 2 s"
	[ $((after - before)) -le 3 ] && gone
}

# Two descriptors a rank: the limit that a program may raise does not stop them, nor is theirs another.
few_descriptors() {
	(ulimit -Sn 24; go 0 -b -n 20 sh -c 'ulimit -Sn') && [ "$(sort -u "$tmp/out")" = 24 ] || return
	(ulimit -n 24; go 1 -b -n 20 true) &&
		grep -q 'cannot start rank [0-9]*: Too many open files: start fewer, or raise ulimit -n' "$tmp/err"
}

# A line that has come does not wait for memory: what gda-run needs it has before it starts a rank.
no_memory_for_lines() {
	LD_PRELOAD=$PWD/build/selftests/comm/libnoline.so timeout 20 "$run" -n 2 echo line >"$tmp/out" 2>"$tmp/err"
	[ $? = 1 ] && grep -q "gda-run: cannot begin: Cannot allocate memory" "$tmp/err"
}

# Item 17 of issue 40: a number of ranks that is missing, where ranks stood, and who had ended before.
I40_17_no_number_of_ranks() {
	go 2 true && says err 'gda-run: how many ranks of true? Say so: gda-run -n 2 true ...' &&
		go 2 -n 3 && says err 'gda-run: which program? Name it behind the options: gda-run -n 3 PROGRAM ...'
}

I40_17_where_ranks_stood() {
	go 124 -t 2 -n 3 sh -c \
		'case $GDA_COMM_RANK in 0) exec sleep 60 ;; 1) kill -STOP $$ ;; 2) while :; do :; done ;; esac' &&
		grep -qE '^gda-run: rank 0 \(pid [0-9]+\) sleeps: it waits for a rank' "$tmp/err" &&
		grep -qE '^gda-run: rank 1 \(pid [0-9]+\) is stopped by a signal, after' "$tmp/err" &&
		grep -qE '^gda-run: rank 2 \(pid [0-9]+\) runs: it computes or polls memory' "$tmp/err" &&
		grep -q "gdb -p PID" "$tmp/err"
}

I40_17_ended_without_destroy() {
	go 1 -n 2 "$hello" leave 1 &&
		says err 'gda-run: rank 0 exited with status 1 (rank 1 had ended with status 0 before)' &&
		grep -q "rank 1 of 2 died, or ended without .*: its output, or gda-run's, says which" "$tmp/err"
}

grandchildren() { go 0 -n 2 "$hello" sleeper 1; }

input() {
	printf 'one\ntwo\n' | timeout 60 "$run" -n 3 "$hello" cat >"$tmp/out" 2>"$tmp/err" &&
		says out '[0] one' && says out '[0] two'
}

missing() { go 127 -n 2 "$tmp/no-such" && grep -q 'no-such: No such file' "$tmp/err"; }

usage() {
	go 2 && go 2 -n 0 true && go 2 -n x true && go 2 -n 2 && go 2 -n 2 -t 0 true &&
		go 2 --what && go 0 --help && go 1 -n 2 -i nowhere0 true
}

# Two gda-runs, as on two machines; but that loopback is the network between them.
other_part=()
parts() {
	local id other

	id=$("$run" --new-id) || return
	timeout 60 "$run" "${other_part[@]}" --id "$id" --first 1 -n 2 --of 3 "$hello" "$@" </dev/null \
		>"$tmp/out2" 2>"$tmp/err2" &
	other=$!
	GDA_COMM_ID=$id timeout 60 "$run" -n 1 --of 3 "$hello" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
	first=$?
	wait "$other"
	second=$?
	cat "$tmp/out2" >>"$tmp/out"
	cat "$tmp/err2" >>"$tmp/err"
}

two_parts() {
	parts && [ "$first $second" = "0 0" ] && says out '[0] rank 0 of 3' &&
		says out '[1] rank 1 of 3' && says out '[2] barrier: done, failed: -1'
}

# The other part is told by the communicator, and goes on. --keep: else gda-run ends rank 1, too,
# and rank 0 may hear of that first.
a_part_dies() {
	local other_part=(--keep)

	parts die 2 && [ "$first $second" = "0 137" ] &&
		says out '[0] barrier: Connection reset by peer, failed: 2' &&
		says err 'gda-run: rank 2 was ended by signal 9 (Killed)'
}

a_network_between() { # two network namespaces
	local id a=gda-run-$$-a b=gda-run-$$-b status

	ip netns add "$a" && ip netns add "$b" && ip -n "$a" link set lo up && ip -n "$b" link set lo up &&
		ip link add gda-a netns "$a" type veth peer name gda-b netns "$b" &&
		ip -n "$a" addr add 10.8.0.1/24 dev gda-a && ip -n "$a" link set gda-a up &&
		ip -n "$b" addr add 10.8.0.2/24 dev gda-b && ip -n "$b" link set gda-b up &&
		id=$(ip netns exec "$a" "$run" --new-id -i gda-a) && [[ $id = "gda1 10.8.0.1 "* ]] && {
		ip netns exec "$a" timeout 60 "$run" --id "$id" -n 2 --of 4 "$hello" >"$tmp/out" 2>"$tmp/err" &
		ip netns exec "$b" timeout 60 "$run" --id "$id" --first 2 -n 2 --of 4 "$hello" \
			>"$tmp/out2" 2>"$tmp/err2" && wait $! && says out '[1] rank 1 of 4' &&
			says out2 '[3] barrier: done, failed: -1'
	}
	status=$?
	ip netns del "$a"
	ip netns del "$b"
	return "$status"
}

parts_usage() {
	local id

	id=$("$run" --new-id)
	go 2 --new-id -n 2 true && go 2 -n 2 --of 4 true && go 2 -n 2 --first 1 true &&
		go 2 --id "$id" -n 2 --first 3 --of 4 true && go 2 --id "$id" -n 2 true &&
		go 2 --id "$id" -i lo -n 2 --of 4 true && go 1 --id nonsense -n 2 --of 4 true &&
		go 1 --id nonsense --first 2 -n 2 --of 4 true
}

# The secret of an id is not among the arguments that ps shows.
secret_is_hidden() {
	local id status

	id=$("$run" --new-id)
	timeout 60 "$run" --id "$id" -n 1 --of 1 sh -c 'tr "\0" " " </proc/$PPID/cmdline' >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" = 0 ] && grep -q -- "--of" "$tmp/out" && ! grep -qF "${id##* }" "$tmp/out"
}

told_to_end() { # whether asked or killed
	local sig=$1 i pid

	"$run" -n 3 "$hello" hang 0 </dev/null >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	for i in {1..1200}; do
		[ "$(grep -c 'rank . of 3' "$tmp/out")" = 3 ] && break
		sleep 0.05
	done
	kill -"$sig" "$pid"
	wait "$pid"
	i=$?
	[ "$i" = "$2" ] || { echo "# exit status $i"; return 1; }
	gone
}

mpi() {
	local options=(--oversubscribe -n 4)

	[ "$(id -u)" != 0 ] || options+=(--allow-run-as-root)
	timeout "$limit" mpirun "${options[@]}" "$hello" </dev/null 2>"$tmp/err" | sort >"$tmp/out"
	timeout "$limit" "$run" -b -n 4 "$hello" </dev/null | sort >"$tmp/out2"
	[ "$(wc -l <"$tmp/out2")" = 8 ] && diff "$tmp/out2" "$tmp/out"
}

mpi_says_the_same() {
	if ! tools/scripts/optional.sh mpirun >/dev/null || [ ! -s build/optional/pmix ]; then
		skip mpirun_says_the_same "no mpirun, or libgda was built without PMIx"
	else
		ok mpirun_says_the_same mpi
	fi
}

limit=60
if [ -e /dev/gda ]; then
	limit=$((200 * ${GDA_SLOW:-1}))
	echo 1..1
	mpi_says_the_same
	exit $rc
fi

echo 1..25
ok lines_are_marked lines
ok bare bare
ok a_last_line_without_an_end part
ok who_exits_with_an_error_ends_all exits
ok who_dies_ends_all dies
ok survivors_go_on_and_name_who_died keeps
ok time_is_up time_is_up
ok what_a_rank_started_ends_with_it grandchildren
ok input_is_rank_0s input
ok item_12_gda_run_sleeps sleeps
ok few_descriptors few_descriptors
ok no_memory_for_lines no_memory_for_lines
ok no_such_program missing
ok usage usage
for t in I40_17_no_number_of_ranks I40_17_where_ranks_stood I40_17_ended_without_destroy; do ok $t $t; done
ok asked_to_end told_to_end TERM 143
ok killed told_to_end KILL 137
ok two_parts two_parts
ok who_dies_is_named_in_the_other_part a_part_dies
ok usage_of_parts parts_usage
ok the_secret_is_not_in_the_arguments secret_is_hidden
if ip netns add gda-run-$$ 2>/dev/null && ip netns exec gda-run-$$ true 2>/dev/null; then
	ok two_network_namespaces a_network_between
else
	skip two_network_namespaces "ip netns cannot be used: it takes root, and a / that is a mount"
fi
ip netns del gda-run-$$ 2>/dev/null
mpi_says_the_same
exit $rc
