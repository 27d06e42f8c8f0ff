#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# spans.sh - every span function of the modules clamps its offset (SECURITY.md S10), and
# tools/lint/spans.sh finds each one that would not. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-spans.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0
clamp='(array_index_nospec|gda_os_clamp)\(([^,()]*), [^()]*\)'

ok() { # VERDICT NAME
	n=$((n + 1))
	[ "$1" = 0 ] || { rc=1; echo -n "not "; }
	echo "ok $n $2"
}

# In $1 no function but $2 is changed, which loses its clamp. The line of the finding is told.
unclamped() {
	local f=$1 name=$2 out

	rm -rf "$tmp/kmod"
	cp -r kmod "$tmp/"
	awk -v name="$name" '
		$0 ~ "[ *]" name "\\(.*[,)]$" { inside = 1 }
		inside { print "1 " $0 }
		!inside { print "0 " $0 }
		/^\}/ { inside = 0 }' "$f" |
		sed -E -e "s/^1 (.*)$clamp/1 \1\3/" -e 's/^[01] //' >"$tmp/$f"
	cmp -s "$f" "$tmp/$f" && { echo "# $name() has no clamp to take away"; return 1; }
	out=$(tools/lint/spans.sh "$tmp")
	echo "# $out"
	[ "$(wc -l <<<"$out")" = 1 ] && [[ $out == *"$f:"*" $name() "* ]]
}

mapfile -t spans < <(
	grep -rHoE --include='*.c' '\.span = *[A-Za-z_0-9]+' kmod | sed -E 's/:\.span = */ /'
	echo kmod/gda_core/os/host.c gda_host_span
	echo kmod/gda_core/engine/exec.c gda_exec_again)
echo "1..$((${#spans[@]} + 1))"
out=$(tools/lint/spans.sh)
[ -z "$out" ] || echo "# $out"
[ -z "$out" ]; ok $? S10_every_span_function_clamps
for s in "${spans[@]}"; do
	read -r f name <<<"$s"
	unclamped "$f" "$name"
	ok $? "S10_${name}_without_a_clamp_is_found"
done
exit $rc
