#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# agent.sh - the launch agent of gda-pair, pair-rsh, without guests: its two sides are two processes
# here that share a folder. mpirun takes the address of side 1 for another machine's. Speaks KTAP.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2317	# sides are subshells; functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh
hello=$PWD/build/selftests/comm/hello
export GDA_PAIR_DIR=$tmp/shared GDA_PAIR_SIDE=0
slow=${GDA_SLOW:-1}

# with_server COMMAND...: while side 1 serves; its exit status
with_server() {
	local status server

	rm -rf "$GDA_PAIR_DIR"
	mkdir "$GDA_PAIR_DIR"
	(
		GDA_PAIR_SIDE=1
		. tools/vm/pair.sh
		pair_serve end 120
	) &
	server=$!
	"$@"
	status=$?
	: >"$GDA_PAIR_DIR/end"
	wait "$server" || return 1
	return "$status"
}

says() { # STATUS OUTPUT COMMAND...
	local said

	said=$(timeout $((60 * slow)) tools/vm/pair-rsh there "${@:3}")
	[ $? = "$1" ] && [ "$said" = "$2" ]
}

output() { with_server says 0 "1 a b" 'echo $GDA_PAIR_SIDE' "'a b'"; }
status() { with_server says 3 "" exit 3; }
two() { says 0 one echo one && says 0 two echo two; }

# The other side has ended, and answers nothing more.
gone() {
	rm -rf "$GDA_PAIR_DIR"
	mkdir "$GDA_PAIR_DIR"
	: >"$GDA_PAIR_DIR/gone.1"
	says 255 "" true
}

ranks() {
	local options=(-n 4 --oversubscribe --host "127.0.0.1:2,192.0.2.1:2")

	[ "$(id -u)" != 0 ] || options+=(--allow-run-as-root)
	GDA_COMM_INTERFACE=lo timeout $((100 * slow)) mpirun "${options[@]}" -x GDA_COMM_INTERFACE \
		--mca plm_rsh_agent "$PWD/tools/vm/pair-rsh" --mca oob_tcp_if_include 127.0.0.0/8 \
		"$hello" </dev/null >"$tmp/out" 2>&1 &&
		[ "$(grep -c '^rank [0-3] of 4$' "$tmp/out")" = 4 ] &&
		compgen -G "$GDA_PAIR_DIR/rsh.0.*.taken"
}

echo 1..5
ok output_of_the_other_side output
ok exit_status_of_the_other_side status
ok one_command_behind_the_other with_server two
ok other_side_has_ended gone
if ! tools/scripts/optional.sh mpirun >/dev/null || [ ! -s build/optional/pmix ]; then
	skip ranks_that_mpirun_starts "no mpirun, or libgda was built without PMIx"
else
	ok ranks_that_mpirun_starts with_server ranks
fi
exit $rc
