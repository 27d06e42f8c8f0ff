#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf-rdma.sh [ARG...] - in the guest: run gda-perf over ib:rxe0 and over verbs:rxe0, and raw verbs
# on the same rxe0. Rows of one run are measured in turns. It prints medians and, at the end, the
# bars: what is required, and what was measured.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
rc=0

tools/vm/rxe.sh || exit 1
tools/vm/load.sh | grep '^not ok' && exit 1
for device in ib:rxe0 verbs:rxe0; do
	echo "== $device"
	GDA_DEVICE=$device build/tools/gda-perf --rdma rxe0 --idle 0 --sizes 8,65536 --ms 50 "$@" || rc=1
done
rdma link del rxe0
tools/vm/unload.sh | grep '^not ok' && rc=1
exit $rc
