#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# pair-guest.sh SIDE COMMAND [ARG...] - in a guest of gda-pair: the network, rxe0 and the
# folder that both sides share; then the command

here=$(dirname "${BASH_SOURCE[0]}")
side=$1
shift
export GDA_PAIR_SIDE=$side GDA_PAIR_ADDR=10.7.0.$((side + 1)) GDA_PAIR_PEER=10.7.0.$((2 - side))
export GDA_PAIR_DIR=/run/gda-pair GDA_PAIR_RDMA=rxe0

die() { echo "pair-guest.sh: $*" >&2; exit 125; }

# Without caching: files of the other side are visible at once.
mkdir -p "$GDA_PAIR_DIR"
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none pair "$GDA_PAIR_DIR" || die "no shared folder"
modprobe virtio_net || die "no virtio_net"
for net in /sys/bus/virtio/drivers/virtio_net/virtio*/net/*; do
	export GDA_PAIR_NETDEV=${net##*/}
done
ip addr add "$GDA_PAIR_ADDR/24" dev "$GDA_PAIR_NETDEV" || die "no network"
ip link set "$GDA_PAIR_NETDEV" mtu 4200 up
hostname "gda-pair-$side"
exec "$here/rxe.sh" -n "$GDA_PAIR_NETDEV" "$@"
