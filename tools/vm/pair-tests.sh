#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# pair-tests.sh LOGS PROGRAM... - in both guests of gda-pair: load the modules, run the
# tests, unload the modules; results are left in LOGS/0 and LOGS/1
#
# A program called nobody comes first, before the modules are loaded.
#
# A program called killed comes last. It switches side 1 off, so only side 0 has its result. The
# output of side 1 until then is in LOGS/1/killed.output; it is no .log, because attacks.py expects
# a result for each .log.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
logs=$1/$GDA_PAIR_SIDE
shift
before=() tests=() killed=()
for t; do
	case $t in
	*/nobody) before=("$t") ;;
	*/killed) killed=("$t") ;;
	*) tests+=("$t") ;;
	esac
done
[ "$GDA_PAIR_SIDE" = 1 ] || tests+=("${killed[@]}")
tools/scripts/run-tests.sh --dmesg --logs "$logs" "${before[@]}" tools/vm/load.sh "${tests[@]}" \
	tools/vm/unload.sh
rc=$?
if [ "$GDA_PAIR_SIDE" = 1 ] && [ ${#killed[@]} -gt 0 ]; then
	tools/vm/load.sh >"$logs/killed.output" 2>&1
	"${killed[@]}" >>"$logs/killed.output" 2>&1
fi
exit $rc
