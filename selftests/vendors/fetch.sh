#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# fetch.sh linux|nccl DIR - put headers of a vendor into DIR: efa_io_defs.h of Linux; or those of
# NCCL's package on PyPI, 300 MB, of which only the headers of its EFA back end are kept
#
# NCCL_WHEEL: a file of that package that is here already.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$2
version=2.32.3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

case $1 in
linux)
	tools/scripts/linux-source.sh "$tmp/new" drivers/infiniband/hw/efa/efa_io_defs.h ;;
nccl)
	wheel=${NCCL_WHEEL-}
	if [ -z "$wheel" ]; then
		python3 -m pip download -q --no-deps --only-binary :all: -d "$tmp" \
			--platform manylinux_2_27_x86_64 "nvidia-nccl-cu13==$version" >"$tmp/log" 2>&1 ||
			{ cat "$tmp/log" >&2; echo "NCCL_WHEEL=FILE names a package that is here" >&2; exit 1; }
		wheel=$(echo "$tmp"/*.whl)
	fi
	python3 - "$wheel" "$tmp/all" <<-'EOF'
	import sys, zipfile
	wheel = zipfile.ZipFile(sys.argv[1])
	names = [n for n in wheel.namelist() if '/efa-dp-direct/' in n]
	if not names:
	    sys.exit('no efa-dp-direct in ' + sys.argv[1])
	wheel.extractall(sys.argv[2], names)
	EOF
	mv "$tmp"/all/nvidia/nccl/include/nccl_device/transport/net_efa_gda/efa-dp-direct/include \
		"$tmp/new" ;;
*)	echo "usage: fetch.sh linux|nccl DIR" >&2; exit 2 ;;
esac
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$tmp/new" "$dir"
