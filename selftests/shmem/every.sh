#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# every.sh - each function of OpenSHMEM against a serial reference, on 1, 2 and 3 PEs, also
# under AddressSanitizer; as many as nm counts in the library. And how programs end. Where
# there is /dev/gda it is all by queue, and unless $GDA_STRESS is above 1 each function is tried in one of
# its variants, on 3 PEs, and few ends of programs, for guests are slow; else it is all
# directly. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
out=build/selftests/shmem
run=build/shmem/bin/oshrun
. selftests/lib/ktap.sh
slow=${GDA_SLOW:-1} form=()
GDA_SHMEM_WAY=direct
if [ -e /dev/gda ]; then
	# the heap is pinned
	GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=16M slow=$((4 * slow))
	stressed || form=(short)
	export SHMEM_SYMMETRIC_SIZE
fi
export GDA_SHMEM_WAY

exported() { nm -D --defined-only build/lib/libgda-shmem.so | grep -cE " [TW] $1"; }

# Calls that end a program, shmem_finalize() and shmem_global_exit(), are tried below. PEs wait for
# each other more than they compute: natively these runs are side by side, begun by begin_all.
every() { # VARIANT PES [MORE]
	local log=$tmp/every.$1.$2${3-} pid=${begun[$*]-}

	if [ "$pid" ]; then
		wait "$pid"
	else
		begin "$@"
	fi || { cat "$log"; return 1; }
	cat "$log"
	grep -qx "called: $(($(exported shmem_) - 2)) shmem_ $(($(exported pshmem_) - 2)) pshmem_" \
		"$log"
}

begin() { # VARIANT PES [MORE]
	timeout $((300 * slow)) "$run" -b -n "$2" "$out/$1/every" "${form[@]}" \
		>"$tmp/every.$1.$2${3-}" 2>&1
}

# One PE has a queue everywhere: the in-process device is for threads.
alone() { # VARIANT
	every "$1" 1 queue
}

declare -A begun=()
begin_all() {
	local args

	for args in 'plain 2' 'plain 3' 'asan 2' 'asan 3' 'plain 1'; do
		# shellcheck disable=SC2086	# they are words
		begin $args &
		begun[$args]=$!
	done
	for args in 'plain 1 queue' 'asan 1 queue' 'phase 1 queue'; do
		# shellcheck disable=SC2086
		GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=16M begin $args &
		begun[$args]=$!
	done
}

# A PE says why there is no queue, and the others end with it.
no_queue() {
	GDA_SHMEM_WAY=queue refused_by 0 'shmem_init: .* no queue without /dev/gda: .*' finalize
}

# ends STATUS LINE HOW...: so it ends, all say, and no process is left
ends() {
	local want=$1 line=$2 prog=$out/${variant:-plain}/end status

	shift 2
	timeout $((30 * slow)) "$run" -b -n 3 "$prog" "$@" <"/dev/null"
	status=$?
	[ "$status" = "$want" ] || { echo "exit status $status, not $want"; return 1; }
	pgrep -f "$prog" && return 1
	[ -z "$line" ] || grep -qE "^$line\$" "$tmp/log"
}

# A leak would be an exit status of its own.
leaves_nothing() { variant=asan ends "$@"; }

# The line is the only one of its kind: who it is, which call, why.
refused() { refused_by 2 "$@"; }
refused_by() { # PE LINE HOW
	ends 1 "PE $1: $2" "$3" && [ "$(grep -c '^PE' "$tmp/log")" = 1 ]
}

short=(
	'every_on_3 every plain 3'
	'finalize ends 0 done finalize'
	'global_exit_7 ends 7 "" exit 7'
	'a_PE_dies ends 137 "" die'
	'the_stack refused "shmem_int_p, PE 0: 4 bytes at 0x[0-9a-f]* are not symmetric: pass .*" stack'
)
tests=(
	'every_on_2 every plain 2'
	'every_on_3 every plain 3'
	'every_on_2_asan every asan 2'
	'finalize ends 0 done finalize'
	'pshmem_finalize ends 0 done pfinalize'
	'no_finalize ends 0 done none'
	'global_exit_0 ends 0 "" exit 0'
	'global_exit_7 ends 7 "" exit 7'
	'pshmem_global_exit ends 5 "" pexit 5'
	'a_PE_dies ends 137 "" die'
	'a_child_of_fork ends 0 "" fork'
	'no_such_PE refused "shmem_int_p: there is no PE 3, only 0 to 2" pe'
	'others_have_not_started refused "shmem_int_p: there is no PE 3, only 0 to 2" start'
	'the_stack refused "shmem_int_p, PE 0: 4 bytes at 0x[0-9a-f]* are not symmetric: pass .*" stack'
	'past_the_end refused "shmem_putmem, PE 0: 1099511627776 bytes at .*" past'
	'not_allocated refused "shmem_free: .* was not allocated, or is freed already: pass what shmem_malloc.*" free'
	'no_comparison refused "shmem_int_test: there is no comparison 7: pass SHMEM_CMP_.*" cmp'
	'no_signal_operation refused "shmem_putmem_signal, PE 0: there is no signal .* 2: pass SHMEM_SIGNAL_.*" signal'
	'no_active_set refused "shmem_barrier: PEs 0 to 3: the active set must lie in 0 to 2" set'
	'no_context refused "shmem_ctx_int_p: the context is SHMEM_CTX_INVALID: pass one that .*" context'
	'the_world_stays refused "shmem_team_destroy: SHMEM_TEAM_WORLD and .* stay: destroy only .*" world'
	'before_init ends 1 "PE -1: shmem_barrier_all: called before shmem_init.*" early'
	'after_finalize ends 1 "PE [0-2]: shmem_barrier_all: called after shmem_finalize.*" late'
)
[ ! -e /dev/gda ] || stressed || tests=("${short[@]}")
# without a device
[ -e /dev/gda ] || tests+=(
	'every_on_1 every plain 1'
	'every_on_1_by_queue alone plain'
	'every_on_1_by_queue_asan alone asan'
	'every_on_1_by_queues_of_two_dialects alone phase'
	'every_on_3_asan every asan 3'
	'no_queue no_queue'
	'finalize_frees_teams_asan leaves_nothing 0 done split'
	'global_exit_0_asan leaves_nothing 0 "" exit 0'
	'a_PE_leaves ends 1 "PE [01]: shmem_(finalize|barrier_all).*, PE 2: it has ended and .*" leave'
)

[ -e /dev/gda ] || begin_all
echo "1..${#tests[@]}"
for t in "${tests[@]}"; do
	eval "ok $t"
done
exit $rc
