#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check-arch.sh [ARCH...] - the library and examples/put for other machines, run in user emulation
#
# ARCH is arm64, riscv64, s390x (big-endian), i386 (32 bits) or musl (another C library) [all]. No
# kernel, RDMA device or PMIx: two QPs of one process put 14 bytes, and gda-send is compiled. For
# arm64 and s390x the engine's tests and those of the efa dialect run, too: for arm64 with the address
# and undefined behaviour sanitizers, for s390x with those tests of the library that also hold on
# big-endian machines. All is built below build/arch; there is one line for each thing that ran.
#
# shellcheck disable=SC2034,SC2317	# variables and functions are used by name

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
failed=0
engine="engine/bytes engine/decode engine/doorbell engine/access engine/error engine/cq
	engine/model engine/fetch engine/imm engine/atomic"
efa="engine/efa engine/efa_fetch lib/unordered lib/schemes inproc/plain/efa inproc/plain/efa_rules"
tests_arm64="$engine engine/async_copy engine/flight engine/flight_steps engine/record $efa"
tests_s390x="$engine lib/device inproc/plain/cq $efa"
# A sanitizer's library does not exist for every machine, and its leak check traces the process,
# which user emulation does not support.
sanitized=arm64
export ASAN_OPTIONS=detect_leaks=0

# The compiler and archiver of the machine, and the emulator for its programs.
of() {
	local gnu=$2-linux-gnu

	emulator=() ar=ar
	case $1 in
	i386) cc="gcc -m32 -D_FILE_OFFSET_BITS=64 -idirafter /usr/include/x86_64-linux-gnu" ;;
	musl) cc="musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu" ;;
	*) cc=$gnu-gcc ar=$gnu-ar emulator=("qemu-$2-static" -L "/usr/$gnu") ;;
	esac
}

here() { command -v "${cc%% *}" >/dev/null && command -v "${emulator[0]:-true}" >/dev/null; }

build() { # TARGET...
	local without=(ETEST_SANITIZE=)

	[ "$arch" != "$sanitized" ] || without=()
	make -s -j "$(nproc)" BUILD="build/arch/$arch" CC="$cc" AR="$ar" GDA_WITHOUT="pmix verbs nl nvcc" \
		"${without[@]}" "$@"
}

put() {
	local out examples=build/arch/$arch/examples

	build "$examples/put" "$examples/gda-send" || return
	out=$(GDA_DEVICE=inproc timeout 300 "${emulator[@]}" "$examples/put")
	echo "$out"
	[ "$out" = "hello, remote" ]
}

# QEMU swaps the bytes of an eventfd, but not those of a duplicate: tests of events are left out.
native() { # TEST
	local program=build/arch/$arch/selftests/$1 but=()

	[ "$1" != inproc/plain/cq ] || but=(-F event -T idle_failure_has_no_entry)
	build "$program" && timeout 1800 "${emulator[@]}" "$program" "${but[@]}"
}

run() { # NAME COMMAND...
	local log=build/log/arch-$arch-${1//\//-}.log start=$SECONDS verdict n

	if "${@:2}" >"$log" 2>&1; then
		n=$(grep -c '^ok' "$log")
		verdict=ok
		[ "$n" = 0 ] || verdict="ok, $n tests"
	else
		verdict="FAILED: $log"
		failed=1
	fi
	printf '%-8s %-20s %4d s  %s\n' "$arch" "$1" $((SECONDS - start)) "$verdict"
}

[ $# -gt 0 ] || set -- arm64 riscv64 s390x i386 musl
mkdir -p build/log
for arch; do
	of "$arch" "${arch/arm64/aarch64}"
	if ! here; then
		printf '%-8s skipped: there is no %s\n' "$arch" "${cc%% *}${emulator[0]:+ or no ${emulator[0]}}"
		continue
	fi
	run examples/put put
	tests=tests_$arch
	for t in ${TESTS-${!tests-}}; do
		run "$t" native "$t"
	done
done
exit $failed
