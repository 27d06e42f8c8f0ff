#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# gcov.sh - in the guest: copy what our modules have counted to $GDA_GCOV, also the counts of
# modules that were unloaded, which the kernel keeps. Speaks KTAP.

from=/sys/kernel/debug/gcov
echo "1..1"
[ -d $from ] || { echo "not ok 1 no gcov in this kernel"; exit 1; }
n=0
while read -r f; do
	case $f in */engine/*) to=engine/${f##*/engine/} ;; *) to=kmod/${f##*/kmod/} ;; esac
	to=$GDA_GCOV/$to
	mkdir -p "${to%/*}"
	cat "$f" >"$to" && n=$((n + 1))
done < <(find $from \( -path '*/kmod/gda_*' -o -path '*/engine/*' \) ! -path '*/selftests/kmod/*' -name '*.gcda')
[ $n -gt 0 ] || { echo "not ok 1 nothing counted"; exit 1; }
echo "ok 1 $n files"
