#!/bin/bash
# SPDX-License-Identifier: MIT
#
# types.sh - P02: a copy between arrays of different types does not compile, in no language,
# and the same between arrays of one type does. Compilers that are not here are skipped, and said
# so. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
PATH=$PATH:/usr/local/cuda/bin
include=(-Iuapi -Ilib/include)
n=0 rc=0

# program DST SRC: copies between arrays of these types
program() {
	cat <<EOT
#include <gda/async.h>
#ifndef KERNEL
#define KERNEL
#endif
KERNEL void copy(struct gda_async_session *s, $1 *dst, $2 *src);
KERNEL void copy(struct gda_async_session *s, $1 *dst, $2 *src)
{
	gda_async_get_array(s, GDA_ASYNC_COPY, dst, src, 4, 0);
	gda_async_put_array(s, GDA_ASYNC_PEERS(1), dst, src, 4, 0);
}
EOT
}

# check NAME SUFFIX WANT DST SRC COMPILER...: does it compile, or does it not
check() {
	local name=$1 suffix=$2 want=$3 got=compiles

	n=$((n + 1))
	program "$4" "$5" >"$tmp/p.$suffix"
	shift 5
	if ! command -v "$1" >/dev/null; then
		echo "ok $n $name # SKIP no $1 here"
		return
	fi
	"$@" "${include[@]}" -c -o "$tmp/p.o" "$tmp/p.$suffix" >"$tmp/log" 2>&1 || got=fails
	if [ "$got" = "$want" ]; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$tmp/log"
		echo "not ok $n $name"
		rc=1
	fi
}

languages() { # NAME WANT DST SRC
	check "P02_$1.c11" c "$2" "$3" "$4" gcc -std=c11
	check "P02_$1.cxx17" cc "$2" "$3" "$4" g++ -std=c++17
	check "P02_$1.cuda" cu "$2" "$3" "$4" nvcc -std=c++17 -DKERNEL=__global__ -arch=sm_90
}

echo 1..12
languages same_type compiles float "const float"
languages other_size fails float "const double"
languages other_sign fails int "const unsigned int"
languages other_kind fails float "const int"
exit $rc
