#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check.sh native|KVER... - build what is needed, run the tests, say the verdict
#
# Its last line is "N passed, N failed, N skipped". A step that fails counts as a
# failed test, and the other kernels are still tried. The guests run one after the
# other: each of them keeps two processors busy. GDA_GUEST_LIMIT is the most seconds
# that one may take, GDA_SLOW a factor for the limits of the programs in it.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
totals=build/log/totals
start=$SECONDS

submake() { make --no-print-directory -s "$@"; }
step() { $scripts/step.sh "$@"; }
title() { printf '\n== %s\n' "$*"; }

end() {
	local p=0 f=0 s=0 a b c

	while read -r a b c; do
		p=$((p + a)) f=$((f + b)) s=$((s + c))
	done <$totals
	[ $f = 0 ] && [ $p -gt 0 ] && verdict=PASSED || verdict=FAILED
	printf '\n%s in %d s\n' "$verdict" $((SECONDS - start))
	printf '%d passed, %d failed, %d skipped\n' $p $f $s
	[ "$verdict" = PASSED ]
	exit
}

failed() { echo 0 1 0 >>$totals; }

native() {
	title "native tests"
	read -ra tests < <(submake list-native)
	[ ${#tests[@]} = 0 ] && { echo none; return; }
	$scripts/run-tests.sh --totals $totals --logs build/log/native "${tests[@]}" || true
}

guest() {
	local k=$1 rel log=build/log/vm-$1

	title "tests in a guest on $k"
	step "modules for $k" $scripts/modules.sh "$k" || { failed; return; }
	rel=$(tools/vm/gda-kernel release "$k")
	read -ra tests < <(submake list-vm)
	rm -f "$log/totals"
	tools/vm/gda-vm -v -e -k "$rel" -t "${GDA_GUEST_LIMIT:-2400}" -o "$log" -- \
		env GDA_SLOW="${GDA_SLOW:-1}" \
		$scripts/run-tests.sh --dmesg --totals "$log/totals" --logs "$log" \
		tools/vm/load.sh "${tests[@]}" tools/vm/unload.sh
	[ $? != 125 ] || failed		# the guest crashed, or never ended
	[ ! -s "$log/totals" ] || cat "$log/totals" >>$totals
}

mkdir -p build/log
: >$totals
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
