#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# layout.sh - what programs that exist rely on is as they were built with it: members of
# the library's structures and values of its constants stay as library.txt and the last release
# have them, and its symbols stay. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${GDA_BUILD:-build}
. selftests/lib/ktap.sh
selftests/abi/release.sh kept library.txt | grep -E '^(struct|member|value) ' | sort -u >"$tmp/then"

now() {
	selftests/abi/table.sh --library | sort -u >"$tmp/now"
	[ "${PIPESTATUS[0]}" = 0 ]
}

# A size that differs is sizes' to judge.
unchanged() {
	comm -23 <(grep -v ^struct "$tmp/then") "$tmp/now" >"$tmp/lost"
	cat "$tmp/lost"
	[ "$(grep -c ^member "$tmp/then")" -gt 400 ] && [ ! -s "$tmp/lost" ]
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

kept_abi() { selftests/abi/release.sh kept libgda.abi; }

symbols() {
	kept_abi | sed -n "s/^<elf-symbol name='\([^']*\)' version='\([^']*\)'.*/\1@\2/p" |
		sort -u >"$tmp/symbols"
	nm -D --defined-only "$build/lib/libgda.so" | awk '$2 != "A" { print $3 }' |
		sed 's/@@/@/' | sort | comm -23 "$tmp/symbols" - >"$tmp/lost"
	cat "$tmp/lost"
	[ "$(wc -l <"$tmp/symbols")" -gt 250 ] && [ ! -s "$tmp/lost" ]
}

soname() {
	readelf -d "$build/lib/libgda.so" |
		grep -qF "[$(kept_abi | sed -n "s/^<abi-corpus .* soname='\([^']*\)'.*/\1/p" | tail -n 1)]"
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
	! nm -D --undefined-only "$build/lib/libgda.so" "$build/lib/libgda-shmem.so" | grep -w getenv
}

echo 1..10
ok "what is" now
ok "members and values are what they were" unchanged
ok "all of it is kept" complete
ok "no structure has shrunk" sizes
ok "no structure ends with a hole" no_tail
ok "no symbol is lost" symbols
ok "the same soname" soname
ok "item_12 secure_getenv alone" environment
for t in released unreleased; do
	if command -v git >/dev/null; then
		ok "headers and tables where a commit was $t" $t
	else
		n=$((n + 1))
		echo "ok $n headers and tables where a commit was $t # SKIP no git here"
	fi
done
exit $rc
