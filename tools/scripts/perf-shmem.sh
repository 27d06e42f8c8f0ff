#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf-shmem.sh [--json] [SETTING...] - OpenSHMEM calls beside Debian's Open MPI
#
# One program (selftests/shmem/perf.c), compiled by Open MPI's oshcc and by ours, runs in turns. For
# each row this prints the medians of all turns in nanoseconds a call, our time as a multiple of
# Open MPI's, the worst multiple in one turn, and the limit of each multiple. Exit status 1: a row
# missed.
#
#   quiet    two PEs, each bound to a processor of its own
#   busy     two PEs, not bound, and a program that computes on each processor
#   twice    twice as many PEs as processors, not bound
#
#   TURNS=N  turns of a setting                                  [7]
#   MS=N     milliseconds that a row is measured in a turn       [60]
#
# shellcheck disable=SC2317	# functions are called by name

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
json=''
[ "${1-}" != --json ] || { json=1; shift; }
turns=${TURNS:-7} ms=${MS:-60}
settings=("$@")
[ $# -gt 0 ] || settings=(quiet busy twice)
tmp=$(mktemp -d /tmp/gda-perf-shmem.XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$tmp"' EXIT

/usr/bin/oshcc -O2 -Wno-deprecated-declarations -o "$tmp/theirs" selftests/shmem/perf.c
build/shmem/bin/oshcc -O2 -o "$tmp/ours" selftests/shmem/perf.c

# The processors of a list like "0-3,8" that this process may use.
mapfile -t processors < <(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/self/status |
	tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
[ ${#processors[@]} -gt 1 ] || { echo "perf-shmem.sh: it takes two processors" >&2; exit 2; }
export first=${processors[0]} second=${processors[1]}

theirs() { # PES core|none
	local i out

	# Without the option it may crash in shmem_finalize(), after all was printed; with the
	# option, some versions sometimes crash at the start: these runs are repeated.
	for i in 1 2 3 4 5 6 7 8; do
		out=$(UCX_LOG_LEVEL=error timeout 600 /usr/bin/oshrun --allow-run-as-root \
			--host "localhost:$1" --oversubscribe --mca patcher ^overwrite \
			--bind-to "$2" -n "$1" "$tmp/theirs" "$ms" 2>/dev/null) || true
		[[ $out != *exchange* ]] || break
	done
	echo "$out"
}

ours() { # PES core|none
	local program=("$tmp/ours")

	# shellcheck disable=SC2016	# each PE expands it
	[ "$2" = none ] || program=(sh -c
		'[ "$GDA_COMM_RANK" = 0 ] || first=$second; exec taskset -c "$first" "$0" "$@"' "$tmp/ours")
	timeout 600 build/shmem/bin/oshrun -b -n "$1" "${program[@]}" "$ms"
}

# Each library comes first in every second turn, so that changes on the machine affect both alike.
measure() { # SETTING PES core|none
	local i who order

	for ((i = 0; i < turns; i++)); do
		order=(theirs ours)
		[ $((i % 2)) = 0 ] || order=(ours theirs)
		for who in "${order[@]}"; do
			[ ! -t 2 ] || printf '\r%s: turn %d of %d, %s \033[K' "$1" $((i + 1)) "$turns" "$who" >&2
			$who "$2" "$3" >"$tmp/$1.$i.$who"
		done
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

neighbours() {
	local c

	for c in "${processors[@]}"; do
		taskset -c "$c" sh -c 'while :; do :; done' &
	done
}

# Goals of the quiet table beyond being no slower: our time as a part of Open MPI's, at most.
goals='put_8 0.2 get_8 0.2 fetch_add_8 0.2 barrier 0.5 reduce_8 0.5
	put_65536 1 get_65536 1 put_4194304 1 get_4194304 1'

table() { # SETTING PES MOST WORST, of a row and of one turn of it; 0: any
	local pes=$2

	awk -v setting="$1" -v pes="$pes" -v most="$3" -v worst="$4" -v turns="$turns" -v json="$json" \
		-v goals="$([ "$1" != quiet ] || echo "${goals//$'\n'/ }")" \
		-v load="$(cut -d ' ' -f 1 /proc/loadavg)" '
	function q(word) { return "\"" word "\"" }
	function median(name, who, i, n, k, swap, v) {
		for (i = n = 0; i < turns; i++)
			if ((name, i, who) in ns)
				v[n++] = ns[name, i, who]
		for (i = 0; i < n; i++)
			for (k = i; k > 0 && v[k] < v[k - 1]; k--) {
				swap = v[k]; v[k] = v[k - 1]; v[k - 1] = swap
			}
		return n == turns ? v[int(n / 2)] : 0
	}
	function worst_of(name, i, w, r) {
		for (i = w = 0; i < turns; i++)
			if (ns[name, i, "theirs"] && (r = ns[name, i, "ours"] / ns[name, i, "theirs"]) > w)
				w = r
		return w
	}
	FNR == 1 { split(FILENAME, part, "."); k = length(part); who = part[k]; turn = part[k - 1] }
	{
		if (!($1 in seen)) { seen[$1] = 1; names[rows++] = $1 }
		ns[$1, turn, who] = $2
	}
	END {
		n = split(goals, g, /[ \t]+/)
		for (i = 1; i < n; i += 2)
			goal[g[i]] = g[i + 1]
		if (!json) {
			printf "\n%s: %d PEs, median of %d turns, load %s\n", setting, pes, turns, load
			printf "%-20s %14s %14s %8s %8s %8s\n", "ns a call", "Open MPI", "GDA", "ratio",
				"worst", "at most"
		}
		for (r = 0; r < rows; r++) {
			name = names[r]
			a = median(name, "theirs"); b = median(name, "ours"); w = worst_of(name)
			top = name in goal ? goal[name] : most
			if (name ~ /^memcpy/)
				verdict = ""
			else if (!a || !b)
				verdict = "not measured"
			else
				verdict = b / a <= top && (!worst || w <= worst) ? "met" : "missed"
			missed += verdict != "" && verdict != "met"
			if (json)
				printf "{" q("setting") ": " q("%s") ", " q("pes") ": %d, " q("row") ": " q("%s") \
					", " q("open_mpi_ns") ": %.1f, " q("gda_ns") ": %.1f, " q("worst") ": %.3f, " \
					q("at_most") ": %s, " q("verdict") ": " q("%s") "}\n",
					setting, pes, name, a, b, w, top, verdict
			else
				printf "%-20s %14.1f %14.1f %8.2f %8.2f %8s  %s\n", name, a, b,
					a ? b / a : 0, w, verdict == "" ? "" : top, verdict
		}
		if (setting == "quiet") {
			put = median("put_4194304", "ours"); copy = median("memcpy_4194304", "ours")
			verdict = put && copy / put >= 0.9 ? "met" : "missed"
			missed += verdict != "met"
			if (!json)
				printf "put of 4 MiB: %.2f of memcpy, at least 0.9: %s\n", put ? copy / put : 0, verdict
		}
		exit missed > 0
	}' "$tmp/$1".*
}

missed=0
for setting in "${settings[@]}"; do
	case $setting in
	quiet)
		measure quiet 2 core
		table quiet 2 1.05 0 || missed=1
		;;
	busy)
		neighbours
		measure busy 2 none
		table busy 2 1.5 10 || missed=1
		# shellcheck disable=SC2046	# one word each
		kill $(jobs -p)
		wait 2>/dev/null || true
		;;
	twice)
		pes=$((2 * ${#processors[@]}))
		measure twice $pes none
		table twice $pes 1.5 10 || missed=1
		;;
	*) sed -n 's/^# \(perf-shmem.sh.*\)/usage: \1/p' "$0" >&2; exit 2 ;;
	esac
done
exit $missed
