#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check.sh debug|kcsan|coverage [PROGRAM...] - the tests of the guest under that kernel
#
# Runs the programs that `make check` runs in a guest, or PROGRAMs (paths or last parts of paths),
# under a debug kernel, which kernel.sh builds and keeps. A report of that kernel fails the run and
# is printed; most end it, too (panic_on_warn). coverage runs them under the debug kernel, with our
# modules built with gcov, to tell which of their lines the tests reach.
#
#   GDA_STRESS=N       how often tests repeat things, by N    [0.1]
#   GDA_SLOW=N         time limits of programs times N        [6]
#   GDA_FUZZ=ARGS      replay-guest fuzzes (selftests/fuzz/guest_main.c)
#   GDA_GUEST_LIMIT=S  seconds for all of them                [3000]
#   GDA_GUESTS=N       guests that share the programs         [2, or 1 for a few]
#
# Logs are left in build/log/WHAT/N of guest N; with PROGRAMs in build/log/part/WHAT/N, so that
# the results of the last run of all programs stay for `make attacks`.
#
# Without PROGRAMs, programs that test a tool or the library, and most 32-bit programs, are left
# out: they find nothing in the kernel that others do not.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
here=tools/debug
what=${1-}
last=("$here/leaks.sh" tools/vm/unload.sh)
boot="softlockup_panic=1 hung_task_panic=1 page_poison=1"
# -g1 gives line numbers for reports and no more, because tests load modules over and over. Gcov
# counts fewer lines with it.
case $what in
debug) kernel=debug args=(KCFLAGS=-g1 KCOV_INSTRUMENT=y) boot+=" panic_on_warn=1" ;;
# KCSAN reports races of the whole kernel: those outside of our modules are ignored.
kcsan) kernel=kcsan args=(KCFLAGS=-g1) ;;
coverage)
	kernel=kcsan args=(KCFLAGS=-g KCSAN_SANITIZE=n GCOV_PROFILE=y)
	last=(tools/vm/unload.sh "$here/gcov.sh")
	;;
*) echo "usage: check.sh debug|kcsan|coverage [PROGRAM...]" >&2; exit 2 ;;
esac
shift
log=build/log${1:+/part}/$what
start=$SECONDS

# The requested programs, by name; all if none is given.
chosen() {
	local t n

	for t; do
		for n in "${names[@]}"; do
			case $t in "$n"|*/"$n") echo "$t" ;; esac
		done
	done
}

# First lines of reports, for awk; also messages that the kernel has stopped looking for bugs.
heads='BUG: |BUG [a-z]|WARNING: |UBSAN: |Kernel panic|Oops|general protection fault|'
heads+='DMA-API: .*(error|not|leak|exceed)|refcount_t: |INFO: task .* blocked|'
heads+='rcu: INFO: .*stall|kmemleak: [0-9]+ new suspected|unreferenced object|'
heads+='DMA-API: .* disabl|ODEBUG disabled|leak detector disabled|turning off the locking'

# Print the reports since the modules were loaded into guest $1, each with the lines that follow it.
# From that time on the console has dmesg's lines, and also those after its end.
reports() {
	[ -s "$1/console" ] || return
	awk -v heads="$heads" '
		/gda-test: begin/ {
			if (/tools\/vm\/load.sh/) n = 0
			sweep = / kernel\/fail_/
			left = mute = 0
			next
		}
		# these warnings come from the kernel itself, for lack of memory
		sweep && /WARNING: .* (dma_buf_vmap|event_|jump_label_)/ { mute = 70; next }
		sweep && /(DMA-API|ODEBUG).* disabl/ { next }
		$0 ~ heads && (!/KCSAN: data-race in/ || /gda/) { left = 70; mute = 0 }
		mute > 0 { if (/end trace/) mute = 0; else mute--; next }
		left > 0 { line[n++] = --left ? $0 : "..." }
		END { for (i = 0; i < n && i < 400; i++) print line[i] }' "$1/console"
}

verdict() {
	local p f s g dirs=()

	for ((g = 1; g <= guests; g++)); do
		dirs+=("$log/$g")
	done
	read -r p f s < <($scripts/sum.sh "${dirs[@]}")
	[ ! -s "$log/reports" ] || f=$((f ? f : 1))
	[ "$f" = 0 ] && [ "$p" -gt 0 ] && echo "PASSED in $((SECONDS - start)) s" ||
		echo "FAILED in $((SECONDS - start)) s"
	echo "$p passed, $f failed, $s skipped"
	[ "$f" = 0 ] && [ "$p" -gt 0 ]
}

fail() { echo; echo "FAILED in $((SECONDS - start)) s"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }

# Programs with long limits come first, so that none of them begins when the others are done. In
# fail_nth the kernel's check of DMA mappings gives up for lack of memory: so programs come after it
# that map nothing for a device.
in_order() {
	local t n end

	for t; do
		n=${t#build/} n=${n#selftests/} end=0
		case $n in
		kernel/fail_nth|kernel/fail_ib) end=1 ;;
		kernel32/*|kernel/idle|kernel/keys|kernel/klog) end=2 ;;
		kernel/range|kernel/ring|kernel/wqe) end=2 ;;
		esac
		awk -v n="$n" -v t="$t" -v end=$end '$1 == n { l = $2 }
			END { print end, l + 0, t }' selftests/timeouts
	done | sort -s -k 1,1n -k 2,2nr | cut -d ' ' -f 3-
}

# The programs that test the kernel, and not only a tool or the library. Of the 32-bit programs,
# those that test ioctl() and mmap(), where they differ. Of the front ends, which repeat the same
# calls, those that run users' programs. verbs/rxe.sh runs without our modules.
ours() {
	local t

	for t; do
		case $t in
		*/kernel32/basic|*/kernel32/mmap) echo "$t" ;;
		*/inproc/*|*/comm/*|*/lib/*|*/kill/*|*/tools/*|*/perf/*|*/abi/*|*/kernel32/*) ;;
		*/async/plain/random|*/dpa/plain/*|*/gin/plain/check|*/gin/plain/histories|*/verbs/rxe.sh) ;;
		*) echo "$t" ;;
		esac
	done
}

# Run guest $1, which takes programs that other guests have left. Becomes gda-vm.
guest() {
	local dir=$log/$1

	mkdir -p "$dir"
	echo $BASHPID >"$dir/pid"
	exec env GDA_CACHE="$cache" tools/vm/gda-vm -v -e -k "$rel" -m 3072 \
		-t "${GDA_GUEST_LIMIT:-3000}" -o "$dir" -a "$boot" -- \
		env GDA_STRESS="${GDA_STRESS:-0.1}" GDA_SLOW="${GDA_SLOW:-6}" \
		GDA_FAIL_VERBOSE="${GDA_FAIL_VERBOSE-}" GDA_FUZZ="${GDA_FUZZ-}" GDA_GCOV="$dir/gcov" \
		GDA_KERNEL_IS="$what" $scripts/run-tests.sh --dmesg --logs "$dir" --share "$log/taken" \
		$here/start.sh tools/vm/load.sh "${tests[@]}" "${last[@]}"
}

# Combine the results of all guests: a line is reached if one of them has reached it.
coverage() {
	local tree=build/$rel all=$log/gcov g f

	rm -rf "$all"
	cp -r "$log/1/gcov" "$all" || return
	for ((g = 2; g <= guests; g++)); do
		gcov-tool merge -o "$all.new" "$all" "$log/$g/gcov" 2>>"$log/gcov.log" || return
		rm -rf "$all"
		mv "$all.new" "$all"
	done
	(cd "$tree" && find kmod engine -name '*.gcno' -exec cp --parents {} "$OLDPWD/$all" \;)
	for f in kmod/gda_*/{,*/,*/*/}*.c engine/{,*/}*.c; do
		f=$all/${f%.c}.gcda
		[ ! -e "$f" ] || gcov -b -n -o "$f" "${f##*/}" 2>/dev/null
	done | awk -v of='(kmod/gda_[a-z]*|engine)/.*[.]c$' -v total=kmod -f $scripts/gcov.awk
}

names=("$@")
mkdir -p "$log"
rm -rf "$log"/{taken,reports,[0-9]*,*.log}
mkdir "$log/taken"
$scripts/deps.sh debug || fail
$here/kernel.sh have "$kernel" || echo "(the kernel takes 15 to 30 minutes on two processors, once)"
$scripts/step.sh "$kernel kernel" $here/kernel.sh "$kernel" || fail
read -r cache rel < <($here/kernel.sh "$kernel")
read -ra tests < <(make --no-print-directory -s list-vm)
pick=ours
[ ${#names[@]} = 0 ] || pick=chosen
mapfile -t tests < <($pick "${tests[@]}")
[ ${#tests[@]} -gt 0 ] || { echo "no such program"; exit 2; }
mapfile -t tests < <(in_order "${tests[@]}")
# Most programs keep one processor busy: two guests side by side finish first.
guests=${GDA_GUESTS:-$((${#tests[@]} > 6 ? 2 : 1))}
$scripts/step.sh "library and tests" make --no-print-directory -s -k -j "$(nproc)" lib "${tests[@]}" || fail
GDA_CACHE=$cache $scripts/step.sh "modules for $rel" $scripts/modules.sh "$rel" "${args[@]}" || fail
trap 'kill $(cat "$log"/*/pid) 2>/dev/null; exit 143' TERM INT
for ((g = 1; g <= guests; g++)); do
	guest $g 2>&1 | sed -u "s/^/$g /" &
done
wait
for ((g = 1; g <= guests; g++)); do reports "$log/$g"; done >"$log/reports"
if [ -s "$log/reports" ]; then
	echo "Reports of the kernel (all it said: $log/*/console):"
	cat "$log/reports"
fi
[ "$what" != coverage ] || coverage
echo
verdict
