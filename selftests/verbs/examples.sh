#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# examples.sh - examples of gda/gin.h and gda/async.h over the fake RDMA device, by threads: those
# that its bits allow come to the same results, and the other is refused by the bit's name.
# Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
export GDA_DEVICE=verbs:fake0 GDA_LIBIBVERBS=build/selftests/verbs/libfake.so
export GDA_LIBRDMACM=build/selftests/verbs/libfake_cm.so
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

echo "1..$((${#examples[@]} + 1))"
for e in "${examples[@]}"; do
	out=$(timeout 60 "build/examples/$e" 2>&1) && grep -q 'as the reference$' <<<"$out"
	result $? "$e over a device that connects no QP to itself"
done
out=$(timeout 60 build/examples/gin-alltoall 2>&1)
[ $? = 1 ] && grep -q 'recv_counter: the device verbs:fake0 does not offer it' <<<"$out"
result $? "gin-alltoall needs what the device has not"
exit $rc
