#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# with-gda0.sh PROGRAM [ARG...] - in the guest: run PROGRAM while gda0, the RDMA device of gda_rdma,
# is there. Nothing may hold the module afterwards.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
ko=build/$(uname -r)/kmod/gda_rdma/gda_rdma.ko

# shellcheck disable=SC2015	# as meant: either may be missing
modprobe ib_uverbs && [ -e "$ko" ] ||
	{ echo "1..0 # SKIP no ib_uverbs in this kernel, or no gda_rdma for it"; exit 0; }
echo "# dmesg: gda_rdma: (loading out-of-tree module|module verification failed)"
insmod "$ko" || { echo "Bail out! no gda0"; exit 1; }
# No udev here.
chmod 666 /dev/infiniband/*
"$@"
rc=$?
rmmod gda_rdma || { echo "Bail out! something holds gda_rdma"; exit 1; }
exit $rc
