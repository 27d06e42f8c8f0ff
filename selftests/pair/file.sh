#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# file.sh - the demo's two programs, one in each guest: a file of 64 MiB goes from side 0 to
# side 1 over each kind of device, with no system call while it does, and arrives as it was.
# Then one system call in between is made on purpose, and is found. Run by gda-pair. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=tools/vm/pair.sh
. tools/vm/pair.sh
# shellcheck source=selftests/pair/transfer.sh
. selftests/pair/transfer.sh
. selftests/lib/ktap.sh
make_file file.sum

file() {
	ok "64 MiB over $1, SHA-256 equal, no system call" whole_file "$1:$GDA_PAIR_RDMA" "$2"
	rate
}

# Side 0 is killed for its call; side 1 misses it.
found() {
	transfer "$1:$GDA_PAIR_RDMA" "$2" --syscall
	[[ $GDA_PAIR_SIDE.$? = @(0.3|1.4) ]]
}

control() { ok "one system call over $1 is found" found "$@"; }

echo 1..4
port=7100
for kind in ib verbs; do
	for what in file control; do
		pair_barrier "file.$kind.$what"
		$what $kind $((port++))
	done
done
exit $rc
