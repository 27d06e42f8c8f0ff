#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# demo.sh - in the guest: load the modules, run examples/demo.sh, unload them
#
# The demo finds the kernel image that the guest runs in $GDA_KIMAGE and what was
# built in $GDA_BUILD.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
export GDA_BUILD=$PWD/build GDA_KIMAGE
GDA_KIMAGE=$(tools/vm/gda-kernel image "$(uname -r)") || exit 1
echo "guest: Linux $(uname -r), up after $(cut -d' ' -f1 /proc/uptime) s"
tools/vm/load.sh | grep '^not ok' && exit 1
examples/demo.sh
rc=$?
tools/vm/unload.sh | grep '^not ok' && rc=1
exit $rc
