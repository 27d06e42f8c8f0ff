#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# killed.sh - one of four ranks is killed at a random time after its start, or after it began an
# all-gather, a barrier or a storm of puts: each of the others is told its number within the
# deadline and a second (four where GDA_SLOW says that other work is beside it), and no process or
# socket is left, hence no memfd. Where one was too late it is done again with ten times as much
# of both: this machine may have stopped it. GDA_STRESS repeats it more often. Where there is
# /dev/gda the puts are by queue, and there are fewer rounds; else they are direct. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
run=build/tools/gda-run
program=build/selftests/comm/killed
. selftests/lib/ktap.sh
out=$tmp/out
rounds=$(stress 40)
GDA_SHMEM_WAY=direct
[ ! -e /dev/gda ] || GDA_SHMEM_WAY=queue rounds=$((rounds / 10))
export GDA_SHMEM_WAY
moments=(start allgather barrier storm)
most=$((${GDA_SLOW:-1} > 1 ? 5000 : 2000))
bad=0
declare -A where=()

# try VICTIM MOMENT MICROSECONDS PATIENCE MOST: sets why, and late: it may be for this machine is slow
try() {
	local status line ms

	why='' late=''
	timeout $((60 * $4)) "$run" -k -b -n 4 "$program" "$1" "$2" "$3" "$4" </dev/null >"$out" 2>&1
	status=$?
	[ "$status" = 137 ] || why+=" gda-run exited with status $status;"
	[ "$(grep -c "named $1 after" "$out")" = 3 ] || why+=" not all of the others named it;"
	while read -r line; do
		[[ $line =~ ^([a-z]+):.*after\ ([0-9]+)\ ms$ ]] || continue
		what=${BASH_REMATCH[1]} ms=${BASH_REMATCH[2]}
		[ "$ms" -gt "$5" ] || continue
		why+=" one waited $ms ms;"
		late=1
	done <"$out"
	# a rank that could not run for as long as the patience is named instead, or too
	! grep 'timed out' "$out" | grep -qv "named $1 after" || late=1
	! left "$program $1 $2 $3" || why+=" a process is left;"
}

# Is a process of $1 there, and not about to die?
left() {
	local i

	for i in {1..600}; do
		pgrep -f "$1" >/dev/null || return 1
		sleep 0.05
	done
}

# once VICTIM MOMENT MICROSECONDS
once() {
	local what why late

	try "$1" "$2" "$3" 1 "$most"
	if [ "$why" ] && [ "$late" ]; then
		say "again with the patience of 10 s: rank $1 killed $3 us after $2:$why"
		try "$1" "$2" "$3" 10 $((10 * most))
	fi
	where[${what:-none}]=$((${where[${what:-none}]:-0} + 1))
	[ "$why" ] || return 0
	bad=$((bad + 1))
	echo "rank $1 killed $3 us after $2:$why"
	sed 's/^/  /' "$out"
}

all_rounds() {
	local i w sockets

	sockets=$(wc -l </proc/net/unix)
	for ((i = 0; i < rounds; i++)); do
		once $((RANDOM % 4)) "${moments[i % 4]}" $((RANDOM % (i % 4 ? 500 : i % 8 ? 20000 : 4000)))
	done
	for w in "${!where[@]}"; do say "in $w: ${where[$w]} of $rounds"; done
	[ "$(wc -l </proc/net/unix)" -le $((sockets + 8)) ] || { echo "sockets are left"; bad=1; }
	[ "$bad" = 0 ]
}

echo 1..1
ok "a killed rank is named by all others" all_rounds
exit $rc
