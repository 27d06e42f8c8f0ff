#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# abi.sh - the binary interface is what was frozen, the same for 32 and 64 bits, and
# the headers compile in every language they are for. Speaks KTAP.
#
# The table is turned into assertions, which every compiler checks for itself; so
# nothing needs to be run, or to be linked, for another word size.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
PATH=$PATH:/usr/local/cuda/bin
warn=(-Wall -Wextra -Werror)
tables=(ioctl mlx5 efa cause cm wc record netlink)

# test NAME COMMAND...
test() { ok_with "$2" "$@"; }

frozen() { selftests/abi/release.sh kept "$1.txt" | sed '/^#/d; /^$/d' | sort -u; }

# A line that is gone or different: a program that was compiled with it breaks.
unchanged() {
	comm -23 <(frozen "$1") <(sort -u "$tmp/$1.now") >"$tmp/lost"
	cat "$tmp/lost"
	[ ! -s "$tmp/lost" ]
}

complete() {
	comm -13 <(frozen "$1") <(sort -u "$tmp/$1.now") >"$tmp/new"
	[ -s "$tmp/new" ] || return 0
	echo "new; if so intended: selftests/abi/freeze.sh"
	cat "$tmp/new"
	return 1
}

# No unnamed padding: members follow one another, and fill the structure.
no_holes() {
	awk '
		function done() { if (s && at != size) { print s ": " at " of " size; bad = 1 } }
		$1 == "struct" { done(); s = $2; size = $3; at = 0 }
		$1 == "member" {
			if ($3 != at) { print $2 ": at " $3 ", not " at; bad = 1 }
			at = $3 + $4
		}
		END { done(); exit bad }' "$tmp/$1.now"
}

assertions() {
	echo "#include <gda/$1.h>"
	frozen "$1" | awk '
		{ split($2, p, "."); cond = "" }
		$1 == "struct" { cond = "sizeof(struct " $2 ") == " $3 }
		$1 == "member" {
			cond = "__builtin_offsetof(struct " p[1] ", " p[2] ") == " $3
			print "_Static_assert(sizeof(((struct " p[1] " *)0)->" p[2] ") == " $4 \
				", \"" $2 "\");"
		}
		$1 == "value" { cond = "(unsigned long long)(" $2 ") == " $3 "ULL" }
		cond { print "_Static_assert(" cond ", \"" $2 "\");" }'
}

# holds NAME COMPILER...: the frozen table, as this compiler sees the header
holds() {
	local h=$1

	shift
	"$@" -std=c11 -Iuapi -idirafter "/usr/include/$(gcc -print-multiarch)" \
		-fsyntax-only "$tmp/$h.c"
}

echo "1..$((5 * ${#tables[@]} + 16))"
for t in "${tables[@]}"; do
	selftests/abi/table.sh "uapi/gda/$t.h" >"$tmp/$t.now" 2>"$tmp/err" ||
		{ sed 's/^/# /' "$tmp/err"; echo "Bail out! no table of $t.h"; exit 1; }
	assertions "$t" >"$tmp/$t.c"
	test "$t.h: nothing that was frozen has changed" unchanged "$t"
	test "$t.h: all of it is frozen" complete "$t"
	test "$t.h: no holes" no_holes "$t"
	test "$t.h: the table holds for 64 bits" holds "$t" gcc
	test "O9 $t.h: the same table holds for 32 bits" holds "$t" gcc -m32
done

printf '#include <gda/%s.h>\n' "${tables[@]}" >"$tmp/all.c"
cp "$tmp/all.c" "$tmp/all.cc"
{ cat "$tmp/all.c"; echo '__global__ void k(struct gda_mlx5_ctrl *c)
{ gda_mlx5_set_ctrl(c, 1, GDA_MLX5_NOP, 1, 1, 0, 0); }'; } >"$tmp/all.cu"
for std in c90 c99 c11 gnu17; do
	test "$std, gcc" gcc -std=$std "${warn[@]}" -Iuapi -c -o "$tmp/o" "$tmp/all.c"
	test "$std, clang" clang -std=$std "${warn[@]}" -Iuapi -c -o "$tmp/o" "$tmp/all.c"
done
for std in c++11 c++17 c++20; do
	test "$std, g++" g++ -std=$std -pedantic "${warn[@]}" -Iuapi -c -o "$tmp/o" "$tmp/all.cc"
	test "$std, clang++" clang++ -std=$std -pedantic "${warn[@]}" -Iuapi -c -o "$tmp/o" \
		"$tmp/all.cc"
done
test "CUDA" nvcc -std=c++17 -Iuapi -Werror all-warnings -c -o "$tmp/o" "$tmp/all.cu"
# A conversion that the including program is warned of is a warning in its build.
test "no conversions" gcc -std=c11 "${warn[@]}" -Wconversion -Wsign-conversion -Wcast-qual \
	-Iuapi -c -o "$tmp/o" "$tmp/all.c"
exit $rc
