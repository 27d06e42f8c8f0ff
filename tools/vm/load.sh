#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# load.sh - in the guest: load the modules of this kernel, and those that act as other drivers for
# the tests; if there is an RDMA device (rxe.sh), gda_ib as well. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
own=(gda_core gda_mr)
if [ -d /sys/module/rdma_rxe ] && [ -e "build/$(uname -r)/kmod/gda_ib/gda_ib.ko" ]; then
	own+=(gda_ib)
fi
echo "1..$((${#own[@]} + 3))"
# Unsigned, like any module that its builder did not sign.
echo "# dmesg: gda_(core|test|edu): (loading out-of-tree module|module verification failed)"
for m in "${own[@]}"; do
	ok "load $m" insmod "build/$(uname -r)/kmod/$m/$m.ko"
done
for m in gda_test gda_edu; do
	ok "load $m" insmod "build/$(uname -r)/selftests/kmod/$m/$m.ko"
done
# No udev here.
ok "node /dev/gda" chown 0:7777 /dev/gda && chmod 660 /dev/gda
[ $rc = 0 ] || echo 'Bail out! no modules, no tests'
exit $rc
