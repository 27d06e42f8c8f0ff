#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# rxe.sh [-n NETDEV] [COMMAND [ARG...]] - in the guest: make the RDMA device rxe0, run the
# command
#
# rxe0 is on NETDEV; by default it is on a dummy interface with address 10.9.0.1, and then can be
# connected only to itself.

netdev=''
if [ "${1-}" = -n ]; then
	netdev=$2
	shift 2
fi

die() { echo "rxe.sh: $*" >&2; exit 125; }

modprobe -a rdma_rxe ib_uverbs rdma_ucm || die "no rdma_rxe"
if [ -z "$netdev" ]; then
	netdev=gda-dummy
	ip link add $netdev type dummy || die "no interface for it"
	ip addr add 10.9.0.1/24 dev $netdev
	ip link set $netdev mtu 4200 up
fi
rdma link add rxe0 type rxe netdev "$netdev" || die "no rxe0 on $netdev"
[ $# = 0 ] || exec "$@"
