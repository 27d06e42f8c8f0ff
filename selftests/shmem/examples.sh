#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# examples.sh - the OpenSHMEM examples, built with oshcc, on 4 PEs by oshrun; one of them
# as each kind of program, for its variables are symmetric in all. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
bin=build/shmem/bin
. selftests/lib/ktap.sh

# go PES FLAG... -- NAME: build the example and run it
go() {
	local pes=$1 flags=()

	shift
	while [ "$1" != -- ]; do flags+=("$1"); shift; done
	"$bin/oshcc" -O2 -Wall -Wextra -Werror "${flags[@]}" -o "$tmp/$2" "examples/shmem/$2.c" &&
		timeout 60 "$bin/oshrun" -b -n "$pes" "$tmp/$2" >"$tmp/out" 2>&1 &&
		[ "$(pgrep -cf "$tmp/$2")" = 0 ]
}

says() { [ "$(grep -cx "$2" "$tmp/out")" = "$1" ]; }

hello() { go 4 -- hello && says 4 'PE [0-3] of 4 .GDA, OpenSHMEM 1.5.'; }
ring() { go 4 "$@" -- ring && says 1 'the sum of all PEs is 6'; }
put_signal() { go 4 -- put_signal && says 1 'PE 3 got "for PE 3 from PE 0"'; }
stencil() { go "$1" -- stencil && says 1 '[0-9]* points after 500 steps: as computed by one PE'; }
cxx() { "$bin/oshc++" -x c++ -o "$tmp/cxx" examples/shmem/hello.c && "$tmp/cxx"; }

statically() { # ring, linked with the static libraries
	cc "$@" -Ilib/frontend/openshmem/include -o "$tmp/static" examples/shmem/ring.c \
		build/lib/libgda-shmem.a build/lib/libgda.a -pthread 2>/dev/null &&
		timeout 60 "$bin/oshrun" -b -n 4 "$tmp/static" >"$tmp/out" 2>&1 &&
		says 1 'the sum of all PEs is 6'
}

# ranks ARGUMENT...: so many PEs
ranks() { timeout 60 "$bin/oshrun" "$@" "$tmp/hello" | grep -c 'of 3 (GDA'; }
np() { go 1 -- hello && [ "$(ranks -np 3) $(ranks -np3) $(ranks -b -np 3)" = '3 3 3' ]; }

echo 1..13
ok hello hello
ok ring_pie ring -fpie -pie
ok ring_no_pie ring -fno-pie -no-pie
ok ring_norelro ring -Wl,-z,norelro
ok ring_static_pie statically -static-pie
ok ring_static statically -static
ok ring_static_by_oshcc ring -static
ok ring_static_pie_by_oshcc ring -static-pie
ok put_signal put_signal
ok stencil stencil 4
ok stencil_of_one_PE stencil 1
ok cxx_without_a_launcher cxx
ok oshrun_np np
exit $rc
