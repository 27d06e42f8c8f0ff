#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# spans.sh [FOLDER] - span functions that do not clamp the offset (SECURITY.md S10)
#
# A queue chooses the offset that a span function turns into a pointer, and a processor may
# speculate past the check of its range. So every such function of the kernel calls
# array_index_nospec() (in the engine gda_os_clamp(), which is that) in the statement that
# makes the pointer, or before it. Span functions are:
#
#   those that a "struct gda_mem_kind" names as .span
#   gda_host_span() of the kernel
#   gda_exec_again() of the engine, which adds to a pointer that a span function gave
#
# Prints a line for each that has no clamp or comes too late with it, and for each
# of the three sorts that is not found at all.

set -uo pipefail

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 1
mapfile -t files < <(find kmod -name '*.c' ! -name '*.mod.c' | sort)

# Of function $1 in file $2: the line, and what is wrong with it or nothing.
judge() {
	awk -v name="$1" '
		{ gsub(/\/\*.*\*\//, "") }
		# Its definition: the name with parameters at the margin, then "{" alone.
		!inside && /^[A-Za-z]/ && $0 ~ "[ *]" name "\\(" { head = FNR }
		/;$/ && head && !inside { head = 0 }
		/^\{/ && head { inside = 1; next }
		/^\}/ && inside {
			print head, found ? "" : "has no clamp"
			exit
		}
		!inside { next }
		/(array_index_nospec|gda_os_clamp)\(/ { found = 1 }
		# A pointer is made: by a store to *ptr, or by what is returned.
		/\*ptr = |return [a-z]+->ptr \+/ && !found {
			print head, "makes a pointer before it clamps the offset"
			exit
		}' "$2"
}

# look NAME FILE...: where the function is defined, what is wrong
look() {
	local name=$1 f line why seen=''

	shift
	for f; do
		while read -r line why; do
			seen=1
			[ -z "$why" ] || echo "$f:$line: $name() $why"
		done < <(judge "$name" "$f")
	done
	[ "$seen" ] || echo "kmod: span function $name() is not found"
}

kinds=0
while IFS=: read -r f name; do
	kinds=$((kinds + 1))
	look "$name" "$f"
done < <(grep -HoE '[.>]span = *[A-Za-z_0-9]+' "${files[@]}" | sed -E 's/[.>]span = *//')
[ $kinds -gt 0 ] || echo "kmod: no memory kind with a span function is found"
look gda_host_span kmod/gda_core/os/host.c
look gda_exec_again kmod/gda_core/engine/exec.c
exit 0
