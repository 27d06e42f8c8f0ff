#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh DIR PATH... - put files of the kernel's source into DIR
#
# It is for the few files (kselftest_harness.h, checkpatch.pl) that are in no package of their own.
# They come from the archive in Debian's linux-source, which is downloaded if it is not on this
# machine.

set -euo pipefail

dir=$1; shift
pkg=linux-source-6.12
tar=/usr/src/$pkg.tar.xz

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ ! -r "$tar" ]; then
	(cd "$tmp" && apt-get -qq download "$pkg" 2>log) || { cat "$tmp/log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$tmp"/*.deb | tar -x -C "$tmp" "./usr/src/$pkg.tar.xz"
	tar=$tmp/usr/src/$pkg.tar.xz
fi
# --occurrence ends the search once all are found.
tar -xJf "$tar" -C "$tmp" --occurrence=1 "${@/#/$pkg/}"
mkdir -p "$dir"
for f; do
	install -m 644 "$tmp/$pkg/$f" "$dir/"
done
