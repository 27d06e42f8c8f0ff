#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# layout.sh - what programs that exist rely on is as they were built with it: members of
# the library's structures stay where they are, and its symbols stay. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${GDA_BUILD:-build}
frozen=selftests/abi/frozen
. selftests/lib/ktap.sh

# The names of the frozen headers, as a program that prints them by the headers in $2...
# A member called spare is room, and what is put there takes of it.
table() {
	local out=$1

	shift
	{
		printf '#include <stddef.h>\n#include <stdio.h>\n'
		printf '#include <gda/%s.h>\n' cuda gda comm fastpath chunk masked_atomic ring
		echo 'int main(void) {'
		cat "$frozen"/gda/{view,gda,fastpath,chunk,ring,cuda,comm}.h |
			perl -0pe 's{/\*.*?\*/}{}gs; s{\(\*(\w+)\)\(.*?\);}{$1;}gs;
				s{ *__attribute__\(\(.*?\)\)\)?}{}g' | awk '
			/^struct gda_[a-z0-9_]+ \{/ { s = $2; print "struct", s; next }
			/^\}/ { s = "" }
			s && /;/ {
				sub(/;.*/, ""); sub(/\[.*/, ""); sub(/.*[ \t*]/, "")
				if ($0 != "spare") print "member", s, $0
			}' | while read -r kind a b; do
			case $kind in
			struct) printf 'printf("struct %s %%zu\\n", %s);\n' "$a" "sizeof(struct $a)" ;;
			member)
				printf 'printf("member %s.%s %%zu %%zu\\n", %s, %s);\n' "$a" "$b" \
					"offsetof(struct $a, $b)" "sizeof(((struct $a *)0)->$b)" ;;
			esac
		done
		echo 'return 0; }'
	} >"$tmp/table.c"
	# optimised: nothing of the fast path is left that would have to be linked
	gcc -O2 "$@" -o "$tmp/table" "$tmp/table.c" && "$tmp/table" >"$out"
}

members() {
	comm -23 <(grep ^member "$tmp/then" | sort) <(sort "$tmp/now") >"$tmp/lost"
	cat "$tmp/lost"
	[ "$(grep -c ^member "$tmp/then")" -gt 60 ] && [ ! -s "$tmp/lost" ]
}

sizes() {
	awk '$1 == "struct" { if ($2 in was) { if ($3 < was[$2]) { print $2 ": less than " was[$2]
			bad = 1 } n++ } else was[$2] = $3 }
		END { exit bad || n < 12 }' "$tmp/then" "$tmp/now"
}

# A structure ends with its last member: one that is appended makes it larger.
no_tail() {
	awk '$1 == "struct" { size[$2] = $3 }
		$1 == "member" { split($2, p, "."); if ($3 + $4 > end[p[1]]) end[p[1]] = $3 + $4 }
		END {
			for (s in size)
				if (s != "gda_view" && end[s] != size[s]) { print s; bad = 1 }
			exit bad
		}' "$tmp/now"
}

symbols() {
	nm -D --defined-only "$build/lib/libgda.so" | awk '$2 == "T" { print $3 }' |
		sed 's/@.*//' | sort >"$tmp/symbols"
	comm -23 <(sort "$frozen/symbols") "$tmp/symbols" >"$tmp/lost"
	cat "$tmp/lost"
	[ "$(wc -l <"$frozen/symbols")" -gt 60 ] && [ ! -s "$tmp/lost" ]
}

soname() {
	readelf -d "$build/lib/libgda.so" | grep -qF "[$(cat "$frozen/soname")]"
}

# Neither library reads the environment of a program that is set-user-ID.
environment() {
	! nm -D --undefined-only "$build/lib/libgda.so" "$build/lib/libgda-shmem.so" | grep -w getenv
}

echo 1..8
ok "what was" table "$tmp/then" -I$frozen
ok "what is" table "$tmp/now" -Iuapi -Ilib/include
ok "members are where they were" members
ok "no structure has shrunk" sizes
ok "no structure ends with a hole" no_tail
ok "no symbol is lost" symbols
ok "the same soname" soname
ok "item_12 secure_getenv alone" environment
exit $rc
