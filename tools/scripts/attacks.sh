#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# attacks.sh [--json] - what the last `make check` said of each attack
#
# A row of selftests/attacks.txt, the tests that have its id in their names, and their
# results here and on each kernel. O10 is the gate on the kernel log: every program.
# Fails if a test failed, or a row that could have a test has none.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
logs=build/log
json=''
case ${1-} in
'') ;;
--json) json=y ;;
*) echo "usage: attacks.sh [--json]" >&2; exit 2 ;;
esac
places=(native)
for d in "$logs"/vm-*; do
	[ -d "$d" ] && [ -d $logs/native ] && places+=("${d##*/}")
done
[ ${#places[@]} -gt 1 ] || { echo "nothing to add up: run make check first" >&2; exit 1; }

# PLACE PASS FAIL SKIP ID NAME: results of all programs that have an id in their names.
results() {
	local place programs

	for place in "${places[@]}"; do
		cat "$logs/$place"/*.log | awk -v place="$place" '
			/^ *(not )?ok [0-9]+ / {
				bad = /^ *not ok/; skip = / # SKIP/
				sub(/^ *(not )?ok [0-9]+ (- )?/, ""); sub(/ # .*/, "")
				n = split($1, part, /[._]/)
				for (i = 1; i <= n; i++)
					if (part[i] ~ /^[MSKOEP][0-9]+$/)
						print place, !bad && !skip, bad, skip, part[i], $1
			}'
	done
	# A program fails that leaves something in the log; those of 32 bits are O9.
	for place in "${places[@]}"; do
		[ "$place" = native ] && continue
		programs=("$logs/$place"/*.log)
		echo "$place ${#programs[@]} 0 0 O10 -"
		programs=("$logs/$place"/kernel32_*.log)
		[ ! -e "${programs[0]}" ] ||
			echo "$place $(cat "${programs[@]}" | grep -c '^ok') $(cat "${programs[@]}" |
				grep -c '^not ok') 0 O9 -"
	done
}

results | awk -v json="$json" -v list="${places[*]}" '
	function cell(p, id) {
		if (!((p, id) in seen)) return "-"
		return fail[p, id] ? fail[p, id] " failed" : pass[p, id] ? pass[p, id] : "skipped"
	}
	FNR == NR {
		seen[$1, $5] = 1; pass[$1, $5] += $2; fail[$1, $5] += $3; skip[$1, $5] += $4
		any[$5]++; bad[$5] += $3; good[$5] += $2
		next
	}
	BEGIN {
		np = split(list, place, " ")
		if (json) { print "["; exit0 = 0 }
		else {
			printf "%-5s", "row"
			for (i = 1; i <= np; i++) printf "%10s", place[i]
			printf "  %-8s  %s\n", "result", "attack"
		}
	}
	/^(#|$)/ { next }
	{
		split($0, f, "\t"); id = f[1]
		result = f[2] != "yes" ? "n/a" : !any[id] ? "NO TEST" : bad[id] ? "FAILED" : \
			 good[id] ? "ok" : "skipped"
		count[result]++
		title = f[3] (f[2] != "yes" ? " (" f[2] ")" : "")
		if (json) {
			printf "%s {\"row\":\"%s\",\"result\":\"%s\",\"attack\":\"%s\"", sep, id, result, title
			for (i = 1; i <= np; i++)
				printf ",\"%s\":\"%s\"", place[i], cell(place[i], id)
			printf "}"; sep = ",\n"
			next
		}
		printf "%-5s", id
		for (i = 1; i <= np; i++) printf "%10s", cell(place[i], id)
		printf "  %-8s  %s\n", result, title
	}
	END {
		if (json) print "\n]"
		else {
			printf "\n%d rows hold, %d failed, %d without a test, %d skipped, ", \
				count["ok"], count["FAILED"], count["NO TEST"], count["skipped"]
			printf "%d have nothing to attack yet\n", count["n/a"]
		}
		exit count["FAILED"] + count["NO TEST"] > 0
	}' - selftests/attacks.txt
