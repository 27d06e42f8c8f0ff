#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# table.sh HEADER - the binary interface of a uapi header, as a table
#
#   struct NAME SIZE              size of the structure
#   member NAME.MEMBER OFFSET SIZE
#   value NAME NUMBER             of a macro that is no string, or an enumerator
#
# in the order of the header. selftests/abi/NAME.txt is this table, frozen; after an
# intended change: selftests/abi/table.sh uapi/gda/NAME.h >selftests/abi/NAME.txt

set -euo pipefail

header=$1
cc=${CC:-gcc}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-abi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# Names, in order. A member that this misses shows as a hole in the structure.
names() {
	perl -0pe 's{/\*.*?\*/}{}gs; s/\\\n//g' "$header" | awk '
		/^struct [a-z0-9_]+ \{/ { s = $2; print "struct " s; next }
		/^enum / { e = 1; next }
		/^\}/ { s = ""; e = 0; next }
		s && /;/ {
			m = $0; sub(/;.*/, "", m); sub(/\[.*/, "", m); sub(/.*[ \t*]/, "", m)
			print "member " s " " m
		}
		e && /^\tGDA_/ && !/_END,?$/ { v = $1; sub(/[,=].*/, "", v); print "value " v }
		/^#define GDA_[A-Z0-9_]+[ \t]/ && !/^#define GDA_UAPI_/ && !/"/ { print "value " $2 }'
}

{
	echo '#include <stddef.h>'
	echo '#include <stdio.h>'
	echo "#include \"$(realpath "$header")\""
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
$cc -Wno-overflow -Iuapi -o "$tmp/table" "$tmp/table.c"
"$tmp/table"
