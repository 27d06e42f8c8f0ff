#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ten.sh - ten failures made on purpose (items 14 to 17 of issue 40): what a user sees says in one
# line what it was, and what to do next. With -v it shows each command and what it printed, for a
# reader who is to tell the reason from that alone. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by ok

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh
here=build/selftests/tools run=build/tools/gda-run
# what there is in every place
export GDA_DEVICE=inproc

# fails COMMAND WORDS...: it does not end well, and one line has all the words, which say what it was
# and what to do
fails() {
	local command=$1 word line all

	shift
	# a shell of its own, for limits
	timeout $((60 * ${GDA_SLOW:-1})) bash -c "$command" >"$tmp/out" 2>&1 </dev/null &&
		{ echo "it ended well: $command"; return 1; }
	while IFS= read -r line; do
		all=y
		for word; do
			[[ $line == *"$word"* ]] || all=
		done
		[ ! "$all" ] || return 0
	done <"$tmp/out"
	echo "no line of \`$command' has all of: $*"
	return 1
}

commands=(
	"$run -n 3 $here/ten stop"
	"$run -k -n 3 $here/ten die"
	"$here/ten key"
	"$here/ten right"
	"(ulimit -n 20; $run -n 10 $here/ten die)"
	"GDA_DEVICE=verbs:mlx5_9 $here/ten key"
	"GDA_DPA=/opt/gda/gda-dpa $here/ten tasks"
	"$run -n 2 build/examples/gin-allgather"
	"SHMEM_SYMMETRIC_SIZE=16M GDA_DEVICE= $run -n 2 $here/heap"
	"$here/ten connect"
)
if [ "${1-}" = -v ]; then
	for command in "${commands[@]}"; do
		printf '$ %s\n' "$command"
		timeout 60 bash -c "$command" 2>&1 </dev/null
		echo
	done
	exit 0
fi
[ ! -e /dev/gda ] || { echo "1..0 # SKIP natively, without /dev/gda"; exit 4; }

echo 1..11
ok item14_a_peer_is_stopped fails "${commands[0]}" "rank 1 (pid" "is stopped by a signal"
ok item14_how_it_goes_on fails "${commands[0]}" "kill -CONT PID lets it go on"
ok item14_a_peer_is_gone fails "${commands[1]}" "rank 1 of 3 died" \
	"its output, or gda-run's, says which" "start all ranks again"
ok item14_a_wrong_key fails "${commands[2]}" "no such key" "pass gda_mr_key()"
ok item14_access_is_denied fails "${commands[3]}" "does not grant the right" "register it with"
ok item14_a_limit_of_the_process fails "${commands[4]}" "cannot start rank" "Too many open files" \
	"start fewer, or raise ulimit -n"
ok item14_a_device_is_missing fails "${commands[5]}" 'no RDMA device "mlx5_9"' "see ibv_devices"
ok item14_gda_dpa_is_missing fails "${commands[6]}" "/opt/gda/gda-dpa: No such file" "set GDA_DPA"
ok item14_no_memory_in_common fails "${commands[7]}" "reaches no other" \
	"use soft0 or an RDMA device (GDA_DEVICE" "make the ranks threads"
ok item14_the_heap_is_too_small fails "${commands[8]}" "67108864 bytes do not fit" \
	"SHMEM_SYMMETRIC_SIZE is 16777216: set it to more"
ok item14_connection_refused fails "${commands[9]}" "nobody listens at 127.0.0.1, port 1 (connection refused)" \
	"start rank 0 too, where the id was made"
exit $rc
