#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# soak.sh [-k KVER]... [PROGRAM...] - run tests that repeat things for long
#
# First, programs whose long form needs no guest run here (SOAK_NATIVE of make; $STRESS multiplies
# the number of random programs). Then PROGRAMs (paths or last parts of paths; by default those
# below) run in a guest on each KVER with $GDA_STRESS = $STRESS [10] and time limits multiplied by
# it. Programs of a pair of guests come last. Like check.sh this ends with a verdict and "N passed,
# N failed, N skipped".
#
#   GDA_SEED=N   seed of random numbers   [the clock]

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
scripts=tools/scripts
stress=${STRESS:-10}
start=$SECONDS
kvers=() p=0 f=0 s=0

while getopts k: o; do
	case $o in
	k) kvers+=("$OPTARG") ;;
	*) sed -n '4,/^$/s/^# \?//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ ${#kvers[@]} -gt 0 ] || kvers=(6.12 6.1)
names=("$@")
[ ${#names[@]} -gt 0 ] ||
	names=(revoke peer_memory shmem/every ib_imm netlink_fabric queue kernel/killed
	       data_integrity idle idle_zero mmap_life removal teardown keys peer basic completion
	       wqe ring churn signals module fair library ib_removal kill data record netlink_load
	       netlink_hostile netlink_wqe signal rxe.sh ib.sh ib_connect isolation fastpath-all
	       efa_fetch random histories copies fabric soak-cm programs-all shmem/programs shmem/lost
	       killed.sh soft0/kernel/{blocked,cgroup,fault,freeze,memory,netlink,netlink_events}
	       soft0/kernel/{range,suspend,threads,waiters} engine/efa)

# Whole, and rounded up.
slow=$(awk -v s="$stress" 'BEGIN { n = int(s); print n < s ? n + 1 : n }')
[ "$slow" -gt 0 ] 2>/dev/null || { echo "soak.sh: STRESS is $stress" >&2; exit 2; }

chosen() {
	local t n

	for t; do
		case $t in */kernel32/*) continue ;; esac
		for n in "${names[@]}"; do
			case $t in "$n"|*/"$n") echo "$t" ;; esac
		done
	done
}

# The time limit of all programs together.
limit() {
	local t n sum=300

	for t; do
		n=${t#build/} n=${n#selftests/}
		n=$(awk -v n="$n" '$1 == n { print $2 }' selftests/timeouts)
		sum=$((sum + ${n:-240} * slow))
	done
	echo $sum
}

add() {
	p=$((p + $1)) f=$((f + $2)) s=$((s + $3))
}

native() {
	local log=build/log/soak-native sum

	printf '\n== long forms, here\n'
	rm -f "$log"/{*.log,results}
	STRESS=$stress GDA_STRESS=$stress GDA_SLOW=$slow $scripts/run-tests.sh --timeout 3600 \
		--logs "$log" "$@"
	read -ra sum < <($scripts/sum.sh "$log")
	add "${sum[@]}"
}

guest() {
	local k=$1 rel log=build/log/soak-$1 sum

	printf '\n== %s times as long, in a guest on %s\n' "$stress" "$k"
	$scripts/step.sh "modules for $k" $scripts/modules.sh "$k" || { add 0 1 0; return; }
	rel=$(tools/vm/gda-kernel release "$k")
	rm -f "$log"/{*.log,results,console,dmesg}
	tools/vm/gda-vm -v -e -k "$rel" -t "$(limit "${tests[@]}")" -o "$log" -- \
		env STRESS="$stress" GDA_STRESS="$stress" GDA_SLOW="$slow" ${GDA_SEED:+GDA_SEED="$GDA_SEED"} \
		$scripts/run-tests.sh --dmesg --logs "$log" \
		tools/vm/load.sh "${tests[@]}" tools/vm/unload.sh
	# The guest crashed or was ended, so its run is incomplete.
	[ $? != 125 ] || sed -i '/^total\t/d' "$log/results" 2>/dev/null
	read -ra sum < <($scripts/sum.sh "$log")
	add "${sum[@]}"
}

pair() {
	local kver=("${kvers[0]}" "${kvers[-1]}") k side log=build/log/soak-pair sum

	printf '\n== %s times as long, in a pair of guests on %s\n' "$stress" "${kver[*]}"
	for k in "${kver[@]}"; do
		$scripts/step.sh "modules for $k" $scripts/modules.sh "$k" || { add 0 1 0; return; }
	done
	rm -rf "${log:?}"/[01]
	tools/vm/gda-pair -v -k "${kver[0]},${kver[1]}" -t "$(limit "${both[@]}")" -o "$log" -- \
		env GDA_STRESS="$stress" GDA_SLOW="$slow" tools/vm/pair-tests.sh "$log" "${both[@]}"
	[ $? != 125 ] || sed -i '/^total\t/d' "$log"/[01]/results 2>/dev/null
	for side in 0 1; do
		read -ra sum < <($scripts/sum.sh "$log/$side")
		add "${sum[@]}"
	done
}

mkdir -p build/log
$scripts/deps.sh check || exit 1
read -ra tests < <(make --no-print-directory -s list-vm)
mapfile -t tests < <(chosen "${tests[@]}")
read -ra here < <(make --no-print-directory -s list-soak)
mapfile -t here < <(chosen "${here[@]}")
read -ra both < <(make --no-print-directory -s list-pair)
mapfile -t both < <(chosen "${both[@]}")
[ $((${#tests[@]} + ${#here[@]} + ${#both[@]})) -gt 0 ] || { echo "no such program"; exit 2; }
$scripts/step.sh "library and tests" make --no-print-directory -s -k -j "$(nproc)" lib examples \
	"${tests[@]}" "${here[@]}" "${both[@]}" || exit 1
[ ${#here[@]} = 0 ] || native "${here[@]}"
for k in "${kvers[@]}"; do
	[ ${#tests[@]} = 0 ] || guest "$k"
done
[ ${#both[@]} = 0 ] || pair
[ $f = 0 ] && [ $p -gt 0 ] && verdict=PASSED || verdict=FAILED
printf '\n%s in %d s\n' "$verdict" $((SECONDS - start))
printf '%d passed, %d failed, %d skipped\n' $p $f $s
[ "$verdict" = PASSED ]
