#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# spans.sh - every span function of the modules clamps its offset (SECURITY.md S10), and
# tools/lint/spans.sh finds each one that would not. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
clamp='(array_index_nospec|gda_os_clamp)\(([^,()]*), [^()]*\)'

# Without the clamp at line $2 of $1 there is one finding, in that file.
unclamped() {
	local f=$1 line=$2 out

	rm -rf "$tmp/kmod" "$tmp/engine"
	cp -r kmod engine "$tmp/"
	sed -i -E "${line}s/$clamp/\2/" "$tmp/$f"
	cmp -s "$f" "$tmp/$f" && { echo "cannot take the clamp away"; return 1; }
	out=$(tools/lint/spans.sh "$tmp")
	echo "$out"
	[ "$(wc -l <<<"$out")" = 1 ] && [[ $out == "$f:"* ]]
}

mapfile -t files < <(grep -rlE --include='*.c' '\.span = ' kmod)
files+=(kmod/gda_core/host/host.c engine/*.c engine/dialect/*.c)
mapfile -t clamps < <(grep -HnoE "$clamp" "${files[@]}" | sed -E 's/^([^:]*):([0-9]+):.*/\1 \2/')
echo "1..$((${#clamps[@]} + 1))"
every() { none "$(tools/lint/spans.sh)" && [ ${#clamps[@]} -ge 4 ]; }
ok S10_every_span_function_clamps every
for c in "${clamps[@]}"; do
	read -r f line <<<"$c"
	name=${f##*/}
	ok "S10_without_a_clamp_in_${name%.c}_it_is_found" unclamped "$f" "$line"
done
exit $rc
