#!/bin/bash
# SPDX-License-Identifier: MIT
#
# demo.sh [--json] - stream a file between two processes of two users, and prove
# that no system call was made while the data flowed
#
# As root, where the modules are loaded and /dev/gda belongs to group 7777.
#   GDA_KIMAGE   the file to send              GDA_BUILD   what was built [build]

build=${GDA_BUILD:-build}/examples
file=${GDA_KIMAGE:?the file to send}
sender=7001 receiver=7002 group=7777
json='' rc=0
[ "${1-}" = --json ] && json=--json
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

[ "$(id -u)" = 0 ] || { echo "demo.sh: must be root, to become two users" >&2; exit 1; }

# The memory of a transfer is pinned and charged to the user: the default limit of
# 8 MiB is less than a kernel image.
size=$(stat -Lc %s "$file") || exit 1
memlock=$((size + (1 << 20)))

# as UID COMMAND...: without any capability, in group gda
as() {
	local uid=$1

	shift
	prlimit --memlock=$memlock setpriv --reuid "$uid" --regid "$uid" --groups $group \
		--no-new-privs "$@"
}

if ! as $sender test -r "$file"; then
	install -m 444 "$file" "$tmp/file" && chmod 755 "$tmp" && file=$tmp/file
fi

# transfer NAME [SENDER-OPTION [RECEIVER-OPTION]]: one run; the two exit statuses
# are $sent and $received
transfer() {
	local name=$1

	as $receiver "$build/gda-recv" --socket "@gda-$name" --deadline 60 $json ${3:+"$3"} \
		>"$tmp/$name.recv" 2>"$tmp/$name.recv.err" &
	as $sender "$build/gda-send" --socket "@gda-$name" --deadline 60 $json ${2:+"$2"} "$file" \
		>"$tmp/$name.send" 2>"$tmp/$name.send.err"
	sent=$?
	wait $!
	received=$?
}

said() { tail -n 1 "$tmp/$1.err" | sed 's/^gda-[a-z]*: //'; }
value() { awk -v n="$2" '$1 == n { sub("^[^ ]* *", ""); print }' "$tmp/$1"; }
row() { printf '  %-20s %-34s %s\n' "$@"; }
both() { row "$1" "$(value main.send "$2")" "$(value main.recv "$2")"; }

# control SIDE: the run in which that side makes one system call must kill it
control() {
	local other status

	if [ "$1" = send ]; then
		transfer "$1" --syscall; other=recv status=$sent
	else
		transfer "$1" '' --syscall; other=send status=$received
	fi
	ok=ok
	if [ $status != 3 ] || [ $sent = 0 ] || [ $received = 0 ]; then ok=FAILED rc=1; fi
	row "gda-$1" "$(said "$1.$1")" "$ok"
	row "  gda-$other then" "$(said "$1.$other")" ""
}

transfer main
if [ "$json" ]; then
	ok=$([ $sent = 0 ] && [ $received = 0 ] && echo true || echo false)
	echo "{\"ok\": $ok, \"sender\": $(<"$tmp/main.send"), \"receiver\": $(<"$tmp/main.recv")}"
	[ "$ok" = true ]
	exit
fi

echo
echo "GDA: a file from one process to another, posted by stores to mapped memory"
echo
if [ $sent = 0 ] && [ $received = 0 ]; then
	row "" sender receiver
	both user user
	row file "$(basename "$(value main.send file)")" ""
	both "bytes moved" bytes
	both signals signals
	both "time, ms" ms
	row "rate, MB/s" "$(value main.send rate)" ""
	both "in /proc/PID/status" filter
	row sha256 "$(value main.send sha256 | cut -c 1-32)" "$(value main.recv sha256 | cut -c 1-32)"
	both verdict verdict
	echo
	echo "No system call while data flowed: both processes were under a filter that kills on"
	echo "any call, from before the first post until the last signal was seen, with"
	echo "$(value main.recv bytes) bytes moved under it."
else
	rc=1
	echo "  FAILED: sender: status $sent, $(said main.send)"
	echo "          receiver: status $received, $(said main.recv)"
fi
echo
echo "Negative control: one getpid() inside the window must be killed"
control send
control recv
echo
echo "Memory limit (RLIMIT_MEMLOCK) of each process: $memlock bytes, set by prlimit."
if [ $rc = 0 ]; then echo "demo: PASSED"; else echo "demo: FAILED"; fi
exit $rc
