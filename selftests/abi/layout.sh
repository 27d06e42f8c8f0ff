#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# layout.sh - what programs that exist rely on is as they were built with it: members of
# the library's structures, values of its constants, arguments and results of its functions stay as
# library.txt and the last release have them, and its symbols stay. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${GDA_BUILD:-build}
. selftests/lib/ktap.sh
library=$(realpath "$build/lib/libgda.so")

table() { # FILE [TREE]
	(cd "${2:-.}" && selftests/abi/table.sh --library "$library") >"$tmp/table" &&
		sort -u "$tmp/table" >"$1"
}

kept() { selftests/abi/release.sh kept library.txt | sed '/^#/d; /^$/d' | sort -u >"$tmp/then"; }

# Of at least COUNT lines of a kind none is lost. A size that differs is sizes' to judge.
same() { # KIND COUNT [FILE]
	grep "^$1 " "$tmp/then" >"$tmp/kind"
	comm -23 "$tmp/kind" "${3:-$tmp/now}" >"$tmp/lost"
	cat "$tmp/lost"
	[ "$(wc -l <"$tmp/kind")" -ge "$2" ] && [ ! -s "$tmp/lost" ]
}

complete() {
	comm -13 "$tmp/then" "$tmp/now" >"$tmp/new"
	[ -s "$tmp/new" ] || return 0
	echo "new; if so intended: selftests/abi/freeze.sh"
	cat "$tmp/new"
	return 1
}

sizes() {
	awk '$1 != "struct" { next }
		NR == FNR { if ($3 > was[$2]) was[$2] = $3; next }
		{ n++ }
		$3 < was[$2] { print $2 ": less than " was[$2]; bad = 1 }
		END { exit bad || n < 60 }' "$tmp/then" "$tmp/now"
}

# A structure ends with its last member: one that is appended makes it larger. But those that are
# aligned to more than their members fill.
no_tail() {
	awk '$1 == "struct" { size[$2] = $3 }
		$1 == "member" { split($2, p, "."); if ($3 + $4 > end[p[1]]) end[p[1]] = $3 + $4 }
		END {
			for (s in size)
				if (s !~ /^gda_(view|gin_barrier|mlx5_wqe)$/ && end[s] != size[s]) { print s; bad = 1 }
			exit bad
		}' "$tmp/now"
}

# A copy of the headers, with a change: what kind of line is lost?
planted() { # FILE SED
	rm -rf "$tmp/planted"
	mkdir -p "$tmp/planted/lib" "$tmp/planted/selftests/abi"
	cp -r uapi "$tmp/planted" && cp -r lib/include "$tmp/planted/lib" &&
		cp selftests/abi/table.sh "$tmp/planted/selftests/abi" &&
		sed -i "$2" "$tmp/planted/lib/include/gda/$1" &&
		! cmp -s {,"$tmp/planted/"}"lib/include/gda/$1" && table "$tmp/changed" "$tmp/planted"
}

found() { # KIND FILE SED
	planted "$2" "$3" && ! same "$1" 1 "$tmp/changed"
}

attr='/^struct gda_qp_attr {/,/^};/'
in_the_middle() { found member gda.h "${attr}s/^\tuint64_t timeout_ns;/\tuint64_t planted;\n&/"; }
of_a_sign() { found member gda.h "${attr}s/^\tuint64_t timeout_ns;/\tint64_t timeout_ns;/"; }
argument() { found function gda.h 's/^\(int gda_qp_connect(.*\)const struct/\1struct/'; }
constant() { found value view.h 's/^\(#define GDA_VIEW_YIELD\)\>.*/\1 0x40000000/'; }

appended() {
	planted gda.h "${attr}s/^};/\tuint64_t planted;\n&/" && same member 400 "$tmp/changed" &&
		same function 250 "$tmp/changed" && same value 150 "$tmp/changed"
}

# Of a repository in which view.h has changed behind the tag of a release.
repository() {
	mkdir -p "$tmp/repo/selftests/abi" "$tmp/repo/lib" && cd "$tmp/repo" &&
		cp "$OLDPWD"/selftests/abi/{release.sh,library.txt} selftests/abi/ &&
		cp -r "$OLDPWD/lib/include" lib/ && cp -r "$OLDPWD/uapi" . && git init -q && commit "$1" &&
		sed -i 's/GDA_VIEW_YIELD/GDA_LATER/' lib/include/gda/view.h selftests/abi/library.txt &&
		commit later && selftests/abi/release.sh headers "$tmp/headers"
}

commit() {
	git add -A && git -c user.name=test -c user.email=test@localhost commit -qm "$1" &&
		if [ "${1#v1.}" != "$1" ]; then git tag "$1"; fi
}

released() (
	repository v1.2.3 && [ "$(selftests/abi/release.sh tag)" = v1.2.3 ] &&
		grep -q GDA_VIEW_YIELD "$tmp/headers/gda/view.h" && [ -e "$tmp/headers/gda/ioctl.h" ] &&
		selftests/abi/release.sh kept library.txt | grep -q '^value GDA_VIEW_YIELD ' &&
		selftests/abi/release.sh kept library.txt | grep -q '^value GDA_LATER '
)

unreleased() (
	rm -rf "$tmp/repo" && repository nothing && [ -z "$(selftests/abi/release.sh tag)" ] &&
		grep -q GDA_LATER "$tmp/headers/gda/view.h" && [ -e "$tmp/headers/gda/ioctl.h" ] &&
		! selftests/abi/release.sh kept library.txt | grep -q '^value GDA_VIEW_YIELD '
)

# Neither library reads the environment of a program that is set-user-ID.
environment() {
	! nm -D --undefined-only "$library" "$build/lib/libgda-shmem.so" | grep -w getenv
}

echo 1..18
ok "what is" table "$tmp/now"
ok "what was" kept
ok "members are where they were, of the same types" same member 400
ok "values are what they were" same value 150
ok "all of it is kept" complete
ok "no structure has shrunk" sizes
ok "no structure ends with a hole" no_tail
ok "no symbol is lost" same symbol 250
ok "arguments and results are what they were" same function 250
ok "the same soname" same soname 1
ok "item_12 secure_getenv alone" environment
ok "a member in the middle is found" in_the_middle
ok "a member that has a sign now is found" of_a_sign
ok "another argument is found" argument
ok "another value is found" constant
ok "a member at the end passes" appended
for t in released unreleased; do
	ok_with git "headers and tables where a commit was $t" $t
done
exit $rc
