#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kernel-doc.sh [kernel-doc's arguments] - the kernel's kernel-doc on our headers
#
# kernel-doc knows the kernel's macros for inline and aligned, but neither ours nor C++: so it reads
# a copy of each FILE without these, with the same line numbers.

set -uo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
linux=$("$top/tools/lint/linux-source.sh") || exit
copies=$(mktemp -d "${TMPDIR:-/tmp}/kernel-doc.XXXXXX")
trap 'rm -rf "$copies"' EXIT
args=()
for a; do
	if [ -f "$a" ]; then
		f=$(realpath "$a")
		f=$copies/${f#"$top"/}
		mkdir -p "${f%/*}"
		sed -E 's/\b(GDA_API|GDA_HOST_API|GDA_SIZED_API|GDA_GPU_API|GDA_HELPER|GDA_SLOW|GDA_UAPI_INLINE) //
			s/^template <.*>$//; s/^\t__device__.*//; s/(\w)<[^<>]*>/\1/g
			s/(\w) &(\w+)([,;)])/\1 *\2\3/g
			s/ (GDA_VIEW_ALIGN|GDA_ALIGNED)\b//' "$a" >"$f"
		a=$f
	fi
	args+=("$a")
done
{
	perl "$linux/kernel-doc" "${args[@]}" 2>&1 >&3 | sed "s,$copies/,," >&2
} 3>&1
