#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ib.sh - in the guest: what has to hold on a fabric (fabric.c, strangers.c, forged.c), on the
# kernel's device ib:rxe0, of which nothing is left behind them. It loads gda_ib and takes it out
# again. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
ko=build/$(uname -r)/kmod/gda_ib/gda_ib.ko

# shellcheck disable=SC2015	# as meant: either may be missing
modprobe -a rdma_rxe ib_uverbs rdma_ucm && [ -e "$ko" ] ||
	{ echo "1..0 # SKIP no rdma_rxe in this kernel, or no gda_ib for it"; exit 0; }
trap 'rmmod gda_ib; rdma link del rxe0; ip link del gda-dummy' EXIT
ip link add gda-dummy type dummy
ip addr add 10.9.0.1/24 dev gda-dummy
ip link set gda-dummy mtu 4200 up
# shellcheck disable=SC2015
rdma link add rxe0 type rxe netdev gda-dummy && insmod "$ko" ||
	{ echo "Bail out! no ib:rxe0"; exit 1; }

echo "# dmesg: gda_ib: (loading out-of-tree module|module verification failed)"
echo 1..4
n=0 rc=0
for t in plain/fabric.bin strangers forged; do
	n=$((n + 1))
	if GDA_DEVICE=ib:rxe0 GDA_STRESS=${GDA_STRESS:-0.15} "build/selftests/verbs/$t" >"/tmp/ib.$n" 2>&1; then
		echo "ok $n ${t##*/} over ib:rxe0"
	else
		echo "not ok $n ${t##*/} over ib:rxe0"
		rc=1
	fi
	sed 's/^/# /' "/tmp/ib.$n" | grep -vE '^# # +(RUN|OK)'
done
# All contexts are closed: no id of theirs may be left, nor the listener's.
left=$(rdma resource show cm_id 2>&1 | grep -F rxe0)
if [ -z "$left" ]; then
	echo "ok 4 E1_no_id_is_left"
else
	printf '%s\n' "$left" | sed 's/^/# /'
	echo "not ok 4 E1_no_id_is_left"
	rc=1
fi
exit $rc
