#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf.sh [ARG...] - in the guest: load the modules, make an rdma_rxe device for
# comparison, run gda-perf, unload the modules
# perf.sh dpa|async - the same with the benchmark of that front end, and without a comparison
#
# If rdma_rxe is missing, gda-perf says so in place of its rows.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

tools/vm/load.sh | grep '^not ok' && exit 1
case ${1-} in
dpa)
	build/selftests/dpa/plain/bench
	rc=$?
	;;
async)
	build/selftests/async/plain/bandwidth
	rc=$?
	;;
*)
	tools/vm/rxe.sh
	build/tools/gda-perf "$@"
	rc=$?
	;;
esac
tools/vm/unload.sh | grep '^not ok' && rc=1
exit $rc
