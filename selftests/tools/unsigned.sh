#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unsigned.sh - a kernel that takes signed modules alone refuses ours as they are built, and gdactl
# doctor says why. Speaks KTAP.
#
# It is the last program of a guest: the kernel keeps the rule until it is started again.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
rule=/sys/module/module/parameters/sig_enforce
module=${GDA_BUILD:-build}/$(uname -r)/kmod/gda_core/gda_core.ko

echo "TAP version 13"
echo 1..3
if ! echo 1 >$rule; then
	for n in 1 2 3; do
		echo "ok $n signed modules alone # SKIP the kernel checks no signatures"
	done
	exit
fi

refused() {
	local said

	said=$(insmod "$module" 2>&1) && return 1
	echo "$said"
	grep -q 'Key was rejected by service' <<<"$said" && [ ! -d /sys/module/gda_core ]
}

# As a user, too, who cannot read the kernel's log.
explained() {
	local said

	said=$("$@" build/tools/gdactl doctor --json | grep '"name":"module"')
	echo "$said"
	[[ $said == *"would be refused: module.sig_enforce is set"*"sign the modules"* ]]
}

ok P6_module_without_a_signature_is_refused refused
ok P6_doctor_says_why explained
ok P6_doctor_says_why_to_a_user explained setpriv --reuid 65534 --regid 65534 --clear-groups
exit $rc
