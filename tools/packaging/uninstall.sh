#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# uninstall.sh - remove what install.sh has installed, with the same DESTDIR and PREFIX
#
# Nothing else is removed, except folders called gda or gda-shmem, and those in them, if they are
# empty afterwards. Without DESTDIR, depmod is run for the kernels whose modules were removed.

set -euo pipefail

dest=${DESTDIR-}
prefix=${PREFIX:-/usr/local}
list=$dest$prefix/share/gda/installed

if [ ! -e "$list" ]; then
	echo "uninstall.sh: nothing is installed in $dest$prefix: there is no $list" >&2
	exit 1
fi
mapfile -t files <"$list"
for f in "${files[@]}"; do
	rm -f "$dest$f"
done
printf '%s\n' "${files[@]%/*}" | sort -ur | while read -r dir; do
	while [[ ${dir#"$prefix"} =~ /gda(-shmem)?(/|$) ]]; do
		rmdir "$dest$dir" 2>/dev/null || break
		dir=${dir%/*}
	done
done
if [ -z "$dest" ]; then
	printf '%s\n' "${files[@]}" | sed -n 's,^/lib/modules/\([^/]*\)/.*,\1,p' | sort -u |
		while read -r krel; do
			PATH=$PATH:/usr/sbin:/sbin depmod "$krel"
		done
fi
