#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kvers.sh - selftests/kvers names programs of the guests that there are, each once, and a kernel or
# what stands for one; suites of tenants run on both kernels. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
unset PROGRAMS GDA_BOTH	# of the check that this is part of
grep -v '^#' selftests/kvers >"$tmp/kvers"
# Those that a package decides are in the list in any case.
{ make --no-print-directory -s list-vm | tr ' ' '\n' | sed 's|^build/||; s|^selftests/||'
	printf '%s\n' verbs/{rxe,ib}.sh tools/{gdactl,gdactl_monitor,gdactl_port,ynl}
	for f in selftests/kernel/*.c; do echo "kernel32/$(basename "$f" .c)"; done
} | sort -u >"$tmp/programs"

# fitting PATTERN: the programs
fitting() {
	local program

	while read -r program; do
		# shellcheck disable=SC2254	# it is a pattern
		case $program in $1) echo "$program" ;; esac
	done <"$tmp/programs"
}

words() { ! grep -vE '^[^ ]+ (6\.12|6\.1|both|-)$' "$tmp/kvers"; }

patterns() {
	local pattern bad=0

	while read -r pattern _; do
		[ "$(fitting "$pattern")" ] || { echo "no program is $pattern"; bad=1; }
	done <"$tmp/kvers"
	return "$bad"
}

once() {
	while read -r pattern _; do fitting "$pattern"; done <"$tmp/kvers" | sort | uniq -d >"$tmp/out"
	[ ! -s "$tmp/out" ]
}

# Those that make users, groups, namespaces, limits or several contexts that look at each other.
tenants='tenant\.h|t_group_|RLIMIT_MEMLOCK|RLIMIT_NPROC|CLONE_NEW|set(res|e)?uid\('
tenants() {
	local f name bad=0

	while read -r f; do
		name=kernel/$(basename "$f" .c)
		grep -qx "$name" "$tmp/programs" || continue
		{ listed 1 by_list 6.12 "$name" && listed 1 by_list 6.1 "$name"; } || bad=1
	done < <(grep -lE "$tenants" selftests/kernel/*.c)
	return "$bad"
}

# Programs by place, as check.sh chooses them: by the list; where there is one kernel; where all run;
# of names that are given.
tools/scripts/check.sh --list 6.12 6.1 >"$tmp/by_list"
tools/scripts/check.sh --list 6.1 >"$tmp/alone"
GDA_BOTH=1 tools/scripts/check.sh --list 6.12 6.1 >"$tmp/all"
PROGRAMS=shmem4py tools/scripts/check.sh --list 6.12 6.1 >"$tmp/named"

listed() { # COUNT FILE PLACE PROGRAM
	[ "$(grep -cxF "$3 build/selftests/$4" "$tmp/$2")" = "$1" ] ||
		{ echo "$2: $4 is not $1 times in $3"; return 1; }
}

places() {
	listed 1 by_list 6.12 kernel/freeze && listed 1 by_list 6.1 kernel/freeze &&
		listed 1 by_list 6.12 shmem/every && listed 0 by_list 6.1 shmem/every &&
		listed 1 alone 6.1 shmem/every && listed 0 alone 6.1 shmem/shmem4py &&
		listed 1 all 6.1 shmem/every && listed 1 all 6.12 shmem/shmem4py &&
		listed 1 named 6.12 shmem/shmem4py && listed 1 named 6.1 shmem/shmem4py
}

# A program that is new runs on both, and none is forgotten but those that the list says.
forgotten() {
	sed 's|.* build/selftests/||; s|.* selftests/||' "$tmp/by_list" | sort -u >"$tmp/runs"
	while read -r pattern kver; do
		[ "$kver" != - ] || fitting "$pattern"
	done <"$tmp/kvers" | sort -u >"$tmp/none"
	make --no-print-directory -s list-vm | tr ' ' '\n' | sed 's|^build/||; s|^selftests/||' |
		sort -u | comm -23 - "$tmp/runs" | diff - "$tmp/none"
}

echo 1..6
ok "each line has a kernel, both or none" words
ok "each pattern is of a program" patterns
ok "no program has two lines" once
ok "what is about tenants runs on both kernels" tenants
ok "check.sh chooses by the list, by PROGRAMS and by GDA_BOTH" places
ok "no other program is left out" forgotten
exit $rc
