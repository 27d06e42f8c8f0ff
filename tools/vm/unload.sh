#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unload.sh - in the guest: unload the modules. Speaks KTAP.

echo "1..4"
n=0 rc=0
for m in gda_edu gda_test gda_mr gda_core; do
	n=$((n + 1))
	if rmmod $m; then echo "ok $n unload $m"; else echo "not ok $n unload $m"; rc=1; fi
done
exit $rc
