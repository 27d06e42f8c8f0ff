#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kselftest.sh DIR - put the kernel's kselftest_harness.h into DIR
#
# It is in no package of its own, only in the archive of the kernel's source,
# which is taken from this machine, or else out of a downloaded package.

set -euo pipefail

dir=$1
pkg=linux-source-6.12
tar=/usr/src/$pkg.tar.xz
files=("$pkg/tools/testing/selftests/kselftest.h"
	"$pkg/tools/testing/selftests/kselftest_harness.h")

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ ! -r "$tar" ]; then
	(cd "$tmp" && apt-get -qq download "$pkg" 2>log) || { cat "$tmp/log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$tmp"/*.deb | tar -x -C "$tmp" "./usr/src/$pkg.tar.xz"
	tar=$tmp/usr/src/$pkg.tar.xz
fi
# --occurrence ends the search once all are found.
tar -xJf "$tar" -C "$tmp" --occurrence=1 "${files[@]}"
mkdir -p "$dir"
for f in "${files[@]}"; do
	install -m 644 "$tmp/$f" "$dir/"
done
