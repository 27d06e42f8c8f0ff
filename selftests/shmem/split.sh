#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# split.sh - splits of teams fail at all PEs of the parent or at none, threads split two parents at
# once, and lengths that overflow are refused. Where there is /dev/gda it is by queue, and fewer of
# them. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
program=build/selftests/shmem/bin/split
run=build/tools/gda-run
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1} pes=(2 3) absurd=(iput iget negative put get broadcast alltoall reduce)
GDA_SHMEM_WAY=direct
if [ -e /dev/gda ]; then
	# the heap is pinned
	GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=4M slow=$((4 * slow)) pes=(2) absurd=(iput put)
	export SHMEM_SYMMETRIC_SIZE
fi
export GDA_SHMEM_WAY

split() { # PES PART
	timeout $((60 * slow)) "$run" -b -n "$1" "$program" "$2" || return
	grep -qx "$2: as it should be" "$tmp/log"
}

# It says in which call, and ends; it does not crash.
refused() { # PART
	local call="PE 0: shmem_long_[a-z_]*$1[a-z_]*, PE 0:" why='[0-9]* bytes at 0x[0-9a-f]* are not symmetric: .*'

	[ "$1" != negative ] || call='PE 0: shmem_long_iput, PE 0:' why='the stride of .* is -1: pass 1 or more'
	timeout $((30 * slow)) "$run" -b -n 1 "$program" "$1"
	[ $? = 1 ] && grep -qxE "$call $why" "$tmp/log"
}

echo "1..$((3 * ${#pes[@]} + 1 + ${#absurd[@]}))"
for count in "${pes[@]}"; do
	ok "item8_all_are_told_on_$count" split "$count" strided
	ok "item8_numbers_differ_on_$count" split "$count" numbers
	ok "item8_threads_split_two_parents_on_$count" split "$count" threads
done
if [ "${#pes[@]}" = 2 ]; then
	ok item8_2d_fails_as_one split 4 2d
else
	ok item8_2d_fails_as_one split 2 2d
fi
for part in "${absurd[@]}"; do
	ok "item8_absurd_$part" refused "$part"
done
exit $rc
