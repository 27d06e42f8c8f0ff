#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# small.sh - what a program is told about its heap, fairness among many words, and 16, 64 and 128
# PEs on two processors. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
bin=build/selftests/shmem/bin
run=build/tools/gda-run
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1}
export GDA_SHMEM_WAY=direct
unset SHMEM_SYMMETRIC_SIZE SMA_SYMMETRIC_SIZE SHMEM_SYMMETRIC_HEAP_SIZE

part() { # PART [VARIABLE=VALUE]
	env "${@:2}" timeout $((60 * slow)) "$run" -b -n 2 "$bin/small" "$1" || return
	grep -qx "$1: 0 wrong" "$tmp/log"
}

# says SIZE [VARIABLE=VALUE]: one line, of the first that does not fit
says() {
	local line

	part full "${@:2}" || return
	[ "$(grep -c '^PE' "$tmp/log")" = 1 ] || return
	line='PE 0: shmem_malloc: 1099511627776 bytes do not fit: [0-9]+ are free, '
	line+="[0-9]+ in the largest piece, SHMEM_SYMMETRIC_SIZE is $1: set it to more"
	grep -qxE "$line" "$tmp/log"
}

# The variable that is wrong is named.
no_size() {
	! part full SHMEM_SYMMETRIC_HEAP_SIZE=much &&
		grep -q 'SHMEM_SYMMETRIC_HEAP_SIZE=much is no size: set it to one such as 64M' "$tmp/log"
}

processors=$(taskset -pc $$ | sed 's/.*: //; s/-/,/' | cut -d, -f1,2)
shared() { # PES
	SHMEM_SYMMETRIC_SIZE=1M timeout $((120 * slow)) taskset -c "$processors" \
		"$run" -b -n "$1" "$bin/shared" || return
	grep -qx "shared: $1 of $1 PEs had the lock, 0 wrong" "$tmp/log"
}

echo 1..8
ok item13_full_heap_is_said_once says 1048576 SHMEM_SYMMETRIC_SIZE=1M
ok item13_heap_size_of_open_mpi says 2097152 SHMEM_SYMMETRIC_HEAP_SIZE=2M
ok item13_symmetric_size_comes_first says 1048576 SHMEM_SYMMETRIC_SIZE=1M SHMEM_SYMMETRIC_HEAP_SIZE=2M
ok item13_no_size_is_named no_size
ok item13_any_is_fair part any
for pes in 16 64 128; do
	ok "item13_${pes}_on_two_processors" shared $pes
done
exit $rc
