#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# sum.sh DIR... - "PASSED FAILED SKIPPED" of runs of run-tests.sh with --logs DIR
#
# A run that did not end, because its guest crashed for example, counts as one more failure.

set -uo pipefail

for dir; do
	cat "$dir/results" 2>/dev/null
	echo "end"
done | awk -F '\t' '
	$1 == "total" { whole = 1; next }
	$1 == "end" { f += !whole; whole = 0; next }
	{ p += $2; f += $3; s += $4 }
	END { print p + 0, f + 0, s + 0 }'
