#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# netlink.sh [--check] - generate the files of the netlink family from its specification
#
# It uses the kernel's generator, which comes from Debian's linux-source and is not in this tree.
# With --check nothing is written, and a line is printed for each file that differs from what the
# generator makes.
#
# The generator also creates the group of events, but cannot express that listeners need a
# capability. So the group is defined in netlink.c, and removed here.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
spec=Documentation/netlink/specs/gda.yaml
linux=$(tools/lint/linux-source.sh)

# The generator derives the specification's name from its path below a file MAINTAINERS, and looks
# for the schema in a folder beside the specification's.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lib" "$tmp/${spec%/*}"
touch "$tmp/MAINTAINERS"
cp "$linux/ynl-gen-c.py" "$tmp/"
cp "$linux"/{__init__,nlspec,ynl}.py "$tmp/lib/"
cp "$linux/genetlink-legacy.yaml" "$tmp/Documentation/netlink/"
cp "$spec" "$tmp/$spec"

rc=0
# generate FILE ARG...
generate() {
	local file=$1

	shift
	(cd "$tmp" && python3 ynl-gen-c.py --spec "$spec" "$@" -o "${file##*/}" >&2)
	sed -i '/^static const struct genl_multicast_group /,/^};$/d' "$tmp/${file##*/}"
	awk '!/^#include <gda/ || !seen[$0]++' "$tmp/${file##*/}" | cat -s |
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$tmp/new"
	if [ "$check" ]; then
		cmp -s "$tmp/new" "$file" || { echo "$file: run tools/scripts/netlink.sh"; rc=1; }
	else
		cp "$tmp/new" "$file"
	fi
}

check=''
[ "${1-}" != --check ] || check=1
generate uapi/gda/netlink.h --mode uapi --header
generate kmod/gda_core/netlink/netlink_gen.h --mode kernel --header
generate kmod/gda_core/netlink/netlink_gen.c --mode kernel --source
exit $rc
