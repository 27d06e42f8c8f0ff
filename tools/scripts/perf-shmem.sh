#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf-shmem.sh - OpenSHMEM calls between two PEs, beside Debian's Open MPI
#
# One program (selftests/shmem/perf.c), compiled by Open MPI's oshcc and by ours, runs in
# turns, 7 times each; of each number the median is printed, how many times the other's ours
# is, and the goal. Open MPI has UCX's shared memory, and binds each PE to a processor; so this
# does it for ours. Exit status 1: a goal is missed.
#
# shellcheck disable=SC2317	# functions are called by name

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
runs=7
tmp=$(mktemp -d /tmp/gda-perf-shmem.XXXXXX)
trap 'rm -rf "$tmp"' EXIT

/usr/bin/oshcc -O2 -Wno-deprecated-declarations -o "$tmp/theirs" selftests/shmem/perf.c
build/shmem/bin/oshcc -O2 -o "$tmp/ours" selftests/shmem/perf.c

theirs() {
	# 4.1.4 may crash in shmem_finalize(), when all has been printed
	UCX_LOG_LEVEL=error timeout 300 /usr/bin/oshrun --allow-run-as-root --oversubscribe \
		--bind-to core -n 2 "$tmp/theirs" 2>/dev/null || true
}
# The first two processors of "0-3,8", which this may use.
read -r first second _ < <(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status |
	tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) printf "%d ", i } END { print "" }')
[ "$second" ] || { echo "perf-shmem.sh: it takes two processors" >&2; exit 2; }
export first second
ours() {
	# shellcheck disable=SC2016	# each PE expands it
	timeout 300 build/shmem/bin/oshrun -b -n 2 sh -c \
		'[ "$GDA_COMM_RANK" = 0 ] || first=$second; exec taskset -c "$first" "$0"' "$tmp/ours"
}

# Each is first in every second turn, so that what changes on the machine meets both alike.
for ((i = 0; i < runs; i++)); do
	order=(theirs ours)
	[ $((i % 2)) = 0 ] || order=(ours theirs)
	for who in "${order[@]}"; do $who >>"$tmp/$who.log"; done
done

median() { # WHO NAME
	sed -n "s/^$2 //p" "$tmp/$1.log" | sort -n | sed -n "$(((runs + 1) / 2))p"
}

missed=0
row() { # NAME GOAL: ours has to be so many times as fast
	local a b

	a=$(median theirs "$1") b=$(median ours "$1")
	awk -v name="$1" -v a="$a" -v b="$b" -v goal="$2" 'BEGIN {
		times = name ~ /_ns$/ ? a / b : b / a
		met = times >= goal
		printf "%-16s %12.1f %12.1f %9.2f %6.1f  %s\n", name, a, b, times, goal, met ? "met" : "missed"
		exit !met
	}' || missed=1
}

echo "load: $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-16s %12s %12s %9s %6s\n' "median of $runs" "Open MPI" GDA times goal
row put_8_ns 5
row get_8_ns 5
row fetch_add_8_ns 5
row barrier_ns 2
row sum_8_ns 2
row put_64k_MBs 1
row get_64k_MBs 1
row put_4m_MBs 1
row get_4m_MBs 1
awk -v put="$(median ours put_4m_MBs)" -v copy="$(median ours memcpy_4m_MBs)" 'BEGIN {
	met = put >= 0.9 * copy
	printf "put of 4 MiB: %.2f of memcpy (%.0f of %.0f MB/s), goal 0.9: %s\n", put / copy, put, copy,
		met ? "met" : "missed"
	exit !met
}' || missed=1
exit $missed
