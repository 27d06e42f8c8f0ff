#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# coverage.sh [--json] - lines and branches of the engine that its tests reach
#
# The engine's native tests again, built with gcov below build/coverage. A branch
# counts if it was taken.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
json=''
[ "${1-}" != --json ] || json=y
out=build/coverage
read -ra tests < <(make -s --no-print-directory list-engine)
# Functions of headers are counted where they are called.
flags='-O0 --coverage -fprofile-update=atomic'

mkdir -p $out
find $out -name '*.gcda' -delete
cc -O0 -c -o $out/gcov.o selftests/engine/gcov.c
make -s --no-print-directory BUILD=$out ETEST_COVERAGE="$flags" \
	ETEST_SANITIZE= ETEST_LIBS="-Wl,--wrap=_exit $out/gcov.o -lgcov" \
	"${tests[@]/#/$out/selftests/engine/}" >$out/build.log 2>&1 || { cat $out/build.log >&2; exit 1; }
for t in "${tests[@]}"; do
	$out/selftests/engine/"$t" >$out/"$t".log 2>&1 || { echo "$t failed: $out/$t.log" >&2; exit 1; }
done
for f in kmod/gda_core/engine/*.c; do
	gcov -b -n -o "$out/selftests/engine/obj/engine/$(basename "$f" .c).o" "$f" 2>/dev/null
done | awk -v json="$json" '
	function row(name, l, nl, b, nb) {
		if (json) {
			printf "%s {\"file\":\"%s\",\"lines\":%.1f,\"branches\":%.1f}", sep, name, l, b
			sep = ",\n"
		} else
			printf "%-40s %7.1f%% of %4d %7.1f%% of %4d\n", name, l, nl, b, nb
	}
	function flush() {
		if (file == "") return
		row(file, l, nl, b, nb)
		tl += l * nl / 100; tnl += nl; tb += b * nb / 100; tnb += nb
		file = ""
	}
	BEGIN { if (json) print "["; else printf "%-40s %16s %16s\n", "file", "lines", "branches taken" }
	/^File / {
		flush(); b = 100; nb = 0
		f = $2; gsub(/\047/, "", f)
		if (f ~ /^kmod\/gda_core\/engine\/.*\.c$/ && !seen[f]++) file = f
	}
	file != "" && /^Lines executed/ { split($2, p, /[:%]/); l = p[2]; nl = $NF }
	file != "" && /^Taken at least once/ { split($4, p, /[:%]/); b = p[2]; nb = $NF }
	END {
		flush()
		row("engine", tl * 100 / tnl, tnl, tb * 100 / tnb, tnb)
		if (json) print "\n]"
	}'
