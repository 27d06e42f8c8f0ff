#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# table.sh HEADER... - the binary interface of public headers, as a table
# table.sh --library [LIBRARY] - that of the library's headers, and of LIBRARY [build/lib/libgda.so]
#
#   struct NAME SIZE              size of the structure
#   member NAME.MEMBER OFFSET SIZE TYPE
#   value NAME NUMBER             of a macro that is no string, or an enumerator
#   type NAME DECLARATION         of a function that the library calls
#   function NAME TYPE            result and arguments of one that the library exports
#   symbol NAME@VERSION           exported; one function may have several
#   soname NAME
#
# in the order of the headers. selftests/abi/NAME.txt is this table of uapi/gda/NAME.h, kept;
# selftests/abi/library.txt that of the library. freeze.sh writes them after an
# intended change. A member called spare is room, and what is put there takes of it; versions
# are to change.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
headers=("$@")
library=
# Of gin/check.h a program that is checked (GDA_CHECK) has all, and others have nothing.
if [ "${1-}" = --library ]; then
	library=${2:-${GDA_BUILD:-build}/lib/libgda.so}
	mapfile -t headers < <(printf '%s\n' lib/include/gda/{,gin/,wqe/}*.h | grep -v gin/check.h)
fi
cc=${CC:-gcc}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-abi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# Names, in order. A member that this misses shows as a hole in the structure.
names() {
	cat "${headers[@]}" | perl -0pe 's{/\*.*?\*/}{}gs; s/\\\n//g;
		s{\(\*(\w+)\)(\(.*?\));}{"(*)$2 $1;" =~ s/\s+/ /gr}gse;
		s{ *__attribute__\(\(.*?\)\)\)?}{}g' | awk '
		/^struct [a-z0-9_]+ \{/ { s = $2; print "struct " s; next }
		/^enum / { e = 1; next }
		/^\}/ { s = ""; e = 0; next }
		s && /;/ && !/^\t\t/ {
			t = $0; sub(/^[ \t]+/, "", t); sub(/;.*/, "", t)
			n = match(t, /\[.*/) ? substr(t, RSTART) : ""; sub(/\[.*/, "", t)
			m = t; sub(/.*[ \t*]/, "", m); t = substr(t, 1, length(t) - length(m))
			sub(/ $/, "", t)
			if (m != "spare" && m != "}") print "member " s " " m " " t n
		}
		e && /^\tGDA_/ && !/_END,?$/ { v = $1; sub(/[,=].*/, "", v); print "value " v }
		/^#define GDA_[A-Z0-9_]+[ \t]/ && !/^#define GDA_(UAPI_|VERSION)/ && !/"/ &&
			$3 !~ /^(static|extern|GDA_(HELPER|API|SLOW))$/ { print "value " $2 }
		/^typedef .*\(.*\);/ {
			n = $0; sub(/\(.*/, "", n); sub(/.*[ *]/, "", n)
			t = $0; sub(/^typedef /, "", t); sub(/;.*/, "", t); print "type " n " - " t
		}'
}

# Prototypes as the compiler understands them, also of inline functions that the library exports;
# without the names of arguments, which definitions have.
functions() {
	printf '#include "%s"\n' "${headers[@]/#/$PWD/}" >"$tmp/headers.c"
	$cc -fsyntax-only -aux-info "$tmp/prototypes" -Iuapi -Ilib/include "$tmp/headers.c"
	perl -ne 'm{^/\* \S+:N(\w) \*/ (?:static |extern )?(.*?[ *])(gda_\w+) (\(.*?\));(?: /\*|$)} or next;
		($defined, $type, $name, $args) = ($1 eq "F", $2, $3, $4);
		$args =~ s/ ?\b\w+(?=(\[\d*\])?[,)])//g if $defined && $args ne "(void)";
		print "function $name $type$args\n"' "$tmp/prototypes" | LC_ALL=C sort -u |
		awk 'NR == FNR { sub(/@.*/, "", $2); exported[$2]; next } $2 in exported' "$tmp/symbols" -
}

{
	echo '#include <stddef.h>'
	echo '#include <stdio.h>'
	printf '#include "%s"\n' "${headers[@]/#/$PWD/}"
	echo 'int main(void) {'
	names | while read -r kind a b type; do
		case $kind in
		struct) printf '"struct %s %%zu\\n", sizeof(struct %s)\n' "$a" "$a" ;;
		member) printf '"member %s.%s %%zu %%zu %s\\n", offsetof(struct %s, %s), %s\n' \
			"$a" "$b" "$type" "$a" "$b" "sizeof(((struct $a *)0)->$b)" ;;
		type) printf '"type %s %s\\n"\n' "$a" "$type" ;;
		value) printf '"value %s %%#llx\\n", (unsigned long long)(%s)\n' "$a" "$a" ;;
		esac
	done | sed 's/.*/\tprintf(&);/'
	echo 'return 0; }'
} >"$tmp/table.c"
# optimised: nothing of the fast path is left that would have to be linked
$cc -O2 -Wno-overflow -Iuapi -Ilib/include -o "$tmp/table" "$tmp/table.c"
"$tmp/table"
[ "$library" ] || exit 0
nm -D --defined-only "$library" | awk '$2 != "A" { print "symbol " $3 }' | sed 's/@@/@/' |
	LC_ALL=C sort | tee "$tmp/symbols"
functions
readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/soname \1/p'
