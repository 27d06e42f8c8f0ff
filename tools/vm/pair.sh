# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# pair.sh - for scripts that gda-pair runs in both guests; selftests/pair/pair.h is the same
# for programs
#
#   GDA_PAIR_SIDE   0 or 1           GDA_PAIR_NETDEV  the interface between the two
#   GDA_PAIR_ADDR   own IP address   GDA_PAIR_RDMA    the RDMA device on it
#   GDA_PAIR_PEER   the other one's  GDA_PAIR_DIR     a folder that both see
#
# Seconds are multiplied by $GDA_SLOW, as the limits of programs are.

# Wait for file $1 for $2 seconds; fail at once if the other side has ended.
pair_await() {
	local left=$((10#$2 * 20 * ${GDA_SLOW:-1}))

	until [ -e "$1" ]; do
		if [ $((left--)) = 0 ] || [ -e "$GDA_PAIR_DIR/gone.$((1 - GDA_PAIR_SIDE))" ]; then
			return 1
		fi
		sleep 0.05
	done
}

# pair_put NAME: send stdin to the other side
pair_put() {
	cat >"$GDA_PAIR_DIR/$1.new" && mv "$GDA_PAIR_DIR/$1.new" "$GDA_PAIR_DIR/$1"
}

# pair_get NAME [SECONDS]: print what the other side has sent
pair_get() {
	pair_await "$GDA_PAIR_DIR/$1" "${2-30}" && cat "$GDA_PAIR_DIR/$1"
}

# pair_barrier NAME [SECONDS]: go on when both sides are here. A name can be used once.
pair_barrier() {
	: >"$GDA_PAIR_DIR/$1.$GDA_PAIR_SIDE"
	pair_await "$GDA_PAIR_DIR/$1.$((1 - GDA_PAIR_SIDE))" "${2-30}"
}

# pair_ask ACTION SIDE: apply an action to the guest of SIDE: link-off, link-on, stop, cont, kill.
# Switching off either link cuts the cable.
pair_ask() {
	local f answer

	f=$GDA_PAIR_DIR/ask/$GDA_PAIR_SIDE.$$.$((pair_asked++))
	echo "$1 $2" >"$f.new" && mv "$f.new" "$f.ask"
	# This is not pair_await, because the other side may be the one that is killed.
	for ((i = 0; i < 200; i++)); do
		[ ! -e "$f.answer" ] || break
		sleep 0.05
	done
	answer=$(cat "$f.answer") || return
	[ "$answer" = ok ] || { echo "pair_ask $1 $2: $answer" >&2; return 1; }
}
pair_asked=0

# pair_serve NAME [SECONDS]: run what the other side requests by pair-rsh, until it sends NAME and
# everything that was begun has ended
pair_serve() {
	local f left=$((${2-60} * 20 * ${GDA_SLOW:-1})) begun=()

	until [ -e "$GDA_PAIR_DIR/$1" ]; do
		for f in "$GDA_PAIR_DIR/rsh.$((1 - GDA_PAIR_SIDE))".*.run; do
			[ -e "$f" ] || continue
			mv "$f" "${f%.run}.taken"
			pair_run "${f%.run}.taken" &
			begun+=($!)
		done
		if [ $((left--)) = 0 ] || [ -e "$GDA_PAIR_DIR/gone.$((1 - GDA_PAIR_SIDE))" ]; then
			return 1
		fi
		sleep 0.05
	done
	for f in "${begun[@]}"; do
		wait "$f"
	done
	return 0
}

# pair_run FILE: run the command in it, for pair-rsh
pair_run() {
	local to=${1%.taken}

	bash "$1" </dev/null >"$to.output" 2>&1
	echo $? >"$to.new"
	mv "$to.new" "$to.status"
}
