#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# rxe.sh - devices `verbs:` in the guest: what is beside this script, and the suites of
# selftests/inproc that the bits of rdma_rxe allow, over verbs:rxe0. Speaks KTAP.
#
# All as a user who has no right on /dev/gda. A device rxe0 that is there already is used.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
tests="selftests/verbs/verbs selftests/inproc/plain/data selftests/inproc/plain/errors"
tests+=" selftests/inproc/plain/cq selftests/verbs/plain/fabric.bin selftests/verbs/strangers"
tests+=" selftests/verbs/forged"

modprobe -a rdma_rxe ib_uverbs rdma_ucm ||
	{ echo "1..0 # SKIP no rdma_rxe in this kernel"; exit 0; }
if [ ! -e /sys/class/infiniband/rxe0 ]; then
	trap 'rdma link del rxe0; ip link del gda-dummy' EXIT
	ip link add gda-dummy type dummy
	ip addr add 10.9.0.1/24 dev gda-dummy
	ip link set gda-dummy mtu 4200 up
	rdma link add rxe0 type rxe netdev gda-dummy || { echo "Bail out! no rxe0"; exit 1; }
fi
# Each pins some of its own.
ulimit -l 262144

read -ra all <<<"$tests"
echo "1..${#all[@]}"
n=0 rc=0
for t in "${all[@]}"; do
	n=$((n + 1))
	if GDA_DEVICE=verbs:rxe0 GDA_STRESS=${GDA_STRESS:-0.15} \
		setpriv --reuid nobody --regid nogroup --clear-groups \
		"build/$t" >"/tmp/rxe.$n" 2>&1; then
		echo "ok $n ${t##*/} over verbs:rxe0"
	else
		echo "not ok $n ${t##*/} over verbs:rxe0"
		rc=1
	fi
	sed 's/^/# /' "/tmp/rxe.$n" | grep -vE '^# # +(RUN|OK)'
done
exit $rc
