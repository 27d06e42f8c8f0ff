#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# check.sh native|KVER|pair... - build what is needed, run the tests, print the verdict
# check.sh --list native|KVER|pair... - print which programs run: PLACE PROGRAM
#
# A KVER with -arm64 (6.12-arm64, 6.12-arm64-16k) is a guest of that processor, for which everything
# is cross-built.
#
# Its last line is "N passed, N failed, N skipped". A step that fails counts as a failed
# test, and the other places are still tried. Places (native, the guest of each KVER, the
# pair of guests that a network connects) run side by side: guests, which take longest, begin
# when their programs are there, and the native ones are built beside them. The output of each
# goes to build/log/PLACE/output and is shown as a whole, in the order of the arguments; until
# then a line tells how many programs have ended.
#
#   GDA_JOBS=N         places at a time; 1: each is shown as it runs [processors + 1: a
#                      guest keeps less than one processor busy]
#   GDA_PAIR_KVERS=A,B kernels of the pair                           [6.12,6.1]
#   GDA_GUEST_LIMIT=S  the most seconds that a guest may take        [2400, 3600 beside others]
#   GDA_SLOW=N         a factor for the limits of programs           [1, 2 beside others]
#   GDA_BOTH=1         programs of guests in each guest, whatever selftests/kvers says; `make
#                      check-both` does
#   GDA_AGAIN=1        run a failed program once more, unless it crashed or was complained
#                      about (run-tests.sh --again), and print the names of such programs at
#                      the end; CI does, as its machine may stop any process for seconds  [0]
#   PROGRAMS=NAME...   only programs of these names or last parts of names; their logs go to
#                      build/log/part/PLACE, so that the results of the last run of all
#                      programs stay for `make attacks`
#
# If selftests/kvers names a kernel for a program, and that kernel is one of the places, the program
# runs only in the guest of that kernel; with "-" it runs in no guest.
#
# Logs that an earlier run of the same places left in that folder are removed first.
#
# shellcheck disable=SC2317	# functions are called by trap

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
start=$SECONDS
only_list=''
[ "${1-}" != --list ] || { only_list=1; shift; }
places=("$@")
p=0 f=0 s=0
jobs=${GDA_JOBS:-$(($(nproc) + 1))}
[ "$jobs" -gt 0 ] 2>/dev/null || { echo "check.sh: GDA_JOBS is $jobs" >&2; exit 2; }
[ "$jobs" -lt $# ] || jobs=$#
beside=$((jobs > 1))
again=()
[ "${GDA_AGAIN:-0}" = 0 ] || again=(--again)
export GDA_SLOW=${GDA_SLOW:-$((1 + beside))}
limit=${GDA_GUEST_LIMIT:-$((2400 + beside * 1200))}

submake() { make --no-print-directory -s "$@"; }
step() { $scripts/step.sh "$@"; }
title() { printf '\n== %s\n' "$*"; }

log_of() {
	local logs=build/log${PROGRAMS:+/part}

	case $1 in
	native|pair) echo "$logs/$1" ;;
	*) echo "$logs/vm-$1" ;;
	esac
}

# The programs that failed once and were run again.
name_repeated() {
	local what names=()

	for what in "${places[@]}"; do
		[ ! -s "$(log_of "$what")/again" ] ||
			mapfile -t -O ${#names[@]} names < <(sed "s/^/$what:/" "$(log_of "$what")/again")
	done
	[ ${#names[@]} = 0 ] || printf '\nfailed, and were run again: %s\n' "${names[*]}"
}

# The programs that failed, of all places.
name_failed() {
	local what names=()

	for what in "${places[@]}"; do
		mapfile -t -O ${#names[@]} names < <(cat "$(log_of "$what")"/{,0/,1/,bounce/}results 2>/dev/null |
			awk -F '\t' -v place="$what" '$1 != "total" && $3 > 0 { print place ":" $1 }')
	done
	[ ${#names[@]} = 0 ] || printf '\nfailed: %s\n' "${names[*]}"
}

end() {
	name_repeated
	name_failed
	measure
	[ $f = 0 ] && [ $p -gt 0 ] && verdict=PASSED || verdict=FAILED
	printf '\n%s in %d s, %d s of processors\n' "$verdict" $((SECONDS - start)) "$used"
	printf '%d passed, %d failed, %d skipped\n' $p $f $s
	[ "$verdict" = PASSED ]
	exit
}

# Sets used: processor seconds of all processes that were waited for. In the second line of `times`
# they are written as "1m2.3s 0m4.5s"; a subshell does not count those of its parent.
measure() {
	times >build/log/times
	used=$(awk 'NR == 2 { gsub(/[ms]/, " "); printf "%d", ($1 + $3) * 60 + $2 + $4 }' build/log/times)
}

add() {
	p=$((p + $1)) f=$((f + $2)) s=$((s + $3))
}

# Adds up the programs whose logs are in $1.
count() {
	local sum

	read -ra sum < <($scripts/sum.sh "$1")
	add "${sum[@]}"
}

failed() { add 0 1 0; }

# Arguments for make, if place $1 has another processor.
cross_of() {
	case $1 in *-arm64*) echo CROSS=arm64 ;; esac
}

# Sets others: patterns of programs that run in no guest, or only in that of another kernel that is
# one of the places; and always: patterns of programs that run in every guest.
list_others() {
	local pattern kver

	others=() always=()
	[ -z "${GDA_BOTH-}" ] || return 0
	while read -r pattern kver; do
		case $kver:" ${places[*]} " in
		both:*) always+=("$pattern") ;;
		"$1":*) ;;
		-:*|*" $kver "*) others+=("$pattern") ;;
		esac
	done < <(grep -v '^#' selftests/kvers)
}

# fits NAME PATTERN...: does the name match a pattern?
fits() {
	local name=$1 pattern

	shift
	for pattern; do
		# shellcheck disable=SC2254	# it is a pattern
		case $name in $pattern) return 0 ;; esac
	done
	return 1
}

# Is $1 one of the others?
elsewhere() {
	local name=${1#build/}

	name=${name#selftests/}
	fits "$name" "${others[@]}" && ! fits "$name" "${always[@]}"
}

# Sets tests: the programs of place $1; with $PROGRAMS, only those that it names.
list() {
	local t n all kind=vm others=() always=()

	case $1 in
	native|pair) kind=$1 ;;
	*-arm64*) ;;
	*) list_others "$1" ;;
	esac
	# shellcheck disable=SC2046	# none or one
	read -ra all < <(submake $(cross_of "$1") "list-$kind")
	tests=()
	for t in "${all[@]}"; do
		[ "${PROGRAMS-}" ] || elsewhere "$t" || tests+=("$t")
		for n in ${PROGRAMS-}; do
			case $t in "$n"|*/"$n") tests+=("$t") ;; esac
		done
	done
}

native() {
	local log

	title "native tests"
	log=$(log_of native)
	list native
	[ ${#tests[@]} = 0 ] && { echo none; return; }
	# Use the same settings as the guests beside it.
	[ -z "$later" ] || nice -n 5 $scripts/step.sh "native tests" "${make[@]}" "${tests[@]}" ||
		{ failed; return; }
	$scripts/run-tests.sh "${again[@]}" --logs "$log" "${tests[@]}" || true
	count "$log"
}

guest() {
	local k=$1 rel log

	title "tests in a guest on $k"
	log=$(log_of "$k")
	list "$k"
	[ ${#tests[@]} = 0 ] && { echo none; return; }
	step "modules for $k" $scripts/modules.sh "$k" || { failed; return; }
	rel=$(tools/vm/gda-kernel release "$k")
	# As they are called there (gda-vm).
	tests=("${tests[@]/#build\/arm64\//build/}")
	# Native programs mostly wait for each other, and each wait may be delayed by a busy guest.
	nice -n $((beside * 5)) tools/vm/gda-vm -v -e -k "$rel" -t "$limit" -o "$log" -- \
		env GDA_SLOW="$GDA_SLOW" \
		$scripts/run-tests.sh "${again[@]}" --dmesg --logs "$log" \
		tools/vm/load.sh "${tests[@]}" tools/vm/unload.sh
	# The guest crashed or was ended, so its run is incomplete.
	[ $? != 125 ] || sed -i '/^total\t/d' "$log/results" 2>/dev/null
	count "$log"
	# Run once more in a guest whose devices get bounce buffers, because they have no IOMMU. At
	# its end this guest is set to refuse modules without a signature.
	case " ${PROGRAMS-bounce} " in *bounce\ *) ;; *) return ;; esac
	title "bounce buffers and unsigned modules, in a guest on $k"
	tools/vm/gda-vm -v -e -k "$rel" -t 240 -a swiotlb=force -- \
		$scripts/run-tests.sh "${again[@]}" --dmesg --logs "$log/bounce" \
		tools/vm/load.sh build/selftests/kernel/bounce tools/vm/unload.sh \
		selftests/tools/unsigned.sh
	[ $? != 125 ] || sed -i '/^total\t/d' "$log/bounce/results" 2>/dev/null
	count "$log/bounce"
}

# The results of both sides count.
pair() {
	local kvers=${GDA_PAIR_KVERS:-6.12,6.1} log k

	title "tests in a pair of guests, $kvers"
	log=$(log_of pair)
	list pair
	[ ${#tests[@]} = 0 ] && { echo none; return; }
	for k in ${kvers/,/ }; do
		step "modules of the pair, $k" $scripts/modules.sh "$k" || { failed; return; }
	done
	both_sides "$kvers" "$log"
	if [ ${#again[@]} != 0 ] && pair_may_repeat "$log"; then
		echo "pair: failed, and is run again"
		rm -rf "$log/first"
		mkdir "$log/first" && mv "$log"/[01] "$log/first/"
		echo all >"$log/again"
		both_sides "$kvers" "$log"
	fi
	count "$log/0"
	count "$log/1"
}

# Run the programs $tests on kernels $1, with logs in $2.
both_sides() {
	tools/vm/gda-pair -v -k "$1" -t $((450 * GDA_SLOW)) -o "$2" -- \
		env GDA_SLOW="$GDA_SLOW" tools/vm/pair-tests.sh "$2" "${tests[@]}"
	[ $? != 125 ] || sed -i '/^total\t/d' "$2"/[01]/results 2>/dev/null
}

# Could a slow machine explain the failure of the pair with logs in $1? One side alone cannot rerun
# a program, because the other side has gone on.
pair_may_repeat() {
	local side

	for side in "$1"/[01]; do
		grep -q '^total' "$side/results" || return 1
		! grep -q 'the kernel complained' "$side/results" || return 1
		! grep -qE '^Bail out!|Sanitizer|runtime error:|unexpectedly by signal' "$side"/*.log ||
			return 1
	done
	awk -F '\t' '$1 != "total" && $3 > 0 { n++ } END { exit !n }' "$1"/[01]/results
}

# Run all of place $1. Called in a subshell; the sum is left in a file.
place() {
	p=0 f=0 s=0
	case $1 in
	native) native ;;
	pair) pair ;;
	*) guest "$1" ;;
	esac
	echo $p $f $s >"$(log_of "$1")/sum"
}

# Add the sum of place $1: a place without a sum did not finish.
collect() {
	local sum

	if read -ra sum 2>/dev/null <"$(log_of "$1")/sum"; then
		add "${sum[@]}"
	else
		echo "$1 did not come to its end"
		failed
	fi
}

# --- side by side ---

declare -A pid=()	# of places that run

# Each place is a process group of its own, so that all its processes can be ended.
begin() {
	set -m
	place "$1" </dev/null >"$(log_of "$1")/output" 2>&1 &
	pid[$1]=$!
	set +m
}

# End place $1 with status $2 after all places have ended.
stop() {
	local what

	trap '' INT TERM HUP
	for what in "${!pid[@]}"; do
		kill -TERM -- "-${pid[$what]}"
	done
	wait
	exit "$1"
}

# "12 s: native 3, 6.12 5 programs"
progress() {
	local what text='' n

	for what in "${!pid[@]}"; do
		n=$(cat "$(log_of "$what")"/{,0/}results 2>/dev/null | wc -l)
		text+="${text:+, }$what ${n:-0}"
	done
	printf '%d s: %s programs done' $((SECONDS - start)) "$text"
}

# On a terminal a line that is updated, elsewhere one line a minute.
tell() {
	if [ -t 1 ]; then
		printf '\r%s\033[K' "$(progress)"
	elif [ $((++ticks % 60)) = 0 ]; then
		progress
		echo
	fi
}

side_by_side() {
	local todo=("$@") shown=0 ticks=0 what

	trap 'stop 130' INT
	trap 'stop 143' TERM
	trap 'stop 129' HUP
	while [ $shown -lt $# ]; do
		while [ ${#todo[@]} -gt 0 ] && [ ${#pid[@]} -lt "$jobs" ]; do
			begin "${todo[0]}"
			todo=("${todo[@]:1}")
		done
		sleep 1
		tell
		for what in "${!pid[@]}"; do
			kill -0 "${pid[$what]}" 2>/dev/null || unset "pid[$what]"
		done
		show "$@"
	done
}

# Show the output of places in order, up to the first that has not ended.
show() {
	local what

	for what in "${@:$((shown + 1))}"; do
		[ -z "${pid[$what]-}" ] && [ -e "$(log_of "$what")/output" ] || return 0
		[ ! -t 1 ] || printf '\r\033[K'
		cat "$(log_of "$what")/output"
		collect "$what"
		shown=$((shown + 1))
	done
}

# Build what the places $own need; sets later if the native programs are built beside guests.
build_own() {
	local targets=(tests)

	$scripts/deps.sh check || return
	if [ "${PROGRAMS-}" ]; then
		targets=()
		for what in native vm pair; do
			list $what
			targets+=("${tests[@]}")
		done
	elif [ "$jobs" -gt 1 ] && [[ " ${own[*]} " = *" native "* ]]; then
		targets=(tests-guests) later=1
	fi
	step "library and tests" "${make[@]}" lib examples tools "${targets[@]}"
}

# Build what the guests of another processor need; $1 is one of them.
build_cross() {
	local targets=(tests-vm)

	$scripts/deps.sh arm64 || return
	if [ "${PROGRAMS-}" ]; then
		list "$1"
		targets=("${tests[@]}")
	fi
	step "library and tests for arm64" "${make[@]}" CROSS=arm64 lib examples tools "${targets[@]}"
}

if [ "$only_list" ]; then
	for what; do
		list "$what"
		[ ${#tests[@]} = 0 ] || printf "$what %s\n" "${tests[@]}"
	done
	exit
fi
own=() cross=() later=''
for what; do
	case $what in
	*-arm64*) cross+=("$what") ;;
	*) own+=("$what") ;;
	esac
	log=$(log_of "$what")
	mkdir -p "$log"
	rm -rf "$log"/{*.log,results,again,console,dmesg,bounce,output,sum,0,1,first}
done
make=(make --no-print-directory -s -k -j "$(nproc)")
if ! { [ ${#own[@]} = 0 ] || build_own; } || ! { [ ${#cross[@]} = 0 ] || build_cross "${cross[0]}"; }; then
	failed
	end
fi
if [ "$jobs" -gt 1 ]; then
	side_by_side "$@"
else
	trap 'exit 130' INT
	for what; do
		(place "$what")
		collect "$what"
	done
fi
end
