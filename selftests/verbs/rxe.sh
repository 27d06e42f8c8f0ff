#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# rxe.sh - devices `verbs:` in the guest: what is beside this script, and the suites of
# selftests/inproc that the bits of rdma_rxe allow, over verbs:rxe0. Speaks KTAP.
#
# All as nobody, and without GDA's modules: if they are loaded they are taken out, and put in again
# at the end. A device rxe0 that is there already is used.
#
# shellcheck disable=SC2317	# functions are called by trap

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
tests="selftests/verbs/verbs selftests/inproc/plain/data selftests/inproc/plain/errors"
tests+=" selftests/inproc/plain/cq selftests/verbs/plain/fabric.bin selftests/verbs/strangers"
tests+=" selftests/verbs/forged selftests/verbs/impostor selftests/verbs/peer_killed"

modprobe -a rdma_rxe ib_uverbs rdma_ucm ||
	{ echo "1..0 # SKIP no rdma_rxe in this kernel"; exit 0; }
# shellcheck source=selftests/verbs/over.sh
. selftests/verbs/over.sh
made='' modules=()
restore() {
	local m

	rm -rf "$tmp"
	[ ! "$made" ] || { rdma link del rxe0; ip link del gda-dummy; }
	for m in "${modules[@]}"; do
		[ -d "/sys/module/${m##*/}" ] || insmod "build/$(uname -r)/$m/${m##*/}.ko" ||
			echo "Bail out! $m does not come back"
	done
	[ ${#modules[@]} = 0 ] || { chown 0:7777 /dev/gda && chmod 660 /dev/gda; }
}
trap restore EXIT

# Is there no module of GDA's any more? What a program before this one had goes in its own time.
alone() {
	local m i

	for ((i = 0; i < 600; i++)); do
		for m in gda_ib gda_test gda_mr gda_core; do
			[ ! -d "/sys/module/$m" ] || rmmod $m 2>/dev/null
		done
		[ -d /sys/module/gda_core ] || return 0
		sleep 0.1
	done
	return 1
}

for m in kmod/gda_core kmod/gda_mr selftests/kmod/gda_test kmod/gda_ib; do
	[ ! -d "/sys/module/${m##*/}" ] || modules+=("$m")
done
alone || { echo "Bail out! the modules are in use"; exit 1; }
if [ ! -e /sys/class/infiniband/rxe0 ]; then
	made=y
	ip link add gda-dummy type dummy
	ip addr add 10.9.0.1/24 dev gda-dummy
	# of which a stranger speaks (impostor.c)
	ip addr add 10.9.0.2/24 dev gda-dummy
	ip link set gda-dummy mtu 4200 up
	rdma link add rxe0 type rxe netdev gda-dummy || { echo "Bail out! no rxe0"; exit 1; }
fi
# Each pins some of its own.
ulimit -l 262144

read -ra all <<<"$tests"
echo "1..${#all[@]}"
for t in "${all[@]}"; do
	over verbs:rxe0 setpriv --reuid nobody --regid nogroup --clear-groups "build/$t"
done
exit $rc
