#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shared_cq.sh - instructions of a pass over 64 completions in a ring: of 64 QPs, and of
# one, which is the control. Speaks KTAP.

bench=$(dirname "${BASH_SOURCE[0]}")/plain/shared_cq
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

what='a pass over a ring costs the same for 64 peers as for one'
echo 1..1
if ! command -v valgrind >/dev/null; then
	echo "ok 1 $what # SKIP no valgrind here"
	exit 0
fi
for peers in 1 64; do
	GDA_DEVICE=inproc valgrind --tool=callgrind --callgrind-out-file="$tmp/out" \
		--collect-atstart=no --toggle-collect=gda_credits_pass "$bench" --count $peers \
		>/dev/null 2>"$tmp/log" || { cat "$tmp/log"; echo "not ok 1 $what"; exit 1; }
	count=$(awk '/^(totals|summary):/ { print $2; exit }' "$tmp/out")
	echo "# $peers peers: $count instructions for 64 entries"
	[ $peers = 1 ] && one=$count
done
# the empty passes of gda_test() are in it: one for each QP whose last is not seen
if [ "$one" -gt 64 ] && [ "$count" -le $((one + one / 20)) ]; then
	echo "ok 1 $what"
else
	echo "not ok 1 $what"
	exit 1
fi
