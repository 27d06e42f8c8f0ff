#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# fetch.sh linux|nccl|rdma DIR - put code of a vendor into DIR: efa_io_defs.h of Linux; the headers of
# devices' code in NCCL's package on PyPI, 300 MB, of which nothing else is kept; or of rdma-core's
# source, in Debian's next release, the provider of efa and the headers that it includes
#
# NCCL_WHEEL, RDMA_CORE: a file of that package, or archive of that source, that is here already.

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
	names = [n for n in wheel.namelist() if n.startswith('nvidia/nccl/include/')]
	if not any('/efa-dp-direct/' in n for n in names):
	    sys.exit('no efa-dp-direct in ' + sys.argv[1])
	wheel.extractall(sys.argv[2], names)
	EOF
	mv "$tmp/all/nvidia/nccl/include" "$tmp/new" ;;
rdma)
	tar=${RDMA_CORE-}
	if [ -z "$tar" ]; then
		# what the archive has today: an older index names files that are gone
		tools/vm/gda-tree update source
		tree=$PWD/tools/vm/gda-tree
		(cd "$tmp" && "$tree" apt source apt-get -qq source --download-only --tar-only rdma-core)
		tar=$(echo "$tmp"/rdma-core_*.orig.tar.gz)
	fi
	mkdir "$tmp/all"
	tar -xf "$tar" -C "$tmp/all" --strip-components=1
	grep -q EFADV_QP_FLAGS_INLINE_WRITE "$tmp/all/providers/efa/efadv.h" ||
		{ echo "$tar is older than entries of 128 bytes" >&2; exit 1; }
	mkdir -p "$tmp"/new/{infiniband,kernel-abi,ccan,util,rdma}
	cd "$tmp/all"
	cp -r providers/efa "$tmp/new/"
	cp libibverbs/*.h kernel-headers/rdma/ib_user_ioctl_verbs.h "$tmp/new/infiniband/"
	cp -r kernel-headers/rdma/*.h "$tmp/new/rdma/"
	cp ccan/*.h ccan/ilog.c "$tmp/new/ccan/"
	cp util/*.h "$tmp/new/util/"
	# its own way to turn the kernel's structures into those of commands
	for h in efa-abi ib_user_verbs; do
		(cd kernel-headers && python3 ../buildlib/make_abi_structs.py "rdma/$h.h" \
			"$tmp/new/kernel-abi/$h.h")
	done
	cd "$OLDPWD"
	# what its configuration finds out
	printf '#define %s\n' 'HAVE_STATEMENT_EXPR 1' 'HAVE_BUILTIN_TYPES_COMPATIBLE_P 1' \
		'HAVE_TYPEOF 1' "SIZEOF_LONG $(($(getconf LONG_BIT) / 8))" 'VERBS_IOCTL_ONLY 0' \
		'VERBS_WRITE_ONLY 0' 'IBVERBS_PABI_VERSION 0' >"$tmp/new/config.h" ;;
*)	echo "usage: fetch.sh linux|nccl|rdma DIR" >&2; exit 2 ;;
esac
mkdir -p "$(dirname "$dir")"
rm -rf "$dir"
mv "$tmp/new" "$dir"
