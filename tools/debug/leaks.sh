#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# leaks.sh - in the guest, with the modules loaded: report memory to which nothing points. Speaks
# KTAP.

leaks=/sys/kernel/debug/kmemleak
[ -e $leaks ] || { echo "1..0 # SKIP no kmemleak in this kernel"; exit 4; }
echo "1..1"
# kmemleak ignores objects younger than five seconds, and a pointer may be in a register during one
# scan: so scan twice.
sleep 6
if ! echo scan >$leaks || ! sleep 1 || ! echo scan >$leaks; then
	echo "not ok 1 kmemleak gave up"
	exit 1
fi
n=$(grep -c '^unreferenced object' $leaks)
if [ "$n" = 0 ]; then
	echo "ok 1 nothing leaked"
	exit 0
fi
head -n 200 $leaks | sed 's/^/# /'
echo "not ok 1 $n objects leaked"
exit 1
