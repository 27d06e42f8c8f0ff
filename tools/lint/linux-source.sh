#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh - unpack the kernel's own checkers and print the folder
#
# checkpatch, kernel-doc and the Sphinx extension that calls it are in no package
# but the kernel's source (linux-source-6.12). Only they are unpacked, once, into
# build/linux-source. $LINUX_SOURCE names another archive or an unpacked tree.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
src=${LINUX_SOURCE:-/usr/src/linux-source-6.12.tar.xz}
dir=$PWD/${BUILD:-build}/linux-source
members=(
	scripts/checkpatch.pl
	scripts/const_structs.checkpatch
	scripts/spelling.txt
	scripts/kernel-doc
	Documentation/sphinx/kerneldoc.py
	Documentation/sphinx/kernellog.py
)

if [ -d "$src" ]; then
	echo "$src"
	exit
fi

unpack() {
	local top

	echo "linux-source.sh: unpacking ${src##*/}" >&2
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	top=$(basename "$src"); top=${top%%.tar*}
	# Reads to the end of the archive, which is sorted by nothing: once.
	tar -C "$dir.new" --strip-components=1 -xf "$src" "${members[@]/#/$top/}"
	rm -rf "$dir"
	mv "$dir.new" "$dir"
}

mkdir -p "${dir%/*}"
(
	flock 9
	[ -e "$dir/scripts/kernel-doc" ] && exit
	[ -r "$src" ] || {
		echo "linux-source.sh: no $src: install package linux-source-6.12" >&2
		exit 1
	}
	unpack
) 9>"$dir.lock"
echo "$dir"
