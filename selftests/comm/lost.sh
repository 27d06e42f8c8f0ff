#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# lost.sh - every rank names the one whose machine is gone, within 10 s; a process that does not run
# on a machine that does is not lost. All side by side, for most of it is waiting.
#
# A machine is a network namespace; it is gone when the bridge between two goes down, which drops
# all packets and leaves the interfaces as they are. GDA_STRESS: processes do not run for a minute.
#
# shellcheck disable=SC2317	# the tests are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
run=build/tools/gda-run
lost=build/selftests/comm/lost
. selftests/lib/ktap.sh

seconds=14
! stressed || seconds=60
limit=$((10000 * ${GDA_SLOW:-1}))

# network: $a and $b are processes in two namespaces, $m in that of the bridge between them
network() {
	local n=0 pid

	for pid in a b m; do
		unshare -n sleep 600 >/dev/null 2>&1 &
		printf -v "$pid" '%s' "$!"
	done
	for pid in "$a" "$b" "$m"; do
		while [ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do
			sleep 0.05
		done
	done
	nsenter -t "$m" -n ip link add br0 type bridge || return
	nsenter -t "$m" -n ip link set br0 up || return
	for pid in "$a" "$b"; do
		n=$((n + 1))
		nsenter -t "$m" -n ip link add "p$n" type veth peer name eth0 netns "$pid" &&
			nsenter -t "$m" -n ip link set "p$n" master br0 up &&
			nsenter -t "$pid" -n ip link set lo up &&
			nsenter -t "$pid" -n ip addr add "10.77.0.$n/24" dev eth0 &&
			nsenter -t "$pid" -n ip link set eth0 up || return
	done
}

# machine NAME MODE RANKS: ranks 0 to RANKS - 1 of 3 are on one machine, the others on another
machine() {
	local name=$1 mode=$2 here=$3 id i cut a b m runs=()

	network && id=$(nsenter -t "$a" -n "$run" --new-id -i eth0) || return
	nsenter -t "$a" -n timeout 120 "$run" -k --id "$id" -n "$here" --of 3 "$lost" "$mode" \
		>"$tmp/$name.out" 2>&1 </dev/null &
	runs+=("$!")
	nsenter -t "$b" -n timeout 120 "$run" -k --id "$id" --first "$here" -n $((3 - here)) --of 3 \
		"$lost" "$mode" >"$tmp/$name.out2" 2>&1 </dev/null &
	runs+=("$!")
	for ((i = 0; i < 600; i++)); do
		[ "$(cat "$tmp/$name".out* | grep -c ready)" = 3 ] && break
		sleep 0.1
	done
	sleep 1
	nsenter -t "$m" -n ip link set br0 down
	cut=$(awk '{ print int($1 * 1000) }' /proc/uptime)
	wait "${runs[@]}"
	kill "$a" "$b" "$m"
	cat "$tmp/$name.out" "$tmp/$name.out2" | awk -v cut="$cut" '/names/ { print $3, $5, $7 - cut }' |
		sort >"$tmp/$name.said"
}

# named NAME RANKS: who is on the other machine is named by each
named() {
	awk -v here="$2" -v limit="$limit" '
		{ away = $1 < here ? $2 >= here : $2 == 0 }
		away && $3 < limit { good++ }
		END { exit good != 3 }' "$tmp/$1.said" || { sed 's/^/# /' "$tmp/$1".out*; return 1; }
}

# idles NAME WHAT RANK
idles() {
	timeout 300 "$run" -k -n 3 "$lost" "$2" "$3" "$seconds" >"$tmp/$1.out" 2>&1 </dev/null
	echo $? >"$tmp/$1.status"
}

went_on() {
	sed 's/^/# /' "$tmp/$1.out"
	[ "$(cat "$tmp/$1.status")" = 0 ] && [ "$(grep -c ': 0, failed -1$' "$tmp/$1.out")" = 3 ]
}

echo 1..9
root=''
if unshare -n ip link add br0 type bridge 2>/dev/null; then
	root=1
	machine idle2 idle 2 &
	machine idle1 idle 1 &
	machine data2 data 2 &
	machine data1 data 1 &
fi
for r in 0 2; do
	for w in stopped traced quiet; do
		[ $w$r = traced0 ] || idles $w$r $w $r &
	done
done
wait
for w in idle data; do
	for r in 2 1; do
		name=item_4_lost_a_rank_$w
		[ $r = 2 ] || name=item_4_lost_rank_0_$w
		if [ "$root" ]; then
			ok "$name" named $w$r $r
			sed 's/^\([0-9]\) \(.*\) \(.*\)/# rank \1 names \2 after \3 ms/' "$tmp/$w$r.said"
		else
			skip "$name" "it takes root, iproute2 and bridges"
		fi
	done
done
ok item_4_stopped_with_data_is_not_lost went_on stopped2
ok item_4_stopped_rank_0_with_data_is_not_lost went_on stopped0
ok item_4_stopped_by_a_debugger_is_not_lost went_on traced2
ok item_4_stopped_without_data_is_not_lost went_on quiet2
ok item_4_stopped_rank_0_without_data_is_not_lost went_on quiet0
exit $rc
