#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# load.sh - in the guest: load the modules of this kernel, and those that play other
# drivers for the tests. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
echo "1..5"
# As any module that its maker did not sign.
echo "# dmesg: gda_(core|test|edu): (loading out-of-tree module|module verification failed)"
n=0 rc=0
ok() {
	n=$((n + 1))
	if "$@"; then echo "ok $n $what"; else echo "not ok $n $what"; rc=1; fi
}
for m in gda_core gda_mr; do
	what="load $m"
	ok insmod "build/$(uname -r)/kmod/$m/$m.ko"
done
for m in gda_test gda_edu; do
	what="load $m"
	ok insmod "build/$(uname -r)/selftests/kmod/$m/$m.ko"
done
# No udev here.
what="node /dev/gda"
ok chown 0:7777 /dev/gda && chmod 660 /dev/gda
[ $rc = 0 ] || echo 'Bail out! no modules, no tests'
exit $rc
