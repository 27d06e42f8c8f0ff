#!/bin/bash
# SPDX-License-Identifier: MIT
#
# types.sh - P02: a copy between arrays of different types does not compile, in no language,
# and the same between arrays of one type does. Compilers that are not here are skipped, and said
# so. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
PATH=$PATH:/usr/local/cuda/bin
include=(-Iuapi -Ilib/include)

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

# check SUFFIX WANT DST SRC COMPILER...: does it compile, or does it not
check() {
	local suffix=$1 want=$2 got=compiles

	program "$3" "$4" >"$tmp/p.$suffix"
	"${@:5}" "${include[@]}" -c -o "$tmp/p.o" "$tmp/p.$suffix" || got=fails
	[ "$got" = "$want" ]
}

languages() { # NAME WANT DST SRC
	ok_with gcc "P02_$1.c11" check c "$2" "$3" "$4" gcc -std=c11
	ok_with g++ "P02_$1.cxx17" check cc "$2" "$3" "$4" g++ -std=c++17
	ok_with nvcc "P02_$1.cuda" check cu "$2" "$3" "$4" nvcc -std=c++17 -DKERNEL=__global__ -arch=sm_90
}

echo 1..12
languages same_type compiles float "const float"
languages other_size fails float "const double"
languages other_sign fails int "const unsigned int"
languages other_kind fails float "const int"
exit $rc
