#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# gdactl_words.sh - what gdactl says to a newcomer: each command has its help, and each mistake one
# line, which ends with what to do next. And what its start costs. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by ok

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh

gdactl=$PWD/build/tools/gdactl
commands="device context qp cq mr counter wqe stats limits monitor top record why"

[ -x "$gdactl" ] || { echo "1..0 # SKIP no $gdactl: make tools"; exit 4; }
if "$gdactl" help qp 2>&1 | grep -q 'built without libnl'; then
	echo "1..0 # SKIP gdactl was built without libnl"
	exit 4
fi

# `gdactl $1` fails with status 2, and says one line, with $2 in it and help at its end.
refuses() {
	local said status

	# shellcheck disable=SC2086	# they are words
	said=$("$gdactl" $1 2>&1 >"$tmp/out")
	status=$?
	[ "$status" = 2 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <<<"$said")" = 1 ] &&
		[[ $said == gdactl:*$2* ]] && [[ $said == *--help* ]] && return
	echo "gdactl $1: $status: $said"
	return 1
}

all_refused() {
	local arguments words bad=0

	while IFS='|' read -r arguments words; do
		refuses "$arguments" "$words" || bad=1
	done <<-'END'
		qps|did you mean qp?
		contxt|did you mean context?
		recor|did you mean record?
		bananas|no command bananas: gdactl --help
		help bananas|no command bananas
		qp of|unknown word of
		qp pid|pid needs a number
		qp pid x|pid needs a number
		qp pid -1|pid needs a number
		qp pid 4294967296|pid needs a number
		qp dev|dev needs a name
		qp ctx 0|no ctx 0
		device pid 1|unknown word pid
		stats pid 1|unknown word pid
		wqe|needs ctx ID handle QP
		wqe ctx 1|needs ctx ID handle QP
		wqe ctx 1 handle x|handle needs a number
		limits get|unknown word get
		limits show all|unknown word all
		limits set|needs a name and a value
		limits set most 1|no limit most
		limits set idle-us|idle-us needs a number
		monitor all|unknown word all
		top rows|rows needs a number
		top most 3|unknown word most
		record|needs show, on or off
		record of ctx 1|needs show, on or off
		record on|on needs ctx ID
		record on ctx 0|no ctx 0
		record on ctx 1 entries 64|unknown word entries
		record on ctx 1 records 64 more|unknown word more
		record off ctx 1 records 64|unknown word records
		record show dead end|show needs ctx ID
		why me|unknown word me
		why pid|pid needs a number
		why qp 1 more|unknown word more
	END
	return "$bad"
}

# The same by all three ways; a usage line first; and the list has it.
has_help() {
	local c bad=0

	for c in $commands; do
		if ! { "$gdactl" "$c" --help >"$tmp/help" &&
			"$gdactl" help "$c" | cmp - "$tmp/help" &&
			"$gdactl" "$c" -h | cmp - "$tmp/help" &&
			head -1 "$tmp/help" | grep -q "^gdactl \[--json\] $c" &&
			[ "$(wc -l <"$tmp/help")" -ge 3 ] &&
			"$gdactl" --help | grep -q "^gdactl $c"; }; then
			echo "$c"
			bad=1
		fi
	done
	return "$bad"
}

# The page names every command that the program lists, and the other way round.
in_manual() {
	local c bad=0

	for c in $commands; do
		grep -q "^\.B.*\<$c\>" Documentation/man/gdactl.1 || { echo "$c"; bad=1; }
	done
	[ "$("$gdactl" --help | sed -n 's/^gdactl \([a-z]\+\).*/\1/p' | grep -vx doctor | tr '\n' ' ')" = \
		"$commands " ] && return "$bad"
}

no_line_is_too_long() {
	local c

	for c in '' $commands; do
		# shellcheck disable=SC2086	# none for all
		! "$gdactl" $c --help | grep -E '.{101}' || return 1
	done
}

# Here there may be a module or none; without sysfs's permission nobody sees more of it.
without_module() {
	local said

	[ -e /dev/gda ] && return
	said=$("$gdactl" qp 2>&1)
	[ $? = 1 ] && [ "$(wc -l <<<"$said")" = 1 ] &&
		[[ $said == *"as root: modprobe gda_mr"* || $said == *"not installed for this kernel: install"* ]]
}

# Instructions of a command.
instructions() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
		sed -n 's/.*Collected : //p'
}

# ip asks netlink, too, and prints a table.
starts_as_ip_does() {
	local ip ours

	ip=$(instructions ip link) ours=$(instructions "$gdactl" device)
	echo "gdactl device: $ours instructions, ip link: $ip" | tee "$tmp/counts"
	[ "${ours:-0}" -gt 0 ] && [ "$ours" -le $((2 * ip)) ]
}

echo "TAP version 13"
echo "1..6"
ok "each mistake has a line that says what to do" all_refused
ok "each command has help" has_help
ok "the manual page has each command" in_manual
ok "no line of help is too long" no_line_is_too_long
ok "without the module the line says how to have it" without_module
what="starting takes no more than twice the instructions of ip"
if command -v valgrind >/dev/null && command -v ip >/dev/null; then
	ok "$what" starts_as_ip_does
	sed 's/^/# /' "$tmp/counts"
else
	echo "ok 6 $what # SKIP no valgrind, or no ip, here"
fi
exit "$rc"
