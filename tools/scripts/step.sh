#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# step.sh LABEL COMMAND... - run a long step as one line: label, dots, seconds
#
# Its output goes to build/log/LABEL.log, and is shown if it fails. V=1 shows it
# always.

set -uo pipefail

label=$1; shift
log=build/log/${label//[^A-Za-z0-9.]/-}.log
mkdir -p build/log
dots=......................................................
start=${EPOCHREALTIME/./}

printf '%s %s ' "$label" "${dots:${#label}}"
if [ "${V:-}" ]; then
	echo
	"$@" 2>&1 | tee "$log"
else
	"$@" >"$log" 2>&1 </dev/null
fi
status=$?
ms=$(((${EPOCHREALTIME/./} - start) / 1000))
printf '%4d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
if [ $status = 0 ]; then
	echo
else
	echo '  FAILED'
	tail -n 60 "$log" | sed 's/^/    /'
	echo "    (the whole of it: $log)"
fi
exit $status
