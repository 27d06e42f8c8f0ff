#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kernels.sh - check that dkms builds for the kernels that are tested, and for no older or newer
# ones
#
# The tested kernels are the list "Tested" of Documentation/compat.rst, oldest first. dkms must
# build for a release between two of them, but not for the one before the oldest or after the
# newest.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
conf=tools/packaging/dkms.conf

regex=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' $conf)
mapfile -t tested < <(sed -n '/^Tested$/,/^Tested in part$/s/^\* Linux \([0-9]*\.[0-9]*\)[,:].*/\1/p' \
	Documentation/compat.rst)
[ "$regex" ] || echo "$conf: no BUILD_EXCLUSIVE_KERNEL"
[ ${#tested[@]} -ge 2 ] || { echo "Documentation/compat.rst: no kernels under \"Tested\""; exit; }

builds() { [[ $1.117-amd64 =~ $regex ]]; }
before() { [ "${1#*.}" = 0 ] && echo "$((${1%.*} - 1)).19" || echo "${1%.*}.$((${1#*.} - 1))"; }

for k in "${tested[@]}"; do
	builds "$k" || echo "$conf: BUILD_EXCLUSIVE_KERNEL leaves out $k, which is tested"
done
for k in "$(before "${tested[0]}")" "${tested[-1]%.*}.$((${tested[-1]#*.} + 1))" \
	"$((${tested[-1]%.*} + 1)).0"; do
	! builds "$k" || echo "$conf: BUILD_EXCLUSIVE_KERNEL takes $k, which is not tested"
done
