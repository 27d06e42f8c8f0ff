#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh - unpack the kernel's own checkers and print the folder
#
# checkpatch, kernel-doc and the Sphinx extension that calls it are in no package
# but the kernel's source. Only they are unpacked, once, into build/linux-source;
# the archive is this machine's, or else out of a downloaded package.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
pkg=linux-source-6.12
archive=/usr/src/$pkg.tar.xz
dir=$PWD/build/linux-source
members=(
	scripts/checkpatch.pl
	scripts/const_structs.checkpatch
	scripts/spelling.txt
	scripts/kernel-doc
	Documentation/sphinx/kerneldoc.py
	Documentation/sphinx/kernellog.py
)

download() {
	rm -rf "$dir.deb"
	mkdir -p "$dir.deb"
	(cd "$dir.deb" && apt-get -qq download "$pkg" 2>log) ||
		{ cat "$dir.deb/log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$dir.deb"/*.deb | tar -x -C "$dir.deb" "./usr/src/$pkg.tar.xz"
	archive=$dir.deb/usr/src/$pkg.tar.xz
}

unpack() {
	echo "linux-source.sh: unpacking ${archive##*/}" >&2
	rm -rf "$dir" "$dir.new"
	mkdir -p "$dir.new"
	# --occurrence ends the search once all are found.
	tar -C "$dir.new" --strip-components=1 --occurrence=1 -xf "$archive" \
		"${members[@]/#/$pkg/}"
	mv "$dir.new" "$dir"
	rm -rf "$dir.deb"
}

mkdir -p "${dir%/*}"
(
	flock 9
	if [ ! -e "$dir/scripts/kernel-doc" ]; then
		[ -r "$archive" ] || download
		unpack
	fi
) 9>"$dir.lock"
echo "$dir"
