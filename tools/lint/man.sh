#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# man.sh - check that the manual pages can be made, mandoc finds nothing wrong with them, every
# symbol that the library exports and every installed program has one, every page refers only to
# existing pages, gda_strerror() has a text for every errno that a page names, and the example in
# gda(7) compiles. Prints a line for each finding.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-man.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
man=$tmp/man

if ! python3 Documentation/man.py "$man" 2>"$tmp/err"; then
	tail -n 1 "$tmp/err" | sed 's,^,Documentation/man.py: ,'
	exit
fi
if command -v mandoc >/dev/null; then
	find "$man" -name '*.[0-9]' ! -name gda.3 ! -name oshc++.1 \
		-exec mandoc -Tlint -W warning {} + 2>&1 | sed "s,^mandoc: $man/,,"
else
	echo "mandoc is missing"
fi

exported() { sed -nE 's/^[[:blank:]]+(gda_[a-z0-9_]+);.*/\1/p' lib/libgda.map | sort; }
# gda(3) is gda(7).
pages() { find "$man/man3" -name '*.3' ! -name gda.3 -printf '%f\n' | sed 's/\.3$//' | sort; }
comm -23 <(exported) <(pages) | sed 's,.*,lib/libgda.map: & has no manual page,'
# The page of an inline function says that it is no symbol.
inlines() { grep -l 'is no symbol of the library' "$man"/man3/*.3 | sed 's,.*/,,; s/\.3$//' | sort; }
comm -13 <(exported) <(pages) | comm -23 - <(inlines) | sed 's,.*,&(3): not exported by lib/libgda.map,'

# As tools/packaging/install.sh has them: executable files except shared objects.
programs() {
	sed -n '/put 755/,/[^\\]$/p' tools/packaging/install.sh | grep -oE '/(tools|lib)/gda[a-z-]+"'
	sed -n 's/.*for name in \(osh.*\); do/\1/p' tools/packaging/install.sh | tr ' ' '\n'
}
programs | sed 's,.*/,,; s/"//' | while read -r name; do
	[ -e "$man/man1/$name.1" ] || echo "tools/packaging/install.sh: $name has no manual page"
done

grep -hoE '\.BR gda[a-z0-9_]* \([0-9]\)' "$man"/man*/* | sort -u | tr -d '()' |
	while read -r _ name section; do
		[ -e "$man/man$section/$name.$section" ] || echo "no page $name($section)"
	done

errnos() {
	grep -ohE '\bE[A-Z0-9]+\b' "$man"/man*/* | sort -u |
		python3 -c 'import errno, sys
names = {x.strip() for x in sys.stdin} & set(errno.errorcode.values())
print("\n".join(sorted(names)))'
}
errnos | while read -r name; do
	grep -q "{ $name, \"" lib/core/error.c || echo "lib/core/error.c: no text for $name"
done

# A row of ioctl.h's table of errnos that goes on in further lines is whole.
grep -nE '\b(and|of|or|the)\.$' "$man/man4/gda.4" | sed 's,.*,man4/gda.4:&: the end is missing,'

awk '/^\.EX/ { on = 1; next } /^\.EE/ { on = 0 } on' "$man/man7/gda.7" |
	sed 's/\\e/\\/g; s/\\-/-/g' >"$tmp/example.c"
gcc -Wall -Wextra -Werror -O2 -Iuapi -Ilib/include -c -o "$tmp/example.o" "$tmp/example.c" 2>&1 |
	grep -E '(error|warning):' | sed "s,^$tmp/example.c,Documentation/man/gda.7: example,"
exit 0
