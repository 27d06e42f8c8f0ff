#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# lint.sh [--json] [CHECK...] - the static checks, all of them or those named
#
# Each check prints one line with its seconds, its findings go to build/lint/CHECK.txt, and the
# first of them are shown. Every tracked file is looked at, and every new one that
# git does not ignore.
#
# shellcheck disable=SC2317	# the checks are called by name

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
out=build/lint
kvers=${KVER:-6.12 6.1}
show=10

mapfile -t checks < <(sed -n 's/^check_\([a-z0-9_]*\)() .*/\1/p' tools/lint/lint.sh)
json=''
if [ "${1-}" = --json ]; then
	json=1
	shift
fi
[ $# = 0 ] || checks=("$@")

if git rev-parse --git-dir >/dev/null 2>&1; then
	mapfile -t all < <(git ls-files -co --exclude-standard | sort -u)
else
	mapfile -t all < <(find . -path ./build -prune -o -type f -print | sed 's,^\./,,')
fi

# files REGEX: put existing files whose path matches into $list
files() {
	local f

	list=()
	for f in "${all[@]}"; do
		[[ $f =~ $1 && ! $f =~ ${2-^$} ]] && [ -f "$f" ] && [ ! -L "$f" ] && list+=("$f")
	done
	return 0
}

scripts() {
	local f first

	list=()
	for f in "${all[@]}"; do
		if [ ! -f "$f" ] || [ -L "$f" ]; then
			continue
		fi
		read -r first <"$f" 2>/dev/null
		[[ $first =~ ^'#!'.*[/\ ](ba|da)?sh ]] && list+=("$f")
	done
	return 0
}

# The checks. Each prints a line for each finding; a line "skipped: WHY" means that it could not
# run.

check_checkpatch() { # the kernel's coding style, --strict
	# Generated code is checked by its generator.
	files '^(kmod|engine|uapi|lib|selftests|examples|tools)/.*\.[ch]$' \
		'^kmod/gda_core/netlink/netlink_gen|^uapi/gda/netlink\.h$'
	perl "$linux/checkpatch.pl" --strict --no-tree --no-summary --terse \
		--show-types --max-line-length=100 --file "${list[@]}" 2>&1 |
		grep -vEf <(grep -vE '^(#|$)' tools/lint/checkpatch.allow)
	rm -f .checkpatch-camelcase.*
}

check_kernel_doc() { # comments of the public headers are complete
	files '^(uapi|lib/include|kmod/include|engine)/.*\.h$'
	tools/lint/kernel-doc.sh -Wall -none "${list[@]}" 2>&1
	# Generated code is described in the specification it comes from.
	files '^(uapi|lib/include|kmod/include|engine)/.*\.h$' \
		'^uapi/gda/netlink\.h$'
	tools/lint/undocumented.py "${list[@]}"
}

check_modules() { # both modules: gcc with W=1, and sparse
	local k

	command -v sparse >/dev/null || { echo "sparse is missing"; return; }
	for k in $kvers; do
		build_modules "$k"
	done
}

check_coccicheck() { # the kernel's semantic patches that find bugs, on the modules
	command -v spatch >/dev/null || { echo "spatch is missing (package coccinelle)"; return; }
	for dir in kmod engine; do
		printf '%s\n' "$linux"/*.cocci | xargs -r -P "$(nproc)" -I {} \
			spatch -D report --very-quiet --no-includes --include-headers \
			--cocci-file {} --dir $dir 2>/dev/null | sed "s,^$PWD/,,"
	done
}

check_gcc() { # user space, -Wall -Wextra
	compile gcc
}

check_clang() { # the same by the other compiler
	# The harness of the kernel's selftests was written for gcc.
	compile clang -Wno-unused-parameter -Wno-sign-compare -Wno-unknown-attributes
}

check_cxx() { # the public headers as C++
	local h

	# gda/gpu is CUDA's, which nvcc compiles.
	files '^(uapi|lib/include)/gda/.*\.h$' '^lib/include/gda/gpu/'
	for h in "${list[@]}"; do
		for std in c++11 c++17; do
			c++ -std=$std -fsyntax-only -Wall -Wextra -Wold-style-cast -Iuapi -Ilib/include \
				-x c++ "$h" 2>&1 | diagnostics | grep -v 'pragma once'
		done
	done
}

check_house() { # lines that stand twice, and names outside their place: no more than today
	tools/lint/house.py
}

check_whitespace() { # tabs, trailing blanks, ends of lines and files
	files '\.([ch]|sh|py|mk|rst|yaml|txt|conf|map|in|[0-9])$|(^|/)(Makefile|Kbuild)$'
	grep -nE '[[:blank:]]$' "${list[@]}" | sed 's/$/: trailing blank/'
	grep -nP '\r$' "${list[@]}" | sed 's/$/: carriage return/'
	grep -nP '^\t* +\t' "${list[@]}" | sed 's/$/: blank before tab/'
	for f in "${list[@]}"; do
		[ -z "$(tail -c 1 "$f")" ] || echo "$f: no newline at the end"
	done
	files '\.([ch]|sh)$'
	grep -nE '^ {8}' "${list[@]}" | sed 's/$/: indented by blanks/'
	# Of C, by checkpatch.
	files '\.sh$'
	awk '{ t = $0; n = 0
		while ((i = index(t, "\t"))) {
			n += i - 1; n += 8 - n % 8; t = substr(t, i + 1)
		}
		if (n + length(t) > 120)
			print FILENAME ":" FNR ": " n + length(t) " columns"
	}' "${list[@]}"
}

check_shellcheck() { # all shell scripts
	command -v shellcheck >/dev/null || { echo "shellcheck is missing"; return; }
	scripts
	shellcheck -x -f gcc "${list[@]}"
}

check_python() { # all Python scripts can be parsed
	files '\.py$'
	for f in "${list[@]}"; do
		python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' \
			"$f" 2>&1 | tail -n 1 | sed "s|^|$f: |"
	done
}

check_includes() { # directions of includes and of names
	tools/lint/include-direction.sh
}

check_spans() { # offsets are clamped where they select a pointer (S10)
	tools/lint/spans.sh
}

check_abi() { # the library's ABI is that of its table, or more
	make -s lib && selftests/abi/layout.sh | grep -B 20 '^not ok' | grep -v '^ok'
}

check_circles() { # files of core, inproc, copier and gpu use each other's symbols in no circle
	make -s lib && tools/lint/circles.py
}

check_kernels() { # dkms builds for the kernels that were tested
	tools/lint/kernels.sh
}

check_netlink() { # the generated netlink code is that of the family's specification
	tools/scripts/netlink.sh --check
}

check_counts() { # figures in prose are those of the tables; all variables and reasons are in theirs
	tools/lint/counts.py
}

check_tree() { # the tree of folders in the documentation is the tree
	tools/lint/tree.py
}

check_limits() { # length of files and functions, and how many parameters these take
	tools/lint/limits.sh "${all[@]}"
	tools/lint/parameters.py
}

check_licences() { # every source names its licence
	local f

	files '^(kmod|engine|uapi|lib|selftests|tools|examples|Documentation)/|^(Makefile|Kbuild)$'
	for f in "${list[@]}"; do
		[[ $f =~ \.(txt|allow|in|bin|json)$|/(corpus|config|settings)(/|$)|timeouts ]] && continue
		head -n 4 "$f" | grep -q SPDX-License-Identifier || echo "$f: no licence"
	done
}

check_reuse() { # the terms of every file can be told by machine (LICENSES, .reuse/dep5)
	command -v reuse >/dev/null || { echo "reuse is missing"; return; }
	# LICENSES is laid out as the kernel's: its names, and no file extensions.
	reuse lint 2>&1 | awk '
		/^\* (Bad licenses|Missing licenses|Unused licenses):./ { print }
		/^\* Read errors: [1-9]/ { print }
		/^\* Files with .* information: / { if ($(NF - 2) != $NF) print; n++ }
		END { if (n != 2) print "reuse lint said nothing of files" }'
}

check_spelling() { # words that are often misspelled
	command -v codespell >/dev/null || { echo "codespell is missing"; return; }
	files '\.([ch]|cu|cuh|sh|py|mk|rst|txt|in)$|(^|/)(Makefile|Kbuild)$'
	codespell -L "$(grep -v '^#' tools/lint/codespell.allow | paste -sd ,)" "${list[@]}"
}

check_man() { # pages are there and well formed
	tools/lint/man.sh
}

# Helpers of the checks.

# Findings of GCC and clang, each once, with paths relative to this tree.
diagnostics() {
	sed -E "s,^($PWD/)?($out/[^/]*/)?,," | awk '!seen[$0]++' |
		grep -E ':[0-9]+: *(warning|error)|: (fatal )?error:'
}

# Modules are built in separate trees: other flags would cause a full rebuild of the usual ones.
build_modules() {
	local rel tree log=$out/modules-$1.log

	rel=$(tools/vm/gda-kernel release "$1") || { echo "no kernel $1"; return; }
	tree=$out/$rel
	rm -rf "$tree"
	if ! TREE=$tree tools/scripts/modules.sh "$rel" W=1 C=2 >"$log" 2>&1; then
		grep -qE ': (fatal )?error:' "$log" || echo "$1: the build failed: $log"
	fi
	diagnostics <"$log"
}

# One file at a time, with every folder as an include path: include-direction.sh checks which are
# allowed. With optimization, because some warnings need it.
compile() {
	local cc=$1 h=build/kselftest flags harness packages

	shift
	harness=("$@")
	command -v "$cc" >/dev/null || { echo "$cc is missing"; return; }
	flags=(-std=gnu11 -O2 -Wall -Wextra -Werror -Iuapi -Ilib/include -Ilib/host -Ilib/core
		-Ilib/device/inproc -Ilib/device/copier -Ilib/gpu -Ilib/comm
		-Ilib/frontend/{shmem,dpa,openshmem} -Ilib/frontend/openshmem/include
		-Ilib/binding/nccl -Ikmod/gda_core -Iengine -Iengine/dialect
		-Iengine/control -Iengine/fabric -Ilib/device/verbs -Ikmod/include -Iselftests -pthread)
	[ -e $h/kselftest_harness.h ] || make -s $h/kselftest_harness.h
	files '^(lib|engine|examples|tools)/.*\.c$'
	read -rd '' -a packages < <(pkg-config --cflags libnl-3.0; tools/scripts/optional.sh pmix)
	compile_files "$cc" "${flags[@]}" "${packages[@]}"
	files '^selftests/.*\.c$' '^selftests/(model|kmod|dialect)/'
	compile_files "$cc" "${flags[@]}" -DGDA_VERBS -Iselftests/lib -isystem "$h" "${harness[@]}"
	# The tests have a dialect, and so a table of dialects, of their own.
	files '^selftests/dialect/.*\.c$'
	compile_files "$cc" -Iselftests/dialect "${flags[@]}" -Iselftests/engine -Iselftests/inproc \
		-isystem "$h" "${harness[@]}"
	# Models put their own atomics in front of the library's.
	files '^selftests/model/.*\.c$'
	compile_files "$cc" -Iselftests/model/include -Iselftests/model "${flags[@]}"
}

compile_files() {
	printf '%s\n' "${list[@]}" | xargs -r -P "$(nproc)" -I {} \
		"$@" -I. -c -o /dev/null {} 2>&1 | diagnostics
}

escape() { sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g' | tr -d '\000-\037\177'; }

report_json() {
	local f comma=''

	printf '%s{"check":"%s","ok":%s,"count":%d,"seconds":%d,"findings":[' "$sep" "$1" \
		"$([ "$2" = 0 ] && echo true || echo false)" "$2" "$3"
	while read -r f; do
		printf '%s\n  "%s"' "$comma" "$(escape <<<"$f")"
		comma=,
	done <"$out/$1.txt"
	printf ']}'
	sep=$',\n '
}

report() {
	local verdict=ok

	[ "$2" = 0 ] || verdict=FAIL
	! grep -q '^skipped: ' "$out/$1.txt" || verdict=skip
	printf '%-12s %-4s %5d  %4d s   %s\n' "$1" $verdict "$2" "$3" "$4"
	[ "$2" = 0 ] && return
	head -n $show "$out/$1.txt" | cut -c 1-200 | sed 's/^/    /'
	[ "$2" -le $show ] || echo "    ... $out/$1.txt"
}

mkdir -p $out
linux=$(tools/lint/linux-source.sh) || exit
failed=0 findings=0 sep=' '
[ -z "$json" ] || echo '['
for check in "${checks[@]}"; do
	if ! declare -F "check_$check" >/dev/null; then
		echo "lint.sh: no check $check; there are: $(
			sed -n 's/^check_\([a-z0-9_]*\)() .*/\1/p' tools/lint/lint.sh | xargs)" >&2
		exit 2
	fi
	start=$SECONDS
	"check_$check" >"$out/$check.txt" 2>&1 </dev/null
	n=$(grep -vc '^skipped: ' "$out/$check.txt")
	what=$(sed -n "s/^check_$check() { # //p" tools/lint/lint.sh)
	findings=$((findings + n))
	[ "$n" = 0 ] || failed=$((failed + 1))
	if [ "$json" ]; then
		report_json "$check" "$n" $((SECONDS - start))
	else
		report "$check" "$n" $((SECONDS - start)) "$what"
	fi
done
if [ "$json" ]; then
	printf '\n]\n'
else
	printf '\n%d checks, %d failed, %d findings, %d s\n' ${#checks[@]} $failed \
		$findings $SECONDS
fi
[ $failed = 0 ]
