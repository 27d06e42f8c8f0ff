#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check.sh debug|kcsan [PROGRAM...] - the tests of the guest under that kernel
#
# Everything that `make check` runs in a guest, or PROGRAMs (paths or last parts of
# paths), under a kernel that looks for bugs; kernel.sh builds and keeps it. A report
# of that kernel fails the run and is printed; most end it, too (panic_on_warn).
#
#   GDA_STRESS=N       length of what is repeated, times N    [0.2]
#   GDA_SLOW=N         time limits of programs times N        [6]
#   GDA_FUZZ=ARGS      replay-guest fuzzes (selftests/fuzz/guest_main.c)
#   GDA_GUEST_LIMIT=S  seconds for all of them                [3000]

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
here=tools/debug
what=${1-}
case $what in debug|kcsan) ;; *) echo "usage: check.sh debug|kcsan [PROGRAM...]" >&2; exit 2 ;; esac
shift
log=build/log/$what
start=$SECONDS

# The programs that are asked for, by name; all if none.
chosen() {
	local t n

	for t; do
		for n in "${names[@]}"; do
			case $t in "$n"|*/"$n") echo "$t" ;; esac
		done
	done
}

# Heads of reports, in awk.
heads='BUG: |BUG [a-z]|WARNING: |UBSAN: |Kernel panic|Oops|general protection fault|'
heads+='DMA-API: .*(error|not|leak|exceed)|refcount_t: |INFO: task .* blocked|'
heads+='rcu: INFO: .*stall|kmemleak: [0-9]+ new suspected|unreferenced object'

# Reports since the modules were loaded, each with what follows it.
reports() {
	local from="$log/console"

	[ ! -s "$log/dmesg" ] || from="$log/dmesg"
	[ -s "$from" ] || return
	awk -v heads="$heads" '
		/gda-test: begin/ { if (/tools\/vm\/load.sh/) n = 0; next }
		# the core itself, for want of memory, in the sweeps of fail_nth
		/WARNING: .* (dma_buf_vmap|event_)/ { left = 0; next }
		$0 ~ heads && (!/KCSAN: data-race in/ || /gda/) { left = 70 }
		left-- > 0 { line[n++] = $0 }
		left == 0 { line[n++] = "..." }
		END { for (i = 0; i < n && i < 400; i++) print line[i] }' "$from"
}

verdict() {
	local p=0 f=1 s=0

	[ ! -s "$log/totals" ] || read -r p f s <"$log/totals"
	[ ! -s "$log/reports" ] || f=$((f ? f : 1))
	[ "$f" = 0 ] && [ "$p" -gt 0 ] && echo "PASSED in $((SECONDS - start)) s" ||
		echo "FAILED in $((SECONDS - start)) s"
	echo "$p passed, $f failed, $s skipped"
	[ "$f" = 0 ] && [ "$p" -gt 0 ]
}

fail() { echo; echo "FAILED in $((SECONDS - start)) s"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }

names=("$@")
mkdir -p "$log"
rm -f "$log"/{totals,console,dmesg,reports,*.log}
$scripts/deps.sh debug || fail
$here/kernel.sh have "$what" || echo "(the kernel takes 15 to 30 minutes on two processors, once)"
$scripts/step.sh "$what kernel" $here/kernel.sh "$what" || fail
read -r cache rel < <($here/kernel.sh "$what")
read -ra tests < <(make --no-print-directory -s list-vm)
[ ${#names[@]} = 0 ] || mapfile -t tests < <(chosen "${tests[@]}")
[ ${#tests[@]} -gt 0 ] || { echo "no such program"; exit 2; }
$scripts/step.sh "library and tests" make --no-print-directory -s -k -j "$(nproc)" lib "${tests[@]}" || fail
args=(KCOV_INSTRUMENT=y) boot="softlockup_panic=1 hung_task_panic=1 page_poison=1"
case $what in
debug) boot+=" panic_on_warn=1" ;;
# It reports races of the whole kernel: those that are not ours are let through.
kcsan) args=() ;;
esac
GDA_CACHE=$cache $scripts/step.sh "modules for $rel" $scripts/modules.sh "$rel" KCFLAGS=-g "${args[@]}" || fail
GDA_CACHE=$cache tools/vm/gda-vm -v -e -k "$rel" -m 3072 -t "${GDA_GUEST_LIMIT:-3000}" -o "$log" \
	-a "$boot" -- \
	env GDA_STRESS="${GDA_STRESS:-0.2}" GDA_SLOW="${GDA_SLOW:-6}" GDA_FAIL_VERBOSE="${GDA_FAIL_VERBOSE-}" \
	GDA_FUZZ="${GDA_FUZZ-}" \
	$scripts/run-tests.sh --dmesg --totals "$log/totals" --logs "$log" \
	$here/start.sh tools/vm/load.sh "${tests[@]}" $here/leaks.sh tools/vm/unload.sh
reports >"$log/reports"
if [ -s "$log/reports" ]; then
	echo "Reports of the kernel (all it said: $log/console):"
	cat "$log/reports"
fi
echo
verdict
