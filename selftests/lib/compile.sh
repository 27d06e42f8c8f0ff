#!/bin/bash
# SPDX-License-Identifier: MIT
#
# compile.sh - the public headers in every language they are for; what the library
# exports. Compilers that are not here are skipped, and said so. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${GDA_BUILD:-build}
. selftests/lib/ktap.sh
PATH=$PATH:/usr/local/cuda/bin
include=(-Iuapi -Ilib/include)
warn=(-Wall -Wextra -Werror)

# check NAME COMMAND...: skipped if the first word of the command is not installed, or
# the second one if the first is a function
check() {
	local tool=$2

	[ "$(type -t "$2")" != function ] || tool=${3-$2}
	ok_with "$tool" "$@"
}

headers=(gda barrier view queue fastpath chunk multi_slot masked_atomic ring signal to shmem gin async)
for h in "${headers[@]}"; do
	echo "#include <gda/$h.h>" >"$tmp/$h.c"
	cp "$tmp/$h.c" "$tmp/$h.cc"
done
cp selftests/lib/compile.h "$tmp/all.c"
cp selftests/lib/compile.h "$tmp/all.cc"
cat - selftests/lib/compile.h selftests/gpu/sass.cu >"$tmp/all.cu" <<'EOT'
#define KERNEL __global__
EOT

# Without a feature macro, alone, and with all that C++ programs complain about.
pedantic() { # COMPILER SUFFIX OPTION...
	local cc=$1 h

	for h in uapi/gda/*.h lib/include/gda/*.h lib/include/gda/gin/*.h; do
		echo "#include <gda/${h#*/gda/}>" >"$tmp/one.$2"
		"$cc" "${@:3}" "${include[@]}" "${warn[@]}" -pedantic -O2 -fsyntax-only \
			"$tmp/one.$2" || return
	done
	"$cc" "${@:3}" "${include[@]}" "${warn[@]}" -pedantic -O2 -c -o "$tmp/all.o" "$tmp/all.$2"
}

# A conversion that the including program is warned of is a warning in its build.
conversions() { # COMPILER SUFFIX OPTION...
	local cc=$1

	{
		(cd lib/include/gda && printf '#include <gda/%s>\n' *.h gin/*.h)
		cat selftests/lib/compile.h
	} >"$tmp/conversions.$2"
	"$cc" "${@:3}" "${include[@]}" "${warn[@]}" -Wconversion -Wsign-conversion -Wcast-qual \
		-O2 -fsyntax-only "$tmp/conversions.$2"
}

# One function for each call. All compile with flags that exist; with one that no post knows
# the compiler has an error for each, which it cannot have for a call that is made of others.
flags_of() { # COMPILER SUFFIX CALL...
	local cc=$1 file=$tmp/flag.$2 i=0 f call
	local args="struct gda_view *v, struct gda_chunk_map *m, struct gda_signal *s, char *p"

	args+=", unsigned int n, struct gda_peer *to"
	shift 2
	{
		printf '#include <gda/%s.h>\n' chunk masked_atomic
		for call; do
			printf 'int64_t f%d(%s);\n' $((++i)) "$args"
			printf 'int64_t f%d(%s)\n{\n' "$i" "$args"
			printf '\t(void)m, (void)s, (void)p, (void)n, (void)to;\n\treturn %s;\n}\n' "$call"
		done
	} >"$file"
	for f in 0 n "GDA_EXCLUSIVE | GDA_DEFER | GDA_NOWAIT | GDA_SYSTEM | GDA_SOLICITED | GDA_AFTER_READS"; do
		"$cc" "-DF=$f" "${include[@]}" "${warn[@]}" -O2 -S -o /dev/null "$file" || return
	done
	for f in "1U << 6" "GDA_DEFER | 1U << 31"; do
		"$cc" "-DF=$f" "${include[@]}" -O2 -S -o /dev/null "$file" 2>"$tmp/why"
		i=$(grep -c "error:.*a flag that no post knows" "$tmp/why")
		[ "$i" = $# ] || { [ $# = 1 ] && [ "$i" -gt 0 ]; } || {
			echo "$f: $i of $# calls refuse it"
			cat "$tmp/why"
			return 1
		}
	done
}

flags() { # COMPILER SUFFIX
	flags_of "$@" "gda_put(v, 1, 2, 3, 4, 5, F)" "gda_put_imm(v, 1, 2, 3, 4, 5, 6, F)" \
		"gda_get(v, 1, 2, 3, 4, 5, F)" "gda_put_inline(v, 1, 2, p, 8, F)" \
		"gda_put_inline(v, 1, 2, p, 100, F)" "gda_put_value(v, 1, 2, 3, F)" \
		"gda_fetch_add(v, 1, 2, 3, 4, 5, F)" "gda_compare_swap(v, 1, 2, 3, 4, 5, 6, F)" \
		"gda_nop(v, F)" "gda_masked_fetch_add(v, 1, 2, 3, 4, 5, 6, F)" \
		"gda_masked_fetch_add32(v, 1, 2, 3, 4, 5, 6, F)" \
		"gda_masked_compare_swap(v, 1, 2, 3, 4, 5, 6, 7, 8, F)" \
		"gda_masked_compare_swap32(v, 1, 2, 3, 4, 5, 6, 7, 8, F)" \
		"gda_put_to(v, to, 1, 2, 3, 4, 5, F)" "gda_get_to(v, to, 1, 2, 3, 4, 5, F)" \
		"gda_put_imm_to(v, to, 1, 2, 3, 4, 5, 6, F)" "gda_put_value_to(v, to, 1, 2, 3, F)" &&
		flags_of "$@" "gda_put_signal(v, 1, 2, 3, 4, 5, s, F)" &&
		flags_of "$@" "gda_put_chunked(v, m, 1, m, 2, 3, F)"
}

# Every function of the headers is in the library, and nothing else is.
exports() {
	nm -D --defined-only "$build/lib/libgda.so.2" | awk '$2 == "T" { print $3 }' |
		sed 's/@.*//' | sort -u >"$tmp/exported"
	grep -hoE '^(GDA_[A-Z_]*API )?[a-z0-9_ ]+[ *]gda_[a-z0-9_]+\(' lib/include/gda/*.h \
		lib/include/gda/gin/*.h |
		grep -vE 'GDA_(HELPER|SLOW)|^(static|typedef)' | grep -oE 'gda_[a-z0-9_]+\(' |
		tr -d '(' | sort -u >"$tmp/declared"
	diff "$tmp/declared" "$tmp/exported"
}

# The exported functions are the inline ones: a program that includes no header.
linked() {
	echo 'long gda_nop(void *, unsigned); int main(void) { return !gda_nop; }' >"$tmp/l.c"
	gcc "$tmp/l.c" -o "$tmp/l" -L"$build/lib" -lgda &&
		LD_LIBRARY_PATH=$build/lib "$tmp/l" &&
		readelf -d "$build/lib/libgda.so.2" | grep -q 'SONAME.*\[libgda.so.2\]'
}

# The program in README.md is the one that is built, and it runs (where there is no module, on the
# in-process device).
readme() {
	awk '/^```c/ { on = 1; next } /^```/ { on = 0 } on' README.md | diff - examples/put.c &&
		[ "$("$build/examples/put")" = "hello, remote" ]
}

# Efa19: values to a peer, in the order of posting and in others.
efa_put() {
	"$build/examples/efa-put-value" >/dev/null &&
		GDA_DEVICE=inproc GDA_ORDER=random:7 "$build/examples/efa-put-value" >/dev/null
}

# Without rdma/rdma_cma.h the library is built without verbs, and not on the assumption that
# it is there.
# shellcheck disable=SC2016	# make expands it
no_rdma() {
	[ "$(MAKEFLAGS='' "$1" -s --eval 'probe: ; @echo "[$(VERBS)]"' probe CC='gcc -nostdinc')" = "[]" ]
}

echo 1..$((${#headers[@]} + 20))
for h in "${headers[@]}"; do
	check "gda/$h.h alone" gcc -std=gnu11 "${include[@]}" "${warn[@]}" -fsyntax-only "$tmp/$h.c"
done
check "C11, strict" pedantic gcc c -std=c11
check "C11, strict, clang" pedantic clang c -std=c11
check "C++17, strict" pedantic g++ cc -std=c++17 -Wold-style-cast
check "C++17, strict, clang" pedantic clang++ cc -std=c++17 -Wold-style-cast
check "both dialects, C11, strict" pedantic gcc c -std=c11 -DGDA_WQE_EFA
check "both dialects, C++17, strict" pedantic g++ cc -std=c++17 -Wold-style-cast -DGDA_WQE_EFA
check "no conversions" conversions gcc c -std=c11
check "no conversions, both dialects" conversions gcc c -std=c11 -DGDA_WQE_EFA
check "no conversions, both dialects, C++" conversions g++ cc -std=c++17 -DGDA_WQE_EFA
check "no conversions, C++" conversions g++ cc -std=c++17
check "flags that no post knows" flags gcc c
check "flags that no post knows, C++" flags g++ cc
check "flags that no post knows, clang" flags clang c
check "clang" clang -std=gnu11 "${include[@]}" "${warn[@]}" -O2 -c -o "$tmp/all.o" "$tmp/all.c"
check "CUDA device code (compiled, not run: make check-gpu)" nvcc -std=c++17 "${include[@]}" -Werror all-warnings -O3 \
	-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90,code=sm_90 \
	-gencode arch=compute_120,code=sm_120 -c -o "$tmp/all.o" "$tmp/all.cu"
check "exported functions" exports
check "linking without headers" linked
check "the program in README.md" readme
check "Efa19 examples/efa-put-value" efa_put
check "no headers of librdmacm" no_rdma make
exit $rc
