# shellcheck shell=bash disable=SC2154	# tmp
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# transfer.sh - to be sourced, behind pair.sh and with a folder $tmp: the demo's file goes from side
# 0 to side 1. ${as[@]} is put before the command of either side.

bytes=$((64 << 20))
as=()

# The file, here or there, and its sum on both sides; NAME is good for once.
make_file() { # NAME
	if [ "$GDA_PAIR_SIDE" = 0 ]; then
		head -c $bytes /dev/urandom >"$tmp/file"
		sha256sum "$tmp/file" | cut -d' ' -f1 | tee "$tmp/sum" | pair_put "$1"
	else
		pair_get "$1" >"$tmp/sum"
	fi
}

# transfer DEVICE PORT [OPTION]: this side's part
transfer() {
	local slow=${GDA_SLOW:-1}

	if [ "$GDA_PAIR_SIDE" = 0 ]; then
		timeout $((90 * slow)) "${as[@]}" build/examples/gda-send --device "$1" \
			--socket "tcp:$GDA_PAIR_PEER:$2" --deadline $((60 * slow)) ${3:+"$3"} "$tmp/file"
	else
		timeout $((90 * slow)) "${as[@]}" build/examples/gda-recv --device "$1" \
			--socket "tcp:$GDA_PAIR_ADDR:$2" --deadline $((60 * slow))
	fi >"$tmp/out" 2>&1
}

# says NAME REGEX: does the report have such a line?
says() { grep -qE "^$1 +$2\$" "$tmp/out"; }

# whole_file DEVICE PORT: all of it arrived, and no system call was made meanwhile
whole_file() {
	transfer "$1" "$2" && says verdict equal && says bytes "$bytes" &&
		says sha256 "$(cat "$tmp/sum")" && says signals 1024 &&
		says filter 'Seccomp: 2, Seccomp_filters: [1-9][0-9]*'
}

# How long it took, for whoever reads.
rate() { grep -E '^(ms|rate) ' "$tmp/out" | sed 's/^/# /'; }
