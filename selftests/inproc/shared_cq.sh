#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shared_cq.sh - instructions of a pass over 64 completions in a ring: of 64 QPs, and of
# one, which is the control. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

. selftests/lib/ktap.sh
bench=$(dirname "$0")/plain/shared_cq

pass() { # PEERS: sets $count
	GDA_DEVICE=inproc valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" \
		--collect-atstart=no --toggle-collect=gda_credits_pass "$bench" --count "$1" || return
	count=$(awk '/^(totals|summary):/ { print $2; exit }' "$tmp/callgrind")
	say "$1 peers: $count instructions for 64 entries"
}

# the empty passes of gda_test() are in it: one for each QP whose last is not seen
same() {
	local one count

	pass 1 && one=$count && pass 64 && [ "$one" -gt 64 ] && [ "$count" -le $((one + one / 20)) ]
}

echo 1..1
ok_with valgrind 'a pass over a ring costs the same for 64 peers as for one' same
exit $rc
