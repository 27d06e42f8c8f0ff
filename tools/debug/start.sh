#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# start.sh - in the guest: what the debug kernel looks for from now on. Speaks KTAP.

debug=/sys/kernel/debug
echo "1..2"
if [ -e $debug/kmemleak ]; then
	# What the kernel lost before us is none of ours.
	echo "# dmesg: kmemleak: [0-9]+ new suspected"
	echo scan >$debug/kmemleak
	echo clear >$debug/kmemleak && echo "ok 1 kmemleak" || echo "not ok 1 kmemleak"
else
	echo "ok 1 kmemleak # SKIP not in this kernel"
fi
if [ -e $debug/kcsan ]; then
	echo on >$debug/kcsan && echo "ok 2 kcsan" || echo "not ok 2 kcsan"
else
	echo "ok 2 kcsan # SKIP not in this kernel"
fi
