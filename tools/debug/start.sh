#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# start.sh - in the guest: check that the kernel is the one that $GDA_KERNEL_IS (debug, kcsan,
# coverage) names, and have it look for bugs from now on. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

debug=/sys/kernel/debug
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh

built() { grep -qxF "CONFIG_$1=y" <<<"$config"; }
is() { [ "$(cat "$1")" = "$2" ]; }

# Fails if kmemleak has given up. Leaks of the kernel before our start are not scanned for: that
# takes half a minute and has never found anything, and leaks.sh would report them.
leaks() { echo stack=on >"$debug/kmemleak"; }

lockdep() { grep -q '^ debug_locks: *1$' /proc/lockdep_stats; }
races() { echo on >"$debug/kcsan"; }

options=(FAULT_INJECTION_DEBUG_FS FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_USERCOPY VHOST_TASK)
case ${GDA_KERNEL_IS-} in
debug) options+=(KASAN UBSAN PROVE_LOCKING DEBUG_KMEMLEAK DEBUG_OBJECTS DMA_API_DEBUG KCOV) ;;
kcsan) options+=(KCSAN) ;;
coverage) options+=(GCOV_KERNEL) ;;
*) echo "Bail out! GDA_KERNEL_IS names no kernel"; exit 1 ;;
esac
config=$(zcat /proc/config.gz)
checks=$((${#options[@]} + 1))
[ "$GDA_KERNEL_IS" != debug ] || checks=$((checks + 4))
[ "$GDA_KERNEL_IS" != kcsan ] || checks=$((checks + 1))

echo "1..$checks"
for o in "${options[@]}"; do
	ok "has $o" built "$o"
done
ok "fail-nth" test -w /proc/self/fail-nth
if [ "$GDA_KERNEL_IS" = debug ]; then
	ok "panic_on_warn" is /proc/sys/kernel/panic_on_warn 1
	ok "kmemleak" leaks
	ok "lockdep" lockdep
	ok "dma-debug" is $debug/dma-api/disabled N
fi
[ "$GDA_KERNEL_IS" != kcsan ] || ok "kcsan" races
exit $rc
