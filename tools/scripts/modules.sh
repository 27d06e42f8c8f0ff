#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# modules.sh KVER [ARG...] - build the kernel modules for one kernel
#
# Objects of two kernels must not mix, and kbuild puts them beside the sources: so each kernel gets
# a tree of links, build/RELEASE/ (or $TREE), which is brought up to date here and in which the
# modules are built. ARGs go to make (W=1, C=2). With $HEADERS, KVER is a release, and $HEADERS the
# folder of its headers.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
kver=$1; shift
rel=$kver headers=${HEADERS-} run=()
if [ -z "$headers" ]; then
	rel=$(tools/vm/gda-kernel release "$kver")
	headers=$(tools/vm/gda-kernel headers "$rel")
	run=(tools/vm/gda-kernel run "$rel")
fi
case $rel in
*-arm64*) folder=build/arm64/$rel; set -- ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "$@" ;;
*) folder=build/$rel ;;
esac
tree=$PWD/${TREE:-$folder}

mkdir -p "$tree"
exec 9>"$tree.lock"	# one at a time
flock 9
ln -sfn "$PWD/Kbuild" "$tree/Kbuild"
ln -sfn "$PWD/uapi" "$tree/uapi"
dirs=(kmod engine)
[ ! -d selftests/kmod ] || dirs+=(selftests/kmod)
find "${dirs[@]}" -type d | (cd "$tree" && xargs mkdir -p)
find "${dirs[@]}" -type f \( -name '*.[ch]' -o -name Kbuild \) | while read -r f; do
	# replaces a link to another tree, if the build folder was copied from there
	[ "$tree/$f" -ef "$f" ] || ln -sfn "$PWD/$f" "$tree/$f"
done
find "${dirs[@]/#/$tree/}" -xtype l -delete

# Headers without a vmlinux (6.1's) cannot give modules BTF, and print that each time.
[ -e "$headers/vmlinux" ] || set -- CONFIG_DEBUG_INFO_BTF_MODULES= "$@"
exec "${run[@]}" make -s -C "$headers" M="$tree" -j "$(nproc)" "$@" modules
