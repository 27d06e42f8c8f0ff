#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# lost.sh - one of four PEs of an OpenSHMEM program is killed at a random time after it began a
# barrier, a storm of puts, collective calls or a lock: the job ends, the line that says why names
# that PE and no other, and no process is left. Where there is /dev/gda it is all by queue, and
# three PEs; else directly. With $GDA_STRESS it is done more often, and at the start, too: there the
# others wait up to 30 s for a PE that was killed before it had joined. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
run=build/tools/gda-run
program=build/selftests/shmem/bin/lost
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1} pes=4 rounds=$(stress 4)
GDA_SHMEM_WAY=direct
if [ -e /dev/gda ]; then
	# the heap is pinned
	GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=4M slow=$((4 * slow)) pes=3 rounds=$(stress 1)
	export SHMEM_SYMMETRIC_SIZE
fi
export GDA_SHMEM_WAY

# A PE that was killed may still be about to die.
gone() {
	local i

	for i in {1..600}; do
		pgrep -f "$program $1" >/dev/null || return 0
		sleep 0.05
	done
	echo "a process is left"
	return 1
}

# once VICTIM MOMENT MICROSECONDS
once() {
	local status line="^PE [0-9]: shmem_[a-z_]*, PE $1: this PE is lost"

	# on a fast machine the PE may be past shmem_init() when it is killed
	[ "$2" != start ] || line+="|^PE -?[0-9]: shmem_init.*(: $1|rank $1 of .*|PE $1.* is lost.*)\$"
	timeout $((120 * slow)) "$run" -k -b -n "$pes" "$program" "$@" </dev/null >"$tmp/out" 2>&1
	status=$?
	gone "$*" || return
	# of the one that was killed, or of another one that gda-run saw first
	[ "$status" = 137 ] || [ "$status" = 1 ] || { echo "$*: exit status $status"; return 1; }
	grep -qE "$line" "$tmp/out" || { echo "$*: nobody names it"; return 1; }
	! grep -E '^PE -?[0-9]:' "$tmp/out" | grep -vE "$line" ||
		{ echo "$*: that is another reason"; return 1; }
}

dies_in() { # MOMENT
	local i most=1000

	[ "$1" != start ] || most=10000
	# with a processor for each, where nothing else looks for who is lost
	[[ $1 != test* ]] || local pes=2
	for ((i = 0; i < rounds; i++)); do
		once $((RANDOM % pes)) "$1" $((RANDOM % most)) || return
	done
}

moments=(barrier storm collective lock test test_lock)
! stressed || moments+=(start)
echo "1..${#moments[@]}"
for moment in "${moments[@]}"; do
	ok "dies_in_$moment" dies_in "$moment"
done
exit $rc
