#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# table.sh HEADER... - the binary interface of public headers, as a table
# table.sh --library - that of the library's headers
#
#   struct NAME SIZE              size of the structure
#   member NAME.MEMBER OFFSET SIZE
#   value NAME NUMBER             of a macro that is no string, or an enumerator
#
# in the order of the headers. selftests/abi/NAME.txt is this table of uapi/gda/NAME.h, kept;
# selftests/abi/library.txt that of the library's headers. freeze.sh writes them after an
# intended change. A member called spare is room, and what is put there takes of it; versions
# are to change.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
headers=("$@")
# Of gin/check.h a program that is checked (GDA_CHECK) has all, and others have nothing.
[ "${1-}" != --library ] ||
	mapfile -t headers < <(printf '%s\n' lib/include/gda/{,gin/,wqe/}*.h | grep -v gin/check.h)
cc=${CC:-gcc}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-abi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# Names, in order. A member that this misses shows as a hole in the structure.
names() {
	cat "${headers[@]}" | perl -0pe 's{/\*.*?\*/}{}gs; s/\\\n//g; s{\(\*(\w+)\)\(.*?\);}{$1;}gs;
		s{ *__attribute__\(\(.*?\)\)\)?}{}g' | awk '
		/^struct [a-z0-9_]+ \{/ { s = $2; print "struct " s; next }
		/^enum / { e = 1; next }
		/^\}/ { s = ""; e = 0; next }
		s && /;/ && !/^\t\t/ {
			m = $0; sub(/;.*/, "", m); sub(/\[.*/, "", m); sub(/.*[ \t*]/, "", m)
			if (m != "spare" && m != "}") print "member " s " " m
		}
		e && /^\tGDA_/ && !/_END,?$/ { v = $1; sub(/[,=].*/, "", v); print "value " v }
		/^#define GDA_[A-Z0-9_]+[ \t]/ && !/^#define GDA_(UAPI_|VERSION)/ && !/"/ &&
			$3 !~ /^(static|extern|GDA_(HELPER|API|SLOW))$/ { print "value " $2 }'
}

{
	echo '#include <stddef.h>'
	echo '#include <stdio.h>'
	printf '#include "%s"\n' "${headers[@]/#/$PWD/}"
	echo 'int main(void) {'
	names | while read -r kind a b; do
		case $kind in
		struct) printf '"struct %s %%zu\\n", sizeof(struct %s)\n' "$a" "$a" ;;
		member) printf '"member %s.%s %%zu %%zu\\n", offsetof(struct %s, %s), %s\n' \
			"$a" "$b" "$a" "$b" "sizeof(((struct $a *)0)->$b)" ;;
		value) printf '"value %s %%#llx\\n", (unsigned long long)(%s)\n' "$a" "$a" ;;
		esac
	done | sed 's/.*/\tprintf(&);/'
	echo 'return 0; }'
} >"$tmp/table.c"
# optimised: nothing of the fast path is left that would have to be linked
$cc -O2 -Wno-overflow -Iuapi -Ilib/include -o "$tmp/table" "$tmp/table.c"
"$tmp/table"
