#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# dkms.sh - put the sources of the modules where dkms looks for them
#
# They go to $DESTDIR/usr/src/gda-VERSION; then: dkms install gda/VERSION

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(tools/scripts/version.sh)
dir=${DESTDIR-}/usr/src/gda-$version

rm -rf "$dir"
mkdir -p "$dir"
find Kbuild COPYING LICENSES engine kmod uapi -type f \
	\( -name '*.[ch]' -o -name Kbuild -o -name COPYING -o -path 'LICENSES/*' \) \
	! -name '*.mod.c' -exec cp --parents -t "$dir" {} +
sed "s/@VERSION@/$version/" tools/packaging/dkms.conf >"$dir/dkms.conf"
echo "$dir"
