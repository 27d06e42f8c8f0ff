#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# programs.sh - programs as others write them for OpenSHMEM, and the examples, on 2 and 4 PEs;
# token dispatch and combine, also when a PE dies. Each compares with a serial reference.
# Where there is /dev/gda it is by queue, and fewer of them, for guests are slow, unless $GDA_STRESS is
# set. Else it is directly. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
bin=build/selftests/shmem/bin
run=build/tools/gda-run
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1} rounds=40 many=4 sizes=(2 4)
GDA_SHMEM_WAY=direct
if [ -e /dev/gda ]; then
	# the heap is pinned
	GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=16M slow=$((5 * slow)) rounds=6 many=3 sizes=(2)
	export SHMEM_SYMMETRIC_SIZE
	# 11520 routes each
	! stressed || rounds=60
fi
export GDA_SHMEM_WAY

# run PES LINE COUNT PROGRAM...: it succeeds, and so many lines are that one
on() {
	local pes=$1 line=$2 count=$3

	shift 3
	timeout $((60 * slow)) "$run" -b -n "$pes" "$@" || return
	[ "$(grep -cxE "$line" "$tmp/log")" = "$count" ]
}

dispatch() { # ARGUMENT...
	on "$many" 'dispatch and combine: .* bytes a token, 0 wrong, masked: none' "$many" \
		build/examples/shmem-dispatch "$@"
}

# The others finish without the one that dies, and name it.
dispatch_dies() {
	timeout $((60 * slow)) "$run" --keep -b -n "$many" build/examples/shmem-dispatch --die 2 "$rounds"
	[ "$(grep -cx 'dispatch and combine: .* 0 wrong, masked: 2' "$tmp/log")" = $((many - 1)) ]
}

short=(
	'transpose transpose: 10 rounds, as the reference'
	'teams teams: as the reference'
	'ring the sum of all PEs is [0-9]*'
	'alltoall alltoall: as the reference'
)
long=(
	'generic generic: every type'
	'generic_cxx generic: every type'
	'pipeline pipeline: 20 sweeps, as one PE computes them'
	'threads threads: 4 of each PE'
	'last_word last_word: taken once'
	'broadcasts broadcasts: 20000 from each PE in turn'
	'stencil [0-9]* points after 500 steps: as computed by one PE'
)
programs=("${short[@]}")
[ -e /dev/gda ] && ! stressed || programs+=("${long[@]}")

echo "1..$((${#sizes[@]} * ${#programs[@]} + 5))"
for p in "${programs[@]}"; do
	for pes in "${sizes[@]}"; do
		ok "${p%% *}_on_$pes" on "$pes" "${p#* }" 1 "$bin/${p%% *}"
	done
done
ok put_signal_on_2 on 2 'PE 1 got "for PE 1 from PE 0"' 1 $bin/put_signal
ok heap_ring on "$many" 'the sum is [0-9]*' 1 build/examples/shmem-ring
ok dispatch_8_bit dispatch $rounds
ok dispatch_16_bit dispatch --bf16 $rounds
ok dispatch_without_one dispatch_dies
exit $rc
