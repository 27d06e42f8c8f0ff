#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# bind.sh - which processors gda-run binds ranks to: as many as each needs, out of those that it may
# use, and of no other job. Speaks KTAP.
#
# shellcheck disable=SC2016,SC2317	# ranks expand some words; functions are called by ok

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# Claims of other jobs on this machine are not seen in a namespace of one's own.
if [ -z "${GDA_BIND_ALONE-}" ] && unshare -n true 2>/dev/null; then
	GDA_BIND_ALONE=1 exec unshare -n "$0"
fi
. selftests/lib/ktap.sh
run=$PWD/build/tools/gda-run
unset OMP_NUM_THREADS
where=(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | awk -F - '{ for (i = $1; i <= $NF; i++) print i }')
first=${cpus[0]-} second=${cpus[1]-}
one=(taskset -c "$second") two=(taskset -c "$first,$second")
all=$("${where[@]}")

# says FILE TEXT: it has exactly these lines, in any order
says() { diff <(sort "$tmp/$1") <(printf '%b\n' "$2" | sort); }

core() {
	"${two[@]}" "$run" -n 2 --threads 1 --bind core --show-bind "${where[@]}" >"$tmp/out" 2>"$tmp/err" &&
		says out "[0] $first\n[1] $second" &&
		says err "gda-run: rank 0: processor $first\ngda-run: rank 1: processor $second"
}

within() {
	"${one[@]}" "$run" -b -n 1 --threads 1 --bind core "${where[@]}" >"$tmp/out" && says out "$second"
}

several() {
	"${two[@]}" "$run" -b -n 1 --bind core --show-bind "${where[@]}" >"$tmp/out" 2>"$tmp/err" &&
		says err "gda-run: rank 0: processor $first $second"
}

none() { "$run" -b -n 1 --bind none "${where[@]}" >"$tmp/out" && says out "$all"; }

# core is refused, auto is not.
too_few() {
	! "${one[@]}" "$run" -n 2 --threads 1 --bind core true 2>"$tmp/err" &&
		grep '^gda-run: --bind core: 2 ranks of 1 threads need 2 processors of 1' "$tmp/err" &&
		"${one[@]}" "$run" -b -n 2 --threads 1 --show-bind "${where[@]}" >"$tmp/out" 2>"$tmp/err" &&
		says out "$second\n$second" && grep '^gda-run: ranks are not bound: 2 ranks of 1 threads' "$tmp/err"
}

openmp() {
	! OMP_NUM_THREADS=3,1 "${two[@]}" "$run" -n 1 --bind core true 2>"$tmp/err" &&
		grep '1 ranks of 3 threads need 3 processors of 2' "$tmp/err"
}

# job FILE: one rank, that is bound and says so, and stays until it is killed
job() {
	local i

	rm -f "$1"
	"${two[@]}" "$run" -b -n 1 --threads 1 --bind core sh -c '"$@"; exec sleep 100' - "${where[@]}" \
		>"$1" 2>&1 &
	for ((i = 0; i < 200; i++)); do
		[ ! -s "$1" ] || return 0
		sleep 0.1
	done
	return 1
}

# The second job takes another processor, the third one finds none, and what a job that is killed had
# is free.
jobs_beside() {
	local a b status=1

	job "$tmp/out" && a=$! && job "$tmp/out2" && b=$! &&
		says out "$first" && says out2 "$second" &&
		! "${two[@]}" "$run" -n 1 --threads 1 --bind core true 2>"$tmp/err" &&
		grep '1 processors are needed, and 0 are left by other jobs' "$tmp/err" &&
		kill -KILL "$a" && { wait "$a"; job "$tmp/out3"; } && says out3 "$first" && status=0
	kill "$!" "$b"
	wait "$!" "$b"
	return "$status"
}

# With a program that computes on each processor there is none for a rank.
busy() {
	local i pids=() status

	for ((i = 0; i < $(nproc --all) + 1; i++)); do
		sh -c 'while :; do :; done' &
		pids+=($!)
	done
	sleep 0.2
	"$run" -b -n 1 --threads 1 --show-bind "${where[@]}" >"$tmp/out" 2>"$tmp/err" && says out "$all" &&
		grep '^gda-run: ranks are not bound: .* other threads run' "$tmp/err"
	status=$?
	kill "${pids[@]}"
	return "$status"
}

usage() {
	"$run" -n 1 --bind each true 2>"$tmp/err"
	[ $? = 2 ] && grep 'takes none, core or auto: "each"' "$tmp/err" || return
	"$run" -n 1 --threads 0 true 2>"$tmp/err"
	[ $? = 2 ]
}

[ "$second" ] || { echo "1..0 # SKIP it takes two processors"; exit 0; }
echo 1..9
ok each_rank_has_its_own core
ok within_the_affinity_that_was_set within
ok several_for_each_rank several
ok none none
ok fewer_than_are_needed too_few
ok threads_of_openmp_count openmp
ok jobs_take_others jobs_beside
ok busy_processors_are_left_alone busy
ok usage usage
exit $rc
