#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# release.sh tag | headers DIR | kept FILE - what programs that exist were built with
#
#   tag           the tag (v*) of the last release before this commit; nothing as long as there was
#                 none, or where the sources have no history
#   headers DIR   the public headers of that release in DIR/gda; of today if there was none
#   kept FILE     selftests/abi/FILE of this tree, and behind it that of the release

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# A repository that only happens to lie around these sources has no such file.
tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) || tag=''
git cat-file -e "$tag:selftests/abi/library.txt" 2>/dev/null || tag=''

# Tags know paths from the top of the repository; the sources may be a copy further down.
headers() {
	rm -rf "$1"
	mkdir -p "$1/gda"
	if [ "$tag" ]; then
		git -C "$(git rev-parse --show-toplevel)" archive "$tag" lib/include/gda uapi/gda |
			tar -x -C "$1"
		cp -r "$1"/{lib/include,uapi}/gda/. "$1/gda"
		rm -r "${1:?}"/{lib,uapi}
	else
		cp -r lib/include/gda/. uapi/gda/. "$1/gda"
	fi
}

case ${1-} in
tag) [ -z "$tag" ] || echo "$tag" ;;
headers) headers "$2" ;;
kept)
	cat "selftests/abi/$2"
	[ -z "$tag" ] || git cat-file blob "$tag:selftests/abi/$2" 2>/dev/null || true ;;
*) sed -n '4,/^$/s/^# \?//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
