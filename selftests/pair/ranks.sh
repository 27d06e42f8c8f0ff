#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ranks.sh - four ranks, two in each guest, started by gda-run on each side: they meet, name
# one that dies, and run examples over each kind of device. Run by gda-pair. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=tools/vm/pair.sh
. tools/vm/pair.sh
run=build/tools/gda-run
hello=build/selftests/comm/hello
out=$(mktemp /tmp/gda-pair-ranks.XXXXXX) || exit 1
trap 'rm -f "$out"' EXIT
first=$((2 * GDA_PAIR_SIDE))
n=0 rc=0

# parts NAME PROGRAM...: this side's two ranks of four. Return: that of gda-run
parts() {
	local name=ranks.$1 id

	shift
	if [ "$GDA_PAIR_SIDE" = 0 ]; then
		id=$("$run" --new-id -i "$GDA_PAIR_NETDEV") && pair_put "$name" <<<"$id"
	else
		id=$(pair_get "$name")
	fi
	GDA_COMM_ID=$id timeout 60 "$run" --first "$first" -n 2 --of 4 "$@" >"$out" 2>&1
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

ok() { # NAME COMMAND...
	local name=$1

	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$out"
		echo "not ok $n $name"
		rc=1
	fi
}

# example KIND NAME: one of gda/gin.h over a device of KIND, with the result of one machine.
example() {
	GDA_DEVICE=$1:$GDA_PAIR_RDMA parts "$1.$2" "build/examples/gin-$2" &&
		[ "$(grep -c 'as the reference$' "$out")" = 2 ]
}

# refused KIND NAME REASON: one that needs what no RDMA device has says so at set-up.
refused() {
	! GDA_DEVICE=$1:$GDA_PAIR_RDMA parts "$1.$2" "build/examples/$2" && grep -q "_create: .*$3" "$out"
}

echo 1..14
ok ranks_of_two_machines_meet meet
ok a_rank_that_dies_is_named_on_the_other_machine die
for kind in ib verbs; do
	for name in allreduce allgather halo dispatch; do
		ok "gin-$name over $kind" example $kind $name
	done
	ok "gin-alltoall over $kind is refused" refused $kind gin-alltoall \
		"recv_counter: the device $kind:$GDA_PAIR_RDMA does not offer it"
	ok "gda/shmem.h over $kind is refused" refused $kind shmem-dispatch GDA_FEATURE_MASKED
done
exit $rc
