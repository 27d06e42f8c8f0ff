#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# steps.sh - each program of Documentation/tutorial prints what the text says
#
# The text includes examples/tutorial/NAME.c and NAME.txt as they are, so that comparing a
# program's output with NAME.txt compares it with the text. Where the output names the device
# there is a file for each, NAME.DEVICE.txt. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
source=examples/tutorial
out=build/examples/tutorial
text=Documentation/tutorial
device=inproc
[ ! -e /dev/gda ] || device=soft0
. selftests/lib/ktap.sh

as_shown() { # FILE STATUS
	echo "exit status $2"
	diff "$1" "$tmp/out" && [ "$2" = 0 ]
}

# step NAME COMMAND...: the command's output, line for line in alphabetical order if it
# comes from several processes
step() {
	local name=$1 want=$source/$1.txt status

	shift
	[ -e "$want" ] || want=${want%.txt}.$device.txt
	timeout 60 "$@" </dev/null >"$tmp/out" 2>&1
	status=$?
	if [ $status = 4 ]; then
		skip "$name" "$(head -n 1 "$tmp/out")"
		return
	fi
	[ "$1" != build/tools/gda-run ] || sort -o "$tmp/out" "$tmp/out"
	ok "$name" as_shown "$want" $status
}

# Files of programs that no page of the tutorial includes.
not_shown() {
	local f pages

	pages=$(cat $text/*.rst)$'\n'
	for f in "$source"/*; do
		[[ $pages = *".. literalinclude:: ../../$f"$'\n'* ]] ||
			echo "$f is in no page of $text"
	done
}

# In the guest gda0 is there for as long as the program runs; what the script around it says of that
# is not the program's.
with_gda0=()
if [ -e /dev/gda ]; then
	echo "# dmesg: gda_rdma: (loading out-of-tree module|module verification failed)"
	# shellcheck disable=SC2016	# of the inner shell
	with_gda0=(bash -c 'set -o pipefail; build/selftests/rdma/with-gda0.sh "$@" | grep -v "^# dmesg"' -)
fi

echo 1..13
step hello $out/hello
step put $out/put
step processes build/tools/gda-run -n 2 $out/processes
step signal $out/signal
step sleep $out/sleep
step errors $out/errors
step threads $out/threads
step fork $out/fork
step calls $out/calls
step shmem build/tools/gda-run -n 4 $out/shmem
step gpu $out/gpu
step verbs "${with_gda0[@]}" $out/verbs
ok text_includes_all none "$(not_shown)"
exit $rc
