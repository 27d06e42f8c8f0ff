#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh - unpack the kernel's own checkers, once, and print the folder

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$PWD/build/linux-source
mkdir -p build
(
	flock 9
	[ -e "$dir/ynl-gen-c.py" ] && exit
	rm -rf "$dir" "$dir.new"
	tools/scripts/linux-source.sh "$dir.new" \
		scripts/{checkpatch.pl,const_structs.checkpatch,spelling.txt,kernel-doc} \
		Documentation/sphinx/{kerneldoc,kernellog}.py \
		tools/net/ynl/{ynl-gen-c.py,cli.py,lib/{__init__,nlspec,ynl}.py} \
		Documentation/netlink/genetlink-legacy.yaml
	mv "$dir.new" "$dir"
) 9>"$dir.lock"
echo "$dir"
