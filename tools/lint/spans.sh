#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# spans.sh [FOLDER] - span functions that do not clamp the offset (SECURITY.md S10)
#
# A queue chooses the offset that a span function turns into a pointer, and a processor may
# speculate past the check of its range. So every such function of the kernel calls
# array_index_nospec() in the statement that makes the pointer, or before it: those that a
# "struct gda_mem_kind" names as .span, and gda_host_span(). The engine keeps pointers that
# they gave, as members "ptr", and adds to these nothing but gda_os_clamp(). Its functions that walk
# the list of a receive, whose lengths its owner chose, clamp the index.
#
# Prints a line for each place without a clamp, or with a late one, and for each of the sorts
# of which there is no place.

set -uo pipefail

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 1
mapfile -t files < <(find kmod -name '*.c' ! -name '*.mod.c' | sort)

# Check function $1 in file $2. Prints the line, and what is wrong with it or nothing.
judge() {
	awk -v name="$1" '
		{ gsub(/\/\*.*\*\//, "") }
		# The definition: a line with name and parameters at the margin, then "{" alone.
		!inside && /^[A-Za-z]/ && $0 ~ "[ *]" name "\\(" { head = FNR }
		/;$/ && head && !inside { head = 0 }
		/^\{/ && head { inside = 1; next }
		/^\}/ && inside {
			print head, found ? "" : "has no clamp"
			exit
		}
		!inside { next }
		/(array_index_nospec|gda_os_clamp)\(/ { found = 1 }
		/\*ptr = / && !found {
			print head, "makes a pointer before it clamps the offset"
			exit
		}' "$2"
}

# look NAME FILE...: print where the function is defined, and what is wrong
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
look gda_host_span kmod/gda_core/host/host.c
look gda_send_check engine/send.c
look gda_send_span engine/send.c
mapfile -t kept < <(grep -HnE -e '->ptr \+' engine/*.c engine/dialect/*.c)
[ ${#kept[@]} -gt 0 ] || echo "kmod: the engine adds to no pointer of a span"
for line in "${kept[@]}"; do
	[[ $line == *'->ptr + gda_os_clamp('* ]] ||
		echo "${line%%:	*}: adds to a pointer of a span without a clamp"
done
exit 0
