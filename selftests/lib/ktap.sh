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

# Does $GDA_STRESS ask for more?
stressed() { [ "$(stress 100)" -gt 100 ]; }

# ok NAME COMMAND...: its output is $tmp/log, which is shown if it fails; so is what it leaves in
# $tmp/out and $tmp/err. What it says is shown in any case.
ok() {
	local name=$1 status

	shift
	n=$((n + 1))
	"$@" >"$tmp/log" 2>&1
	status=$?
	[ ! -e "$tmp/ktap.said" ] || { sed 's/^/# /' "$tmp/ktap.said"; rm "$tmp/ktap.said"; }
	if [ $status = 0 ]; then
		echo "ok $n $name"
	else
		head -qn 100 "$tmp"/{log,out,err} 2>/dev/null | sed 's/^/# /'
		echo "not ok $n $name"
		rc=1
	fi
}

# skip NAME WHY
skip() {
	n=$((n + 1))
	echo "ok $n $1 # SKIP $2"
}

# ok_with TOOL NAME COMMAND...: skipped where TOOL is not installed
ok_with() {
	if command -v "$1" >/dev/null; then ok "${@:2}"; else skip "$2" "no $1 here"; fi
}

# say TEXT: a comment of a test
say() { echo "$*" >>"$tmp/ktap.said"; }

# none FINDING: is it empty?
none() { [ -z "$1" ] || { echo "$1"; return 1; }; }
