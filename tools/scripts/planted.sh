#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# planted.sh [--json] [NAME...] - check that tests find bugs that are planted
#
# Each of selftests/planted/NAME.patch is applied to a scratch copy of the modules, which is built
# and tested in a guest. With "Place: native" it is applied to a copy of the library, and the
# program is built and run here. With KVER=6.12-arm64 only patches with "Place: arm64" are used, and
# otherwise only the others. The program that the patch names must fail in a test of the row that
# the patch names; it also counts if the kernel dies in the middle of that test, or the test fails
# an expectation and never ends. Without the patch the program must not fail. A patch whose context
# has changed is refused. A line of the table is printed when its two guests have ended; with --json
# the table goes to stderr.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
kver=${KVER:-6.12}
scratch=$PWD/build/planted
# A guest cannot find kernel modules behind a link.
export GDA_CACHE=${GDA_CACHE:-$PWD/build/kernel}
json=''
if [ "${1-}" = --json ]; then
	json=1
	shift
fi
names=("$@") build=build
case $kver in *-arm64*) build=build/arm64 ;; esac
found=0 rows=()

field() { sed -n "s/^$1: //p" "$2"; }

# Sets names to all patches for kver.
all_names() {
	local patch

	for patch in selftests/planted/*.patch; do
		case $(field Place "$patch"):$kver in
		arm64:*-arm64*) ;;
		arm64:*|*:*-arm64*) continue ;;
		esac
		names+=("${patch##*/}")
	done
}

# Copy what modules and guests need; the tests are those of this tree.
copy() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/$build"
	cp -r Kbuild engine kmod uapi tools Documentation "$scratch/tree/"
	cp -r selftests "$scratch/tree/"
	cp -r $build/selftests "$scratch/tree/$build/"
}

# Copy what the library and its tests need, and keep the times of the objects.
copy_native() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/build"
	cp -a Makefile Documentation engine examples kmod lib selftests tools uapi "$scratch/tree/"
	cp -a build/lib build/optional build/selftests build/kselftest "$scratch/tree/build/"
}

# Build, run PROGRAM here, and write its KTAP to the file OUT.
try_native() {
	local program=build/selftests/$1 out=$2

	(
		cd "$scratch/tree" || exit 1
		make --no-print-directory -s -j "$(nproc)" "$program" >"$scratch/build.log" 2>&1 || exit 1
		timeout $((900 * ${GDA_SLOW:-1})) "$program" >"$out" 2>&1
	)
	# A result without any "ok" counts, too: a bug may fail every test of a small program.
	grep -qE '^(not )?ok' "$out"
}

# Build, run PROGRAM in a guest, and write its KTAP to the file OUT.
try() {
	local program=$1 out=$2 path

	(
		cd "$scratch/tree" || exit 1
		tools/scripts/modules.sh "$kver" >"$scratch/build.log" 2>&1 || exit 1
		path=build/selftests/$program
		[ -x "$build/selftests/$program" ] || path=selftests/abi/$program
		timeout $((400 * ${GDA_SLOW:-1})) tools/vm/gda-vm -k "$kver" -t $((300 * ${GDA_SLOW:-1})) -- \
			sh -c "tools/vm/load.sh && $path" >"$out" 2>&1
	)
	grep -q '^ok' "$out"
}

# Find the test of row $1 during which the kernel died, as a line of KTAP; or one that has failed
# and has no result, because the bug keeps its process in the kernel.
died() {
	awk -v row="[._]$1_" '
		/^# +RUN / { name = $3; failed = 0 }
		/^# .*:Expected / || /Kernel panic/ { failed = 1 }
		/^(not )?ok / { name = "" }
		END {
			found = failed && name ~ row
			if (found) print "not ok 0", name
			exit !found
		}' "$2"
}

# Prints how the search for the bug of patch $1 ended, which test $3 of program $2 should find.
verdict() {
	local patch=$1 program=$2 row=$3 copy=copy try=try

	[ "$(field Place "$patch")" != native ] || copy=copy_native try=try_native
	$copy
	if ! patch -s -F0 --dry-run -p1 -d "$scratch/tree" <"$patch" >"$scratch/patch.log" 2>&1; then
		echo "the patch does not apply"
	elif ! $try "$program" "$scratch/without" || grep -q '^not ok' "$scratch/without"; then
		echo "fails without the bug"
	elif ! patch -s -F0 -p1 -d "$scratch/tree" <"$patch" || ! $try "$program" "$scratch/with"; then
		echo "no result"
	elif ! grep -E "^not ok .*[._ ]${row}_" "$scratch/with" >"$scratch/by" &&
			! died "$row" "$scratch/with" >"$scratch/by"; then
		echo "NOT FOUND"
	else
		echo found
	fi
}

[ ${#names[@]} -gt 0 ] || all_names
mkdir -p "$scratch"
exec 3>&1
[ -z "$json" ] || exec >&2
printf '%-16s %-6s %-16s %s\n' "planted" "row" "program" "verdict"
for name in "${names[@]}"; do
	name=${name%.patch}
	patch=selftests/planted/$name.patch
	program=$(field Program "$patch") row=$(field Row "$patch")
	printf '%-16s %-6s %-16s ' "$name" "$row" "$program"
	start=$SECONDS by=''
	verdict=$(verdict "$patch" "$program" "$row")
	if [ "$verdict" = found ]; then
		found=$((found + 1))
		by=$(sed -n '1s/^not ok [0-9]* \(- \)\?//p' "$scratch/by")
	fi
	printf '%s%s (%d s)\n' "$verdict" "${by:+ by $by}" $((SECONDS - start))
	rows+=("$(printf '{"planted":"%s","row":"%s","program":"%s","verdict":"%s","test":"%s","seconds":%d}' \
		"$name" "$row" "$program" "$verdict" "$by" $((SECONDS - start)))")
done
printf '\n%d planted, %d found, in %d s\n' ${#names[@]} $found $SECONDS
if [ "$json" ]; then
	printf '[%s]\n' "$(IFS=,; echo "${rows[*]}")" | sed 's/},/},\n /g' >&3
fi
rm -rf "$scratch/tree"
[ $found = ${#names[@]} ]
