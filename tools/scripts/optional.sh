#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# optional.sh PART - print what this machine has of an optional part; print nothing, with exit
# status 1, if it has none
#
#   pmix     flags for the compiler to find pmix.h            (libpmix-dev)
#   verbs    which of rdma/rdma_cma.h and infiniband/verbs.h exist
#                                                             (librdmacm-dev, libibverbs-dev)
#   nl       flags for the compiler and the linker            (libnl-3-dev, libnl-genl-3-dev)
#   nvcc     its path                                         (a CUDA toolkit)
#   mpirun   its path                                         (openmpi-bin)
#   numpy    its path                                         (python3-numpy)
#   m32      "yes": programs of 32 bits can be linked         (gcc-multilib)
#
# Every makefile and every test asks here (tools/optional.mk), so that a part that $GDA_WITHOUT names
# is absent for all of them: GDA_WITHOUT="pmix nl verbs" make check. $CC and $PKG_CONFIG are
# those of make.

: "${CC:=cc}" "${PKG_CONFIG:=pkg-config}"

# Both may be commands with arguments, or with variables before them.
config() { eval "$PKG_CONFIG \"\$@\"" 2>/dev/null; }
compile() { eval "$CC \"\$@\"" 2>/dev/null; }

# headers NAME... [-- FLAG...]: print those that the compiler finds
headers() {
	lines=''
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		lines="$lines#if __has_include(<$1>)
$1
#endif
"
		shift
	done
	[ $# = 0 ] || shift
	printf '%s' "$lines" | compile -E -P -x c "$@" - | xargs
}

find_pmix() {
	# Ignore warnings in the headers of others.
	flags=$(config --cflags pmix | sed 's/-I/-isystem /g; s/ *$//')
	# shellcheck disable=SC2086	# flags
	[ -z "$(headers pmix.h -- $flags)" ] || echo "-DGDA_PMIX${flags:+ $flags}"
}

find_verbs() { headers rdma/rdma_cma.h infiniband/verbs.h; }

find_nl() { config --cflags --libs libnl-genl-3.0 libnl-3.0 | sed 's/ *$//'; }

find_nvcc() {
	command -v nvcc || { [ ! -x /usr/local/cuda/bin/nvcc ] || echo /usr/local/cuda/bin/nvcc; }
}

find_mpirun() { command -v mpirun; }

# The version of the python3 that has Debian's packages.
find_numpy() {
	/usr/bin/python3 -c 'from importlib.util import find_spec; print(find_spec("numpy").origin)' 2>/dev/null
}

find_m32() { ! echo 'int main(void) { return 0; }' | compile -m32 -x c -o /dev/null - || echo yes; }

case $1 in
pmix|verbs|nl|nvcc|mpirun|numpy|m32) ;;
*) echo "optional.sh: there is no part '$1': see $0" >&2; exit 2 ;;
esac
case " $(echo "${GDA_WITHOUT-}" | tr ',' ' ') " in
*" $1 "*) exit 1 ;;
esac
answer=$("find_$1")
[ "$answer" ] && echo "$answer"
