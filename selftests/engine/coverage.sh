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
for f in engine/*.c engine/dialect/*.c; do
	o=${f#engine/}
	gcov -b -n -o "$out/selftests/engine/obj/engine/${o%.c}.o" "$f" 2>/dev/null
done | awk -v json="$json" -v of='engine/(dialect/)?[^/]*[.]c$' -v total=engine -f tools/scripts/gcov.awk
