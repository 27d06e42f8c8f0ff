# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ktap.sh - to be sourced by the scripts of this folder: results as KTAP, and $tmp, a folder
#
# shellcheck shell=bash disable=SC2034	# rc is read by those that source this

tmp=$(mktemp -d /tmp/gda-shmem.XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0

ok() { # NAME COMMAND...: its output goes to $tmp/log; what it leaves in $tmp/out is shown as well
	local name=$1

	shift
	n=$((n + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $n $name"
	else
		sed 's/^/# /' "$tmp"/{log,out} 2>/dev/null
		echo "not ok $n $name"
		rc=1
	fi
}
