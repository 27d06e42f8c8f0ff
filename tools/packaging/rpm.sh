#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# rpm.sh [OPTION...] - the RPM packages of this tree, in build/rpm; rpmlint looks at them
#
# OPTIONs go to rpmbuild. If dpkg has installed what the build needs (deps.sh rpm), the data base of
# RPM does not know of it, so it is not checked. Distributions with RPM have 64-bit libraries in
# lib64.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
step=$top/tools/scripts/step.sh
version=$(tools/scripts/version.sh)
out=$top/build/rpm
spec=$(sed -n 's/^Version: *//p' tools/packaging/gda.spec)
nodeps=()
! command -v dpkg-query >/dev/null || nodeps=(--nodeps)

if [ "$spec" != "$version" ]; then
	echo "rpm.sh: gda.spec says $spec, version.h says $version: add an entry to %changelog" >&2
	exit 1
fi

copy() {
	rm -rf "$out"
	mkdir -p "$out"/{SOURCES,tmp}
	tools/packaging/copy.sh "$out/tmp/gda-$version"
	tar -C "$out/tmp" -czf "$out/SOURCES/gda-$version.tar.gz" "gda-$version"
	rm -r "$out/tmp"
}

packages() {
	rpmbuild -bb --define "_topdir $out" "${nodeps[@]}" "$@" tools/packaging/gda.spec
}

check() {
	command -v rpmlint >/dev/null || { echo "rpmlint is missing: not asked"; return; }
	rpmlint -c tools/packaging/rpmlint.toml tools/packaging/gda.spec "$out"/RPMS/*/*.rpm
}

case ${STEP-} in
'')
	copy
	STEP=packages $step 'RPM packages' "$0" "$@"
	STEP=check $step 'rpmlint' "$0"
	(cd "$out/RPMS" && ls -- */*.rpm) ;;
*) "$STEP" "$@" ;;
esac
