#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# bench.sh BENCH - instructions the engine executes per 8-byte work request
#
# Counted by callgrind inside gda_engine_visit(), host callbacks and the completion
# included; the same machine code gives the same figure every time. With --max N the
# worst write or inline figure may not exceed N.

set -euo pipefail

max=0
if [ "$1" = --max ]; then max=$2; shift 2; fi
bench=$1
rounds=2000

command -v valgrind >/dev/null || { echo "bench.sh: needs valgrind" >&2; exit 4; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

worst=0
printf '%-12s %6s %14s\n' operation batch instructions
for op in write inline read fetch_add nop efa_write efa_inline efa_read; do
	for batch in 1 16; do
		valgrind --tool=callgrind --callgrind-out-file="$tmp/out" --collect-atstart=no \
			--toggle-collect=gda_engine_visit "$bench" $op $batch $rounds \
			2>"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
		total=$(awk '/^(totals|summary):/ { print $2; exit }' "$tmp/out")
		each=$(((total + rounds * batch / 2) / (rounds * batch)))
		printf '%-12s %6d %14d\n' $op $batch $each
		case $op in
		write | inline) [ $each -le $worst ] || worst=$each ;;
		esac
	done
done
[ "$max" = 0 ] || [ $worst -le "$max" ] || { echo "more than $max" >&2; exit 1; }
