#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unload.sh - in the guest: unload the modules. Speaks KTAP.

modules=(gda_edu gda_test gda_mr gda_core)
[ ! -d /sys/module/gda_ib ] || modules=(gda_ib "${modules[@]}")
echo "1..${#modules[@]}"
n=0 rc=0
for m in "${modules[@]}"; do
	n=$((n + 1))
	if rmmod "$m"; then echo "ok $n unload $m"; else echo "not ok $n unload $m"; rc=1; fi
done
exit $rc
