#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# examples.sh - examples of gda/gin.h and gda/async.h over the fake RDMA device, by threads: those
# that its bits allow come to the same results. Those that need what no RDMA device offers, also of
# gda/dpa.h and gda/shmem.h, are refused at set-up by the name of the bit. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
export GDA_DEVICE=verbs:fake0 GDA_LIBIBVERBS=$PWD/build/selftests/verbs/libfake.so
export GDA_LIBRDMACM=$PWD/build/selftests/verbs/libfake_cm.so
examples=(gin-{allreduce,allgather,halo,dispatch}
	async-{simple_get,simple_get_peer,batch_get,put_notify,tiles})
. selftests/lib/ktap.sh

same_result() { timeout 60 "build/examples/$1" >"$tmp/out" 2>&1 && grep -q 'as the reference$' "$tmp/out"; }

# refused BIT PROGRAM...
refused() {
	timeout 60 "${@:2}" >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -q "_create: .*$1" "$tmp/out"
}

echo "1..$((${#examples[@]} + 3))"
for e in "${examples[@]}"; do
	ok "$e over a device that connects no QP to itself" same_result "$e"
done
for need in "gin-alltoall RECV_COUNTER" "dpa-alltoall LOOPBACK"; do
	read -r e bit <<<"$need"
	ok "$e needs GDA_FEATURE_$bit" refused "GDA_FEATURE_$bit" "build/examples/$e"
done
export GDA_SHMEM_WAY=queue
ok "shmem-dispatch needs GDA_FEATURE_MASKED" refused GDA_FEATURE_MASKED \
	build/tools/gda-run -n 2 build/examples/shmem-dispatch
exit $rc
