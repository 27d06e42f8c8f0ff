#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ib.sh - in the guest: what has to hold on a fabric (fabric.c, strangers.c, forged.c,
# impostor.c, peer_killed.c), on the kernel's device ib:rxe0, of which nothing is left behind them.
# It loads gda_ib and takes it out again. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
ko=build/$(uname -r)/kmod/gda_ib/gda_ib.ko

# shellcheck disable=SC2015	# as meant: either may be missing
modprobe -a rdma_rxe ib_uverbs rdma_ucm && [ -e "$ko" ] ||
	{ echo "1..0 # SKIP no rdma_rxe in this kernel, or no gda_ib for it"; exit 0; }
# shellcheck source=selftests/verbs/over.sh
. selftests/verbs/over.sh
trap 'rm -rf "$tmp"; rmmod gda_ib; rdma link del rxe0; ip link del gda-dummy' EXIT
ip link add gda-dummy type dummy
ip addr add 10.9.0.1/24 dev gda-dummy
# of which a stranger speaks (impostor.c)
ip addr add 10.9.0.2/24 dev gda-dummy
ip link set gda-dummy mtu 4200 up
# shellcheck disable=SC2015
rdma link add rxe0 type rxe netdev gda-dummy && insmod "$ko" ||
	{ echo "Bail out! no ib:rxe0"; exit 1; }

echo "# dmesg: gda_ib: (loading out-of-tree module|module verification failed)"
# Objects of rxe0, a line each; its own QP counts packets.
used() {
	local what

	for what in qp cq pd mr cm_id; do
		rdma resource show $what
	done 2>&1 | grep -F rxe0 | sed -E 's/ [rs]q-psn [0-9]+//g'
}

# All contexts are closed: no object of theirs may stay, nor the listener's id. What a process had
# that was killed goes in its own time.
nothing_left() {
	local i

	for ((i = 0; i < 600; i++)); do
		used >"$tmp/after"
		! cmp -s "$tmp"/{before,after} || break
		sleep 0.1
	done
	diff "$tmp"/{before,after} && [ -s "$tmp/before" ]
}

used >"$tmp/before"
echo 1..6
for t in plain/fabric.bin strangers forged impostor peer_killed; do
	over ib:rxe0 "build/selftests/verbs/$t"
done
ok E1_E4_nothing_of_rxe0_is_left nothing_left
exit $rc
