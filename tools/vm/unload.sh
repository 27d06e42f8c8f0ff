#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unload.sh - in the guest: unload the modules. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
modules=(gda_edu gda_test gda_mr gda_core)
[ ! -d /sys/module/gda_ib ] || modules=(gda_ib "${modules[@]}")
echo "1..${#modules[@]}"
for m in "${modules[@]}"; do
	ok "unload $m" rmmod "$m"
done
exit $rc
