#!/bin/bash
# SPDX-License-Identifier: MIT
#
# search_paths.sh - P10: files that are planted where the library might look for its own are neither
# run nor loaded, and its own are found all the same
#
# shellcheck disable=SC2317	# the tests are called by name
#
# planted.c leaves a mark in the file $mark when it runs or is loaded; search.c opens everything.

here=$(cd "$(dirname "$0")" && pwd)
lib=$(cd "$here/../../lib" && pwd)
. selftests/lib/ktap.sh
mark=$tmp/mark out=$tmp/out
export PLANTED_MARK=$mark
unset GDA_DPA GDA_LIBCUDA GDA_LIBIBVERBS GDA_LIBRDMACM

chmod 755 "$tmp"
mkdir "$tmp/cwd" "$tmp/cwd/sub" "$tmp/bin"
cp "$here"/plants/* "$tmp/cwd/"
cp "$here"/plants/* "$tmp/cwd/sub/"
cp "$here"/search/* "$tmp/bin/"
: >"$mark"
chmod 666 "$mark"
cd "$tmp/cwd" || exit 1

# search PROGRAM: run it with all that it looks for, its name being one in the working directory
search() {
	: >"$mark"
	(
		PATH=.:sub:$PATH
		exec -a program "$1" "$here/tasks.so"
	) >"$out" 2>&1
	{ ("$1" pmix) >>"$out" 2>&1; } 2>/dev/null
	[ ! -s "$mark" ] || { sort "$mark" | uniq -c >>"$out"; return 1; }
}

# With each relative path that LD_LIBRARY_PATH may have; gda-dpa, which is said, runs with its library.
relative_paths() {
	local path

	for path in . : sub "$tmp/nowhere:" ../cwd "./:/usr/lib" '.;sub'; do
		LD_LIBRARY_PATH=$path GDA_DPA=$lib/gda-dpa search "$1" || { echo "at \"$path\"" >>"$out"; return 1; }
		grep -q '^task: t_left' "$out" || return 1
	done
}

no_gda_dpa() {
	local libdir

	libdir=$(cat "$lib/libdir")
	[ -x "$libdir/gda-dpa" ] && return 0
	search "$1" && grep -q '^dpa: -2 ' "$out" && grep -qF "$libdir/gda-dpa, $tmp/bin/gda-dpa" "$out"
}

as_argv0() { # dladdr(3) has argv[0] for a program itself, of which its caller may make anything
	local p

	for p in archive static; do
		: >"$mark"
		(exec -a "$tmp/cwd/x" "$tmp/bin/$p" "$here/tasks.so") >"$out" 2>&1
		[ ! -s "$mark" ] || return 1
	done
}

beside_the_program() {
	mkdir "$tmp/place" && cp "$tmp/bin/static" "$lib/gda-dpa" "$lib/libgda.so.2" "$tmp/place/" &&
		search "$tmp/place/static" && grep -q '^task: t_left' "$out"
}

beside_the_library() { search "$here/search/shared" && grep -q '^task: t_left' "$out"; }

relative_variables() {
	local GDA_DPA=./gda-dpa GDA_LIBCUDA=./libcuda.so.1 GDA_LIBIBVERBS=libibverbs.so.1

	export GDA_DPA GDA_LIBCUDA GDA_LIBIBVERBS
	search "$tmp/bin/archive" && grep -q '^dpa: -22 .*GDA_DPA "./gda-dpa": set it to the absolute' "$out" &&
		grep -q '^cuda: -22 .*GDA_LIBCUDA is no absolute path' "$out" &&
		grep -q '^verbs: .*GDA_LIBIBVERBS is no absolute path' "$out"
}

# A setuid program, whose user says where all is, and has a directory of his for it.
more_rights() {
	: >"$mark"
	setpriv --reuid=65534 --clear-groups env GDA_DPA="$tmp/cwd/gda-dpa" LD_LIBRARY_PATH=. \
		GDA_LIBCUDA="$tmp/cwd/libcuda.so.1" "$tmp/cwd/setuid" "$here/tasks.so" >"$out" 2>&1
	[ ! -s "$mark" ] && grep -q '^dpa: -13 .*more rights than its user' "$out"
}

echo 1..13
for p in archive runpath static; do
	ok "P10_planted_beside_$p" relative_paths "$tmp/bin/$p"
	ok "P10_no_path_at_all_$p" search "$tmp/bin/$p"
	ok "P10_no_gda_dpa_says_where_$p" no_gda_dpa "$tmp/bin/$p"
done
ok P10_argv0_is_no_place as_argv0
ok P10_relative_variables_are_refused relative_variables
ok P10_gda_dpa_is_found_beside_program_and_library eval 'beside_the_program && beside_the_library'
cp "$tmp/bin/static" setuid && chmod 4755 setuid
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
		[ "$(setpriv --reuid=65534 --clear-groups grep -c . "$here/tasks.so" 2>/dev/null)" ]; then
	ok P10_a_program_with_more_rights_starts_nothing more_rights
else
	skip P10_a_program_with_more_rights_starts_nothing "it takes root, and files that nobody may read"
fi
exit $rc
