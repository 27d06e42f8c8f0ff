#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# deb.sh [OPTION...] - the Debian packages of this tree, in build/deb; lintian looks at them
#
# They are made of a copy, so that objects of packages and of tests do not mix. OPTIONs go to
# dpkg-buildpackage: -a arm64 makes those of arm64 (DEB_BUILD_PROFILES="cross pkg.gda.bare": with
# no library of that architecture but C's, so without gdactl's netlink and gda-perf's raw verbs).

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
step=$top/tools/scripts/step.sh
version=$(tools/scripts/version.sh)
out=$top/build/deb
log=$(sed -n '1s/^gda (\(.*\)) .*/\1/p' debian/changelog)

if [ "$log" != "$version" ]; then
	echo "deb.sh: debian/changelog says $log, version.h says $version: add an entry" >&2
	exit 1
fi

sources() {
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -z -co --exclude-standard
	else
		find . -path ./build -prune -o -type f -print0
	fi
}

copy() {
	rm -rf "$out"
	mkdir -p "$out/gda-$version"
	sources | while IFS= read -r -d '' f; do
		# what git knows of and is gone is left out
		[ ! -e "$f" ] || printf '%s\0' "$f"
	done | tar -c --null -T - | tar -x -C "$out/gda-$version"
}

packages() {
	cd "$out/gda-$version"
	dpkg-buildpackage -us -uc -b "$@"
}

# A package of one's own closes no bugs. Others are mended, or overridden where they are.
check() {
	command -v lintian >/dev/null || { echo "lintian is missing: not asked"; return; }
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
		--allow-root "$out"/*.changes
}

case ${STEP-} in
'')
	copy
	STEP=packages $step 'packages' "$0" "$@"
	STEP=check $step 'lintian' "$0"
	(cd "$out" && ls -- *.deb) ;;
*) "$STEP" "$@" ;;
esac
