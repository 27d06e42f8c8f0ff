#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# planted.sh [NAME...] - bugs that are planted are found
#
# Each of selftests/planted/NAME.patch is applied to a scratch copy of the modules,
# which is built and tested in a guest. The program that the patch names must fail in
# a test of the row that it names, and must not fail without the patch.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
kver=${KVER:-6.12}
scratch=$PWD/build/planted
names=("$@")
[ ${#names[@]} -gt 0 ] || { names=(selftests/planted/*.patch); names=("${names[@]##*/}"); }
rc=0

field() { sed -n "s/^$1: //p" "$2"; }

# A copy of what modules and guests need; the tests are those of this tree.
copy() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/build"
	cp -r Kbuild kmod uapi tools Documentation "$scratch/tree/"
	cp -r selftests "$scratch/tree/"
	cp -r build/selftests "$scratch/tree/build/"
	ln -s "$PWD/build/kernel" "$scratch/tree/build/kernel"
}

# Build, run PROGRAM in a guest, leave its KTAP in the file OUT.
try() {
	local program=$1 out=$2 path

	(
		cd "$scratch/tree" || exit 1
		tools/scripts/modules.sh "$kver" >"$scratch/build.log" 2>&1 || exit 1
		path=build/selftests/$program
		[ -x "$path" ] || path=selftests/abi/$program
		timeout 400 tools/vm/gda-vm -k "$kver" -t 300 -- \
			sh -c "tools/vm/load.sh && $path" >"$out" 2>&1
	)
	grep -q '^ok' "$out"
}

printf '%-16s %-6s %-16s %s\n' "planted" "row" "program" "verdict"
for name in "${names[@]}"; do
	patch=selftests/planted/${name%.patch}.patch
	program=$(field Program "$patch") row=$(field Row "$patch")
	verdict=found
	copy
	if ! try "$program" "$scratch/without" || grep -q '^not ok' "$scratch/without"; then
		verdict="fails without the bug"
	elif ! patch -s -p1 -d "$scratch/tree" <"$patch"; then
		verdict="the patch does not apply"
	elif ! try "$program" "$scratch/with"; then
		verdict="no result"
	elif ! grep -qE "^not ok .*[._ ]${row}_" "$scratch/with"; then
		verdict="NOT FOUND"
	fi
	[ "$verdict" = found ] || rc=1
	printf '%-16s %-6s %-16s %s\n' "${name%.patch}" "$row" "$program" "$verdict"
done
rm -rf "$scratch/tree"
exit $rc
