# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ktap.sh - to be sourced by test scripts: results as KTAP, and $tmp, a folder
#
# shellcheck shell=bash disable=SC2034	# rc is read by those that source this

tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0

# stress N: N times $GDA_STRESS, which may be a fraction, at least 1
stress() {
	awk -v n="$1" -v by="${GDA_STRESS:-1}" 'BEGIN { n = int(n * by); print n < 1 ? 1 : n }'
}

# ok NAME COMMAND...: its output is $tmp/log, which is shown if it fails; so is what it leaves in
# $tmp/out and $tmp/err
ok() {
	local name=$1

	shift
	n=$((n + 1))
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $n $name"
	else
		head -qn 100 "$tmp"/{log,out,err} 2>/dev/null | sed 's/^/# /'
		echo "not ok $n $name"
		rc=1
	fi
}
