#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions of a get of gda/async.h and its wait, counted by callgrind,
# beside those of gda_get() and gda_wait(): at most 1.2 times as many, rounded up. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

. selftests/lib/callgrind.sh
aside=complete
bench=$(dirname "$0")/bench

beside() { # MODE BASE
	local a b

	a=$(count 4096 "$bench" "$1") && b=$(count 4096 "$bench" "$2") || return
	say "$1: $a instructions, $2: $b"
	[ "$a" -gt 0 ] && [ "$b" -gt 0 ] && [ "$a" -le $(((12 * b + 9) / 10)) ]
}

echo 1..3
for pair in "async get" "async_exclusive get_exclusive" "peer get"; do
	read -r mode base <<<"$pair"
	ok_with valgrind "get and wait, $mode, at most 1.2 times those of $base" beside "$mode" "$base"
done
exit $rc
