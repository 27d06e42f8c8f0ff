#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# fork.sh - what children of PEs share with them, in programs that are linked in each way; and that
# a PE which dies is missed although a child of it lives. Where there is /dev/gda it is by queue, on
# fewer PEs. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
bin=build/selftests/shmem/bin
run=build/tools/gda-run
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1} pes=3
GDA_SHMEM_WAY=direct
if [ -e /dev/gda ]; then
	# the heap is pinned
	GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=4M slow=$((4 * slow)) pes=2
	export SHMEM_SYMMETRIC_SIZE
fi
export GDA_SHMEM_WAY
kinds=(fork vfork posix_spawn system clone_and_exec clone)

part() { # PROGRAM PART
	timeout $((60 * slow)) "$run" -b -n "$pes" "$bin/$1" "$2" || return
	grep -qx "$2: as it should be" "$tmp/log"
}

# It is said once, by each PE.
refused() {
	part fork_static static || return
	[ "$(grep -c '^PE [0-9]: fork: a static program cannot fork after shmem_init(): link it dynamically' \
		"$tmp/log")" = "$pes" ]
}

# The C library forks by itself: that cannot be refused, so the job ends.
ended() {
	timeout $((60 * slow)) "$run" -b -n 1 "$bin/fork_static" daemon
	[ $? = 1 ] && grep -q '^PE 0: fork: a static program cannot fork' "$tmp/log"
}

# The others say so while the child lives, which would do so for a minute.
dies() { # KIND
	timeout $((30 * slow)) "$run" -k -b -n "$pes" "$bin/fork" die "$1"
	[ $? != 124 ] && grep -q "^PE [0-9]: shmem_barrier_all, PE $((pes - 1)): this PE is lost" "$tmp/log"
}

tests=(
	'item6_copy part fork copy'
	'item6_heap part fork heap'
	'item5_kinds part fork kinds'
)
# what the way to a peer does not matter for
if [ ! -e /dev/gda ]; then
	tests+=(
		'item6_threads part fork threads'
		'item6_handlers part fork handlers'
		'item6_signals part fork signals'
		'item6_static_fork_is_refused refused'
		'item6_static_daemon_ends ended'
		'item6_static_library part fork_archive copy'
	)
	for kind in "${!kinds[@]}"; do
		tests+=("item5_a_PE_dies_behind_${kinds[kind]} dies $kind")
	done
fi

echo "1..${#tests[@]}"
for t in "${tests[@]}"; do
	# shellcheck disable=SC2086	# they are words
	ok $t
done
exit $rc
