#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# copy.sh DIR - copy the sources of this tree to DIR, so that objects of packages and of tests do
# not mix

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."

sources() {
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z -co --exclude-standard
	else
		find . -path ./build -prune -o -type f -print0
	fi
}

mkdir -p "$1"
sources | while IFS= read -r -d '' f; do
	# leave out files that git tracks but that were deleted
	[ ! -e "$f" ] || printf '%s\0' "$f"
done | tar -c --null -T - | tar -x -C "$1"
