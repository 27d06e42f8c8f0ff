#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per put of gda/gin.h, counted by callgrind: addresses and
# limits, and the post itself. Speaks KTAP.

bench=$(dirname "${BASH_SOURCE[0]}")/bench
puts=4096 n=0 rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# MODE and the most instructions a put may take
limits="exclusive 75
shared 110
signal 190
counter 150"

echo "1..$(wc -l <<<"$limits")"
while read -r mode limit; do
	n=$((n + 1)) what="a put, $mode, at most $limit instructions"
	if ! command -v valgrind >/dev/null; then
		echo "ok $n $what # SKIP no valgrind here"
		continue
	fi
	valgrind --tool=callgrind --callgrind-out-file="$tmp/out" \
		--toggle-collect="count_$mode" "$bench" --count "$mode" 2>"$tmp/log" >/dev/null
	count=$(sed -n 's/.*Collected : //p' "$tmp/log")
	each=$(((${count:-1000000000} + puts / 2) / puts))
	echo "# $mode: $each instructions"
	if [ $each -le "$limit" ]; then echo "ok $n $what"; else echo "not ok $n $what"; rc=1; fi
done <<<"$limits"
exit $rc
