#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# no_libnl.sh - where libnl is absent gdactl builds, with the command doctor alone. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by ok

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh

build() {
	make --no-print-directory -s GDACTL_NL= GDACTL_OUT="$tmp/gdactl" "$tmp/gdactl"
}

needs_no_libnl() {
	! ldd "$tmp/gdactl" | grep libnl
}

has_doctor() {
	"$tmp/gdactl" --help | grep -q 'gdactl doctor' && "$tmp/gdactl" --json doctor |
		python3 -c 'import json, sys; json.load(sys.stdin)'
}

has_no_other() {
	local c

	for c in device context qp cq mr counter wqe stats limits monitor top record why; do
		"$tmp/gdactl" "$c"
		[ $? = 2 ] || { echo "$c is there"; return 1; }
	done
	"$tmp/gdactl" qp 2>&1 | grep -q 'built without libnl'
}

echo "TAP version 13"
echo "1..4"
ok "gdactl builds without libnl" build
ok "it needs none" needs_no_libnl
ok "it has the command doctor" has_doctor
ok "it has no other, and says why" has_no_other
exit "$rc"
