#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# runner.sh - run-tests.sh is as bad as the programs that it runs; and in the guest, where
# that costs ten times as long, only: as the kernel's log. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
export GDA_SLOW=1

# program NAME: a script is stdin
program() {
	{ echo '#!/bin/sh'; cat; } >"$tmp/$1"
	chmod +x "$tmp/$1"
}

# is NAME STATUS RESULT OPTION... PROGRAM...: its exit status, and all results in a line:
# passed, failed, skipped and why, of each program and in total
is() {
	local name=$1 want=$2 result=$3 status got arg args=() why=''

	shift 3
	for arg; do
		[ ! -f "$tmp/$arg" ] || arg=$tmp/$arg
		args+=("$arg")
	done
	tools/scripts/run-tests.sh --logs "$tmp/logs" "${args[@]}" >"$tmp/out" 2>&1
	status=$?
	got=$(cut -f 2- "$tmp/logs/results" | tr '\t\n' ' |')
	case $name in
	*"it failed once") [ "$(wc -l <"$tmp/logs/again")" = 1 ] || why="not run again"
		! grep -q 'not ok' "$tmp/out" || why+=" a first failure is shown as what counts" ;;
	*"it fails always") [ "$(wc -l <"$tmp/logs/again")" = 1 ] || why="not run again" ;;
	*) [ ! -e "$tmp/logs/again" ] || why="run again" ;;
	esac
	[ $status = "$want" ] || why+=" exit status $status"
	[ "$got" = "$result" ] || why+=" results: $got"
	ok "$name" none "$why"
}

program good <<<'echo 1..2; echo ok 1 a; echo ok 2 b'
program mixed <<<'echo 1..4; echo ok 1; echo "ok 2 # SKIP x"; echo "not ok 3 # TODO"; echo not ok 4; exit 1'
program skips <<<'echo "1..0 # SKIP nothing here"; exit 4'
program octal <<<'echo 1..08; seq -f "ok %g" 8'
program few <<<'echo 1..3; echo ok 1; echo ok 2'
program silent <<<'exit 0'
program status <<<'echo 1..1; echo ok 1; exit 3'
program unended <<<'echo 1..1; printf "ok 1"'
program hangs <<<'exec sleep 60'
program bails <<<'echo 1..2; echo "Bail out! no device"; exit 1'
program once <<<"echo 1..2; echo ok 1; [ -e '$tmp/been' ] && echo ok 2 && exit; touch '$tmp/been'
	echo not ok 2; exit 1"
program overflows <<<'echo 1..1; echo "==1==ERROR: AddressSanitizer: heap"; echo not ok 1; exit 1'
program crashes <<<'echo 1..1; kill -SEGV $$'
program complains <<<'echo 1..1; echo "runner: WARNING: 1" >/dev/kmsg; echo ok 1'
program announces <<<'echo 1..1; echo "# dmesg: x.y"; echo "# dmesg: r[u]nner: WARN"
	echo "runner: WARNING: 2" >/dev/kmsg; echo ok 1'
program other <<<'echo 1..1; echo "# dmesg: runner: BUG"; echo "runner: WARNING: 3" >/dev/kmsg; echo ok 1'
program badly <<<'echo 1..1; echo "# dmesg: runner ("; echo "runner: WARNING: 4" >/dev/kmsg; echo ok 1'
program races <<<'echo 1..1; echo "runner: BUG: KCSAN: data-race in a / b" >/dev/kmsg; echo ok 1'
program ours <<<'echo 1..1; echo "runner: BUG: KCSAN: data-race in gda_a / b" >/dev/kmsg; echo ok 1'

# A signal that ends the run ends the program, and no process is left.
ended() {
	local what=$1 want=$2 name="ended by SIG$1" why='' status child

	rm -f "$tmp/pid"
	set -m
	tools/scripts/run-tests.sh --logs "$tmp/logs" "$tmp/tells" >"$tmp/out" 2>&1 &
	set +m
	for ((i = 0; i < 200; i++)); do
		[ ! -s "$tmp/pid" ] || break
		sleep 0.1
	done
	child=$(cat "$tmp/pid")
	kill -"$what" $!
	wait $!
	status=$?
	[ $status = "$want" ] || why="exit status $status"
	[ "$child" ] || why+=" it did not begin"
	! kill -0 "$child" 2>/dev/null || why+=" it goes on"
	ok "$name" none "$why"
}

program tells <<<"echo \$\$ >'$tmp/pid'; exec sleep 60"

native() {
	echo 1..20
	is "what is good" 0 '2 0 0 |2 0 0 |' good
	is "passed, skipped, known and failed" 1 '1 1 2 |1 1 2 |' mixed
	is "nothing but skipped" 0 '0 0 1 |0 0 1 |' skips
	is "nothing at all" 1 '0 0 0 |'
	is "a plan with a zero before it" 0 '8 0 0 |8 0 0 |' octal
	is "fewer than planned" 1 '2 1 0 planned 3, ran 2, exit status 0|2 1 0 |' few
	is "no plan" 1 '0 1 0 printed no plan, exit status 0|0 1 0 |' silent
	is "a status that nothing explains" 1 '1 1 0 exit status 3|1 1 0 |' status
	is "a last line without its end" 0 '1 0 0 |1 0 0 |' unended
	is "no end" 1 '0 1 0 no end after 1 s|0 1 0 |' --timeout 1 hangs
	is "a bail out ends all" 1 '0 2 0 planned 2, ran 1, exit status 1|0 2 0 |' bails good
	mkdir "$tmp/share"
	is "shared: who comes first" 0 '2 0 0 |2 0 0 |' --share "$tmp/share" good
	is "shared: and second" 0 '0 0 1 |0 0 1 |' --share "$tmp/share" good skips
	is "again: nothing that is good" 0 '2 0 0 |2 0 0 |' --again good
	is "again: it failed once" 0 '2 0 0 |2 0 0 |' --again once
	is "again: it fails always" 1 '1 1 2 |1 1 2 |' --again mixed
	is "again: never what a sanitizer found" 1 '0 1 0 |0 1 0 |' --again overflows
	is "again: nor what crashed" 1 '0 1 0 planned 1, ran 0, exit status 139|0 1 0 |' --again crashes
	ended INT 130
	ended TERM 143
}

guest() {
	echo 1..5
	# It is the log of the run that this is a part of, too.
	echo "# dmesg: runner: (WARNING: [1-4]|BUG: KCSAN: data-race in)"
	is "what is good" 0 '2 0 0 |2 0 0 |' --dmesg good
	is "complaints, of the program's time only" 1 \
		'1 1 0 the kernel complained|2 0 0 |1 0 0 |4 1 0 |' --dmesg complains good announces
	is "a complaint that is not the one announced" 1 '1 1 0 the kernel complained|1 1 0 |' \
		--dmesg other
	is "announced by what is no expression" 1 \
		'1 1 0 its complaints could not be looked for|1 1 0 |' --dmesg badly
	is "races of others, and ours" 1 '1 0 0 |1 1 0 the kernel complained|2 1 0 |' \
		--dmesg races ours
}

read -r host </proc/sys/kernel/hostname
if [ "$host" = gda-vm ]; then guest; else native; fi
exit $rc
