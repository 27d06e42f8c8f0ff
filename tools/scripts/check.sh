#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check.sh native|KVER... - build what is needed, run the tests, say the verdict
#
# Its last line is "N passed, N failed, N skipped". A step that fails counts as a
# failed test, and the other kernels are still tried. The guests run one after the
# other: each of them keeps two processors busy. GDA_GUEST_LIMIT is the most seconds
# that one may take, GDA_SLOW a factor for the limits of the programs in it. What is
# left in build/log of an earlier run of the same goes first.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
start=$SECONDS
p=0 f=0 s=0

submake() { make --no-print-directory -s "$@"; }
step() { $scripts/step.sh "$@"; }
title() { printf '\n== %s\n' "$*"; }

log_of() {
	case $1 in
	native) echo build/log/native ;;
	*) echo "build/log/vm-$1" ;;
	esac
}

end() {
	[ $f = 0 ] && [ $p -gt 0 ] && verdict=PASSED || verdict=FAILED
	printf '\n%s in %d s\n' "$verdict" $((SECONDS - start))
	printf '%d passed, %d failed, %d skipped\n' $p $f $s
	[ "$verdict" = PASSED ]
	exit
}

add() {
	p=$((p + $1)) f=$((f + $2)) s=$((s + $3))
}

# What the programs whose logs are in $1 came to.
count() {
	local sum

	read -ra sum < <($scripts/sum.sh "$1")
	add "${sum[@]}"
}

failed() { add 0 1 0; }

native() {
	local log

	title "native tests"
	log=$(log_of native)
	read -ra tests < <(submake list-native)
	[ ${#tests[@]} = 0 ] && { echo none; return; }
	$scripts/run-tests.sh --logs "$log" "${tests[@]}" || true
	count "$log"
}

guest() {
	local k=$1 rel log

	title "tests in a guest on $k"
	log=$(log_of "$k")
	step "modules for $k" $scripts/modules.sh "$k" || { failed; return; }
	rel=$(tools/vm/gda-kernel release "$k")
	read -ra tests < <(submake list-vm)
	tools/vm/gda-vm -v -e -k "$rel" -t "${GDA_GUEST_LIMIT:-2400}" -o "$log" -- \
		env GDA_SLOW="${GDA_SLOW:-1}" \
		$scripts/run-tests.sh --dmesg --logs "$log" \
		tools/vm/load.sh "${tests[@]}" tools/vm/unload.sh
	# The guest crashed, or was ended: so its run has no end.
	[ $? != 125 ] || sed -i '/^total\t/d' "$log/results" 2>/dev/null
	count "$log"
	# Once more, started so that devices without an IOMMU get bounce buffers.
	title "bounce buffers, in a guest on $k"
	tools/vm/gda-vm -v -e -k "$rel" -t 120 -a swiotlb=force -- \
		$scripts/run-tests.sh --dmesg --logs "$log/bounce" \
		tools/vm/load.sh build/selftests/kernel/bounce tools/vm/unload.sh
	[ $? != 125 ] || sed -i '/^total\t/d' "$log/bounce/results" 2>/dev/null
	count "$log/bounce"
}

mkdir -p build/log
for what; do
	log=$(log_of "$what")
	rm -rf "$log"/{*.log,results,console,dmesg,bounce}
done
$scripts/deps.sh check || { failed; end; }
if ! step "library and tests" make --no-print-directory -s -k -j "$(nproc)" lib examples tests; then
	failed
	end
fi
for what; do
	case $what in
	native) native ;;
	*) guest "$what" ;;
	esac
done
end
