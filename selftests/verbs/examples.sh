#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# examples.sh - examples of gda/gin.h and gda/async.h over the fake RDMA device, by threads: those
# that its bits allow come to the same results. Those that need what no RDMA device offers, also of
# gda/dpa.h and gda/shmem.h, are refused at set-up by the name of the bit. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
export GDA_DEVICE=verbs:fake0 GDA_LIBIBVERBS=$PWD/build/selftests/verbs/libfake.so
export GDA_LIBRDMACM=$PWD/build/selftests/verbs/libfake_cm.so
examples=(gin-{allreduce,allgather,halo,dispatch}
	async-{simple_get,simple_get_peer,batch_get,put_notify,tiles})
n=0 rc=0

result() { # STATUS NAME
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n $2" && return
	echo "# ${out//$'\n'/$'\n# '}"
	echo "not ok $n $2"
	rc=1
}

# refused BIT PROGRAM...
refused() {
	local program=${!#}

	out=$(timeout 60 "${@:2}" 2>&1)
	[ $? = 1 ] && grep -q "_create: .*$1" <<<"$out"
	result $? "${program##*/} needs $1"
}

echo "1..$((${#examples[@]} + 3))"
for e in "${examples[@]}"; do
	out=$(timeout 60 "build/examples/$e" 2>&1) && grep -q 'as the reference$' <<<"$out"
	result $? "$e over a device that connects no QP to itself"
done
refused GDA_FEATURE_RECV_COUNTER build/examples/gin-alltoall
refused GDA_FEATURE_LOOPBACK build/examples/dpa-alltoall
export GDA_SHMEM_WAY=queue
refused GDA_FEATURE_MASKED build/tools/gda-run -n 2 build/examples/shmem-dispatch
exit $rc
