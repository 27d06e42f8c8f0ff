#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions of a get of gda/async.h and its wait, counted by callgrind,
# beside those of gda_get() and gda_wait(): at most 1.2 times as many, rounded up. Speaks KTAP.

bench=$(dirname "${BASH_SOURCE[0]}")/bench
times=4096 n=0 rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# count MODE: instructions of each
count() {
	local sum

	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" \
		--toggle-collect="count_$1" --toggle-collect=complete "$bench" --count "$1" \
		2>"$tmp/log" >/dev/null || return
	sum=$(sed -n 's/.*Collected : //p' "$tmp/log")
	echo $((${sum:-1000000000} / times))
}

# MODE and the mode that it is compared with
pairs="async get
async_exclusive get_exclusive
peer get"

echo "1..$(wc -l <<<"$pairs")"
while read -r mode base; do
	n=$((n + 1)) what="get and wait, $mode, at most 1.2 times those of $base"
	if ! command -v valgrind >/dev/null; then
		echo "ok $n $what # SKIP no valgrind here"
		continue
	fi
	a=$(count "$mode") b=$(count "$base")
	echo "# $mode: $a instructions, $base: $b"
	if [ "${a:-0}" -gt 0 ] && [ "${b:-0}" -gt 0 ] && [ "$a" -le $(((12 * b + 9) / 10)) ]; then
		echo "ok $n $what"
	else
		echo "not ok $n $what"
		rc=1
	fi
done <<<"$pairs"
exit $rc
