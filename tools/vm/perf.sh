#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf.sh [ARG...] - in the guest: load the modules, make an rdma_rxe device for
# comparison, run gda-perf, unload the modules
#
# Where rdma_rxe or package perftest is missing, gda-perf says so in its place.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# rxe, over a network interface that leads nowhere; it is connected to itself.
rxe() {
	modprobe -a rdma_rxe ib_uverbs rdma_ucm ib_umad || return
	ip link add gda-dummy type dummy &&
		ip addr add 10.9.0.1/24 dev gda-dummy &&
		ip link set gda-dummy mtu 4200 up &&
		rdma link add rxe0 type rxe netdev gda-dummy
}

tools/vm/load.sh | grep '^not ok' && exit 1
rxe || echo "no rdma_rxe" >&2
build/tools/gda-perf "$@"
rc=$?
tools/vm/unload.sh | grep '^not ok' && rc=1
exit $rc
