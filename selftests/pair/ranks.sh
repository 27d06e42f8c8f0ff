#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ranks.sh - four ranks, two in each guest, started by gda-run on each side: they meet, name
# one that dies, and run examples over each kind of device. Then mpirun on side 0 starts them, on
# side 1 by pair-rsh. Run by gda-pair. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=tools/vm/pair.sh
. tools/vm/pair.sh
run=build/tools/gda-run
hello=build/selftests/comm/hello
. selftests/lib/ktap.sh
out=$tmp/out
first=$((2 * GDA_PAIR_SIDE))
slow=${GDA_SLOW:-1}

# one_try NAME PROGRAM...: this side's two ranks of four. Return: that of gda-run
one_try() {
	local name=ranks.$1 id

	shift
	if [ "$GDA_PAIR_SIDE" = 0 ]; then
		id=$("$run" --new-id -i "$GDA_PAIR_NETDEV") && pair_put "$name" <<<"$id"
	else
		id=$(pair_get "$name")
	fi
	GDA_COMM_ID=$id timeout $((60 * slow)) "$run" --first "$first" -n 2 --of 4 "$@" >"$out" 2>&1
}

# parts NAME PROGRAM...: the same. Ranks have 30 s to find each other, and a second to prove that
# they know the id: on a machine that is slower they are started again, on both sides.
parts() {
	local try status mine theirs

	for try in 1 2 3; do
		one_try "$1.$try" "${@:2}"
		status=$?
		! grep -q 'gda_comm_create: ' "$out"
		mine=$?
		pair_put "ranks.$1.$try.met.$GDA_PAIR_SIDE" <<<"$mine"
		theirs=$(pair_get "ranks.$1.$try.met.$((1 - GDA_PAIR_SIDE))" 60) || break
		[ "$mine$theirs" != 00 ] || break
		say "$1: the ranks did not meet"
	done
	return "$status"
}

says() { grep -qxF -- "$1" "$out"; }

meet() {
	parts meet "$hello" && says "[$first] rank $first of 4" &&
		says "[$((first + 1))] barrier: done, failed: -1"
}

# Rank 3 is on side 1: there gda-run says so, here the communicator does.
die() {
	parts die "$hello" die 3
	case $GDA_PAIR_SIDE.$? in
	0.0) says "[1] barrier: Connection reset by peer, failed: 3" ;;
	1.137) says "gda-run: rank 3 was ended by signal 9 (Killed)" ;;
	*) return 1 ;;
	esac
}

# example KIND NAME: one over a device of KIND, with the result of one machine.
example() {
	GDA_DEVICE=$1:$GDA_PAIR_RDMA parts "$1.$2" "build/examples/$2" &&
		[ "$(grep -c 'as the reference$' "$out")" = 2 ]
}

# refused KIND NAME REASON: one that needs what no RDMA device has says so at set-up.
refused() {
	! GDA_DEVICE=$1:$GDA_PAIR_RDMA parts "$1.$2" "build/examples/$2" && grep -q "_create: .*$3" "$out"
}

# mpi NAME DEVICE PROGRAM: side 0 starts all four, and has their output; side 1 serves.
mpi() {
	if [ "$GDA_PAIR_SIDE" = 1 ]; then
		pair_serve "mpi.$1.done" 120 >"$out" 2>&1
		return
	fi
	GDA_DEVICE=$2 GDA_COMM_INTERFACE=$GDA_PAIR_NETDEV timeout $((100 * slow)) mpirun --allow-run-as-root \
		--oversubscribe --mca plm_rsh_agent "$PWD/tools/vm/pair-rsh" \
		--mca oob_tcp_if_include "${GDA_PAIR_ADDR%.*}.0/24" \
		--host "$GDA_PAIR_ADDR:2,$GDA_PAIR_PEER:2" -n 4 -x GDA_DEVICE -x GDA_COMM_INTERFACE \
		"$PWD/$3" </dev/null >"$out" 2>&1
	set -- "$1" $?
	: | pair_put "mpi.$1.done"
	return "$2"
}

mpi_meet() {
	mpi meet '' "$hello" || return
	[ "$GDA_PAIR_SIDE" = 1 ] || [ "$(grep -c 'rank [0-3] of 4' "$out")" = 4 ]
}

mpi_example() { # KIND NAME
	mpi "$1" "$1:$GDA_PAIR_RDMA" "build/examples/$2" || return
	[ "$GDA_PAIR_SIDE" = 1 ] || [ "$(grep -c 'as the reference$' "$out")" = 4 ]
}

echo 1..27
ok ranks_of_two_machines_meet meet
ok a_rank_that_dies_is_named_on_the_other_machine die
for kind in ib verbs; do
	for name in gin-{allreduce,allgather,halo,dispatch} \
			async-{simple_get_peer,batch_get,put_notify,tiles}; do
		ok "$name over $kind" example $kind "$name"
	done
	ok "gin-alltoall over $kind is refused" refused $kind gin-alltoall \
		"recv_counter: the device $kind:$GDA_PAIR_RDMA does not offer GDA_FEATURE_RECV_COUNTER"
	ok "gda/shmem.h over $kind is refused" refused $kind shmem-dispatch GDA_FEATURE_MASKED
	ok "gda/dpa.h over $kind is refused" refused $kind dpa-alltoall GDA_FEATURE_LOOPBACK
done
if ! tools/scripts/optional.sh mpirun >/dev/null || [ ! -s build/optional/pmix ]; then
	for name in "" " run gin-allreduce over ib" " run gin-allreduce over verbs"; do
		skip "ranks that mpirun starts$name" "no mpirun, or libgda was built without PMIx"
	done
else
	ok "ranks that mpirun starts" mpi_meet
	for kind in ib verbs; do
		ok "ranks that mpirun starts run gin-allreduce over $kind" mpi_example $kind gin-allreduce
	done
fi
exit $rc
