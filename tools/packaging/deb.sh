#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# deb.sh [OPTION...] - the Debian packages of this tree, in build/deb; lintian looks at them
#
# OPTIONs go to dpkg-buildpackage: -a arm64 makes the packages of arm64 (DEB_BUILD_PROFILES="cross
# pkg.gda.bare" needs only the C library of that architecture: gdactl is without netlink, and
# gda-perf without raw verbs). LINTIAN=no in the environment leaves lintian out, LINTIAN="--pedantic
# ..." gives it other arguments.

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

copy() {
	rm -rf "$out"
	tools/packaging/copy.sh "$out/gda-$version"
}

packages() {
	cd "$out/gda-$version"
	dpkg-buildpackage -us -uc -b "$@"
}

# Our own packages close no bugs. Other findings are fixed, or overridden where they are.
check() {
	[ "${LINTIAN-}" != no ] || { echo "LINTIAN=no: not asked"; return; }
	command -v lintian >/dev/null || { echo "lintian is missing: not asked"; return; }
	# shellcheck disable=SC2086	# arguments
	lintian ${LINTIAN:---fail-on error,warning} \
		--suppress-tags initial-upload-closes-no-bugs --allow-root "$out"/*.changes
}

case ${STEP-} in
'')
	copy
	STEP=packages $step 'packages' "$0" "$@"
	STEP=check $step 'lintian' "$0"
	(cd "$out" && ls -- *.deb) ;;
*) "$STEP" "$@" ;;
esac
