# SPDX-License-Identifier: MIT
#
# callgrind.sh - to be sourced by scripts that count instructions; it sources ktap.sh. A program
# `bench --count MODE` makes calls, each in a function count_FUNCTION.
#
# shellcheck shell=bash

# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
aside=

# count CALLS BENCH MODE [FUNCTION]: instructions of each call, rounded; FUNCTION is MODE where it is
# not named. $aside is a function that it calls and that does not count.
count() {
	local sum

	valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" \
		--toggle-collect="count_${4:-$3}" ${aside:+--toggle-collect="$aside"} "$2" --count "$3" \
		2>"$tmp/err" >/dev/null || return
	sum=$(sed -n 's/.*Collected : //p' "$tmp/err")
	echo $(((${sum:-0} + $1 / 2) / $1))
}

at_most() { # LIMIT CALLS BENCH MODE [FUNCTION]
	local each

	each=$(count "${@:2}") || return
	say "$4: $each instructions"
	[ "$each" -gt 0 ] && [ "$each" -le "$1" ]
}

# limits UNIT CALLS BENCH: lines of "MODE [FUNCTION] MOST" are stdin
limits() {
	local lines mode function limit

	mapfile -t lines
	echo "1..${#lines[@]}"
	while read -r mode function limit; do
		[ "$limit" ] || { limit=$function function=$mode; }
		ok_with valgrind "$1, $mode, at most $limit instructions" \
			at_most "$limit" "$2" "$3" "$mode" "$function"
	done < <(printf '%s\n' "${lines[@]}")
	exit $rc
}
