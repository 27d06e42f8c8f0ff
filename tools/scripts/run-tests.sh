#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# run-tests.sh [option...] PROGRAM... - run test programs and add up
#
#   --timeout SEC   limit of one program, unless selftests/timeouts ("NAME SEC"
#                   a line) has another                     [240]
#   --dmesg         fail a program during which the kernel complained
#   --logs DIR      keep each program's output there        [build/log/tests]
#                   and in DIR/results a line for each: PROGRAM, PASSED, FAILED, SKIPPED,
#                   WHY it failed as a whole, separated by tabs. The last line is "total";
#                   it is missing if the run did not end
#   --share DIR     several guests are given the same programs, and each program runs once:
#                   the guest that creates the file DIR/PROGRAM runs it. Programs in tools/
#                   run in each guest
#   --again         run a program that failed once more, and take the second result. Its name
#                   and the first log (NAME.first.log) are kept in DIR/again and beside the
#                   second. A program that crashed, that a sanitizer or the kernel complained
#                   about, or that bailed out is never run again: that is a bug, however rare
#   --json          print a JSON array instead of the table
#
# All limits are multiplied by $GDA_SLOW, for a slow kernel or machine.
#
# A program prints KTAP: "1..N", then N lines "ok" or "not ok", with "# SKIP" at the end for a test
# that could not run. A program fails as a whole if it ends with an error although nothing was "not
# ok", prints fewer lines than it planned, runs too long, or changes panic_on_warn, which is then
# restored. "Bail out!" ends the whole run. A program that expects a complaint of the kernel prints
# "# dmesg: REGEX" (extended), and lines that match do not count.

set -uo pipefail

limit=240 dmesg='' logs=build/log/tests share='' again='' json=''
while [ $# -gt 0 ]; do
	case $1 in
	--timeout) limit=$2; shift ;;
	--dmesg) dmesg=1 ;;
	--logs) logs=$2; shift ;;
	--share) share=$2; shift ;;
	--again) again=1 ;;
	--json) json=1 ;;
	--) shift; break ;;
	-*) echo "run-tests.sh: unknown option $1" >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
mkdir -p "$logs"
results=$logs/results
: >"$results"
# Of programs that have one of their own. In a guest each read of a file that is shared asks the host,
# so files are read as a whole.
declare -A limits=()
if [ -r selftests/timeouts ]; then
	mapfile -t pairs <selftests/timeouts
	for pair in "${pairs[@]}"; do limits[${pair% *}]=${pair#* }; done
fi
rm -f "$logs/again"

# Lines that a healthy kernel never logs, and any line of our modules, which only log their own
# bugs.
complaint='WARNING:|BUG:|BUG |Oops|Call Trace|KASAN|KCSAN|UBSAN|refcount_t|'
complaint+='possible .*(deadlock|recursive)|circular locking|inconsistent lock|'
complaint+='general protection|unable to handle|blocked for more than|'
complaint+='soft lockup|detected stalls|memory leak|list_(add|del) corruption|'
complaint+='Bad page|DMAR: .*fault|arm-smmu-v3 .*: event 0x|^\[[^]]*\] (misc )?gda[a-z_]*( [^:]*)?: '

# Under a debug kernel each process takes half a second to start, so few are started between two
# programs.

# The kernel's log. Busybox, which guests have, starts in a fifth of the time.
kernel_log() { busybox dmesg 2>/dev/null || dmesg; }

# Complaints since marker $1, without those that match $2 and races in other code. Only the lines
# behind the marker are looked at, and by no program: in a guest both would cost more than the rest.
complaints() {
	local said i line

	[[ '' =~ $2 ]]
	[ $? != 2 ] || return 1
	mapfile -t said < <(kernel_log)
	for ((i = ${#said[@]} - 1; i >= 0; i--)); do
		[[ ${said[i]} != *"$1"* ]] || break
	done
	for line in "${said[@]:i + 1}"; do
		if [[ $line =~ $complaint && ! $line =~ $2 ]] &&
		   [[ $line != *'KCSAN: data-race in'* || $line == *gda* ]]; then
			printf '%s\n' "$line"
		fi
	done
}

# Parse the TAP in file $1: p passed, f failed, s skipped, the plan (-1: none), and the expected
# complaints of the kernel.
tally() {
	local line lines skip='# *SKIP' known='# *(TODO|XFAIL|SKIP)'

	p=0 f=0 s=0 plan=-1 expected=''
	mapfile -t lines <"$1"
	for line in "${lines[@]}"; do
		case $line in
		1..[0-9]*)
			line=${line#1..}
			plan=$((10#${line%%[!0-9]*}))
			s=$((s + (plan == 0)))
			;;
		'ok '*) [[ $line =~ $skip ]] && s=$((s + 1)) || p=$((p + 1)) ;;
		'not ok '*) [[ $line =~ $known ]] && s=$((s + 1)) || f=$((f + 1)) ;;
		'Bail out!'*) f=$((f + 1)) ;;
		'# dmesg: '*) expected+=${expected:+|}${line#\# dmesg: } ;;
		esac
	done
	expected=${expected:-^\$}
}

# Sets t, the time limit of $1 in seconds.
limit_of() {
	t=$((${limits[$1]:-$limit} * ${GDA_SLOW:-1}))
}

# Does another guest run this program? Only one guest can create the file (O_EXCL).
taken() {
	local rc

	case $1 in tools/*) return 1 ;; esac
	[ "$share" ] || return 1
	set -C
	{ : >"$share/${1//\//_}"; } 2>/dev/null
	rc=$?
	set +C
	[ $rc != 0 ]
}

# A sweep that is killed at its limit leaves the kernel lenient, which would affect all later
# programs.
panic_file=/proc/sys/kernel/panic_on_warn
panic=''
[ -z "$dmesg" ] || read -r panic 2>/dev/null <$panic_file

restored() {
	local now

	[ "$panic" ] && read -r now <$panic_file && [ "$now" != "$panic" ] &&
		echo "$panic" >$panic_file
}

# Indented, below the program's line.
tell() { sed 's/^/    /' >&"$out"; }

# Run program $1, which is called $name, with $log. Sets what became of it.
attempt() {
	local status ran

	[ -z "$dmesg" ] || echo "gda-test: begin $$ $name" >/dev/kmsg
	ms=${EPOCHREALTIME/./}
	timeout -k 5 "$t" "$1" </dev/null >"$log" 2>&1 &
	child=$!
	wait $child
	status=$?
	child=''
	ms=$(((${EPOCHREALTIME/./} - ms) / 1000))

	tally "$log"
	ran=$((p + f + s)) why=() noise='' crashed=''
	if [ $status = 124 ] || [ $status = 137 ]; then
		why+=("no end after $t s")
	elif [ "$plan" -lt 0 ]; then
		why+=("printed no plan, exit status $status")
	elif [ "$plan" -gt 0 ] && [ "$ran" -ne "$plan" ]; then
		why+=("planned $plan, ran $ran, exit status $status")
	elif [ $status != 0 ] && [ "$f" = 0 ] && ! { [ $status = 4 ] && [ "$s" -gt 0 ]; }; then
		why+=("exit status $status")
	fi
	[ $status -lt 128 ] || [ $status = 137 ] || crashed=1
	[ -z "$dmesg" ] || noise=$(complaints "gda-test: begin $$ $name" "$expected") ||
		why+=("its complaints could not be looked for")
	[ -z "$noise" ] || why+=("the kernel complained")
	! restored || why+=("left panic_on_warn changed")
	f=$((f + ${#why[@]}))
}

# Print why the program failed, indented, below its line. With $1 in place of "not ok", so that a
# search for "not ok" finds only what counts.
explain() {
	grep -E '^(not ok|Bail out)' "$log" | head -n 20 | sed "s/^not ok/${1:-not ok}/" | tell
	[ ${#why[@]} = 0 ] || printf '%s\n' "${why[@]}" | tell
	[ -z "$noise" ] || head -n 20 <<<"$noise" | tell
	grep -vE '^((not )?ok|Bail out|# +(RUN|OK|FAIL|PASSED|Totals))' "$log" |
		tail -n 15 | tell
	echo "(all it said: $log)" | tell
}

# Could a slow machine explain the failure of $1?
may_repeat() {
	[ "$again" ] && [ "$f" -gt 0 ] && [ -z "$noise$crashed" ] || return 1
	case $1 in tools/*) return 1 ;; esac
	! grep -qE '^Bail out!|Sanitizer|runtime error:|unexpectedly by signal' "$log"
}

run_one() {
	local prog=$1 name log t ms p f s plan expected why noise crashed reason

	name=${prog#"$PWD"/}; name=${name#build/}; name=${name#selftests/}
	log=$logs/${name//\//_}.log
	limit_of "$name"
	attempt "$prog"
	if may_repeat "$prog"; then
		[ "$json" ] || row "$name, first" "$p" "$f" "$s" "$ms"
		mv "$log" "${log%.log}.first.log"
		log=${log%.log}.first.log explain "failed once:"
		echo "$name" >>"$logs/again"
		attempt "$prog"
	fi
	reason=$(printf '; %s' "${why[@]}") reason=${reason:2}
	result "$name" "$p" "$f" "$s" "$reason"

	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$json" ]; then
		printf '%s{"program":"%s","passed":%d,"failed":%d,"skipped":%d,"seconds":%d.%03d,"why":"%s"}' \
			"$comma" "$name" "$p" "$f" "$s" $((ms / 1000)) $((ms % 1000)) "$reason"
		comma=$',\n '
	else
		row "$name" "$p" "$f" "$s" "$ms"
	fi
	[ "$f" -gt 0 ] || return 0
	explain
	! grep -q '^Bail out!' "$log"
}

result() { printf '%s\t%d\t%d\t%d\t%s\n' "$@" >>"$results"; }

row() {
	printf '%-44s %7d %7d %8d %7d.%d\n' "$1" "$2" "$3" "$4" $(($5 / 1000)) $(($5 % 1000 / 100))
}

# A signal that ends this script must also end the program, which `timeout` has put into its own
# process group.
child=''
stop() {
	trap - "$1"
	[ -z "$child" ] || { kill -TERM "$child"; wait "$child"; }
	kill -"$1" $$
}
trap 'stop INT' INT
trap 'stop TERM' TERM
trap 'stop HUP' HUP

passed=0 failed=0 skipped=0 comma=' ' out=1
all=${EPOCHREALTIME/./}
if [ "$json" ]; then
	out=2
	echo '['
else
	printf '%-44s %7s %7s %8s %9s\n' program passed failed skipped seconds
fi
for prog; do
	! taken "$prog" || continue
	run_one "$prog" || break
done
if [ "$json" ]; then
	printf '\n]\n'
else
	row total $passed $failed $skipped $(((${EPOCHREALTIME/./} - all) / 1000))
fi
result total $passed $failed $skipped ''
[ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ]
