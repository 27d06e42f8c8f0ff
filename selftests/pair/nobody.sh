#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# nobody.sh - devices `verbs:` as user nobody and without GDA's modules, from one guest of gda-pair
# to the other: the demo's file, and puts, gets and atomics to a peer on `ib:`, for which side 1
# loads its modules. Run by pair-tests.sh before it loads them. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
# shellcheck source=tools/vm/pair.sh
. tools/vm/pair.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/pair/transfer.sh
. selftests/pair/transfer.sh
chmod 755 "$tmp"
as=(setpriv --reuid nobody --regid nogroup --clear-groups)
# Each end registers the file, and pins some of its own.
ulimit -l 262144

without_modules() { ! ls -d /sys/module/gda_* /dev/gda 2>/dev/null; }
file() { whole_file "verbs:$GDA_PAIR_RDMA" 7200 && without_modules; }

# In a folder of its own, for remote is run once more by pair-tests.sh: names there are good for once.
mixed() {
	local run=(build/selftests/pair/remote -v verbs_to_ib)

	export GDA_PAIR_DIR=$GDA_PAIR_DIR/nobody
	mkdir -m 1777 "$GDA_PAIR_DIR" 2>/dev/null
	chmod 1777 "$GDA_PAIR_DIR"
	if [ "$GDA_PAIR_SIDE" = 0 ]; then
		"${as[@]}" "${run[@]}" >"$tmp/out" 2>&1 && without_modules
	else
		insmod "$ko/gda_core/gda_core.ko" && insmod "$ko/gda_mr/gda_mr.ko" &&
			insmod "$ko/gda_ib/gda_ib.ko" && "${run[@]}" >"$tmp/out" 2>&1
	fi && grep -q 'pass:1 fail:0 xfail:0 xpass:0 skip:0' "$tmp/out"
}

# The objects of a process that has ended go in their own time.
unload() {
	local i m

	for ((i = 0; i < 600; i++)); do
		for m in gda_ib gda_mr gda_core; do
			[ ! -d "/sys/module/$m" ] || rmmod "$m"
		done
		! without_modules || return 0
		sleep 0.1
	done
	return 1
}

ko=build/$(uname -r)/kmod
if [ ! -e "$ko/gda_ib/gda_ib.ko" ]; then
	echo "1..0 # SKIP no gda_ib for this kernel"
	exit 0
fi
echo 1..3
echo "# dmesg: gda_(core|ib): (loading out-of-tree module|module verification failed)"
make_file nobody.sum
[ "$GDA_PAIR_SIDE" = 1 ] || chmod 644 "$tmp/file"
pair_barrier nobody.file
ok "64 MiB over verbs, as nobody, no module loaded" file
rate
pair_barrier nobody.mixed
ok "verbs, as nobody, no module loaded, to a peer on ib" mixed
ok "the modules go" unload
exit $rc
