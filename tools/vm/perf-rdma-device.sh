#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# perf-rdma-device.sh [--json] [RUNS] - in the guest: run unmodified perftest on gda0 and on rxe0,
# in turns
#
# It prints medians of RUNS runs [3], first on a quiet guest, then beside two processes that spin. A
# bar says how many times as fast as rxe0 gda0 has to be at least. Then it measures what other users
# of gda0 cost (SECURITY.md X9): the latency of a read, at the 99th percentile, beside 32 processes
# with an idle queue, compared with none; and beside two that write to each other all the time,
# compared with two that spin. Here a bar says how many times as long a read may take at most.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
json=''
[ "${1-}" != --json ] || { json=1; shift; }
runs=${1:-3}
die() { echo "perf-rdma-device.sh: $*" >&2; exit 1; }

command -v ib_write_bw >/dev/null || die "no perftest: install package perftest"
tools/vm/rxe.sh || exit 1
k=build/$(uname -r)/kmod
for m in gda_core gda_mr gda_rdma; do
	insmod "$k/$m/$m.ko" || die "no $m"
done
ip link set lo up

# NAME:PROGRAM:ARGS:COLUMN:BAR-QUIET:BAR-BUSY, where COLUMN is that of the result; r: higher is
# better, l: lower is.
rows=(
	"write of 64 B, Mpps:ib_write_bw:-s 64 -n 5000:r5:5:1.5"
	"write of 64 KiB, MB/s:ib_write_bw:-s 65536 -n 200:r4:12:8"
	"read latency, us:ib_read_lat:-s 8 -n 500:l5:3:2"
	"atomic latency, us:ib_atomic_lat:-n 500:l5:3:2"
	"write latency, us:ib_write_lat:-s 8 -n 500:l5:4:1"
)
port=19000

# one DEVICE PROGRAM COLUMN [ARG...]
one() {
	local device=$1 program=$2 column=$3 gid=() server
	shift 3

	port=$((port + 1))
	[ "$device" = gda0 ] || gid=(-x 1)
	timeout 120 "$program" -d "$device" "${gid[@]}" -F -p $port "$@" >/dev/null 2>&1 &
	server=$!
	for ((i = 0; i < 300; i++)); do
		! ss -Hltn "sport = :$port" | grep -q . || break
		sleep 0.1
	done
	timeout 120 "$program" -d "$device" "${gid[@]}" -F -p $port "$@" 127.0.0.1 2>/dev/null |
		awk -v c="$column" '/^ #bytes/ { getline; print $c }'
	wait $server
}

median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }

measure() { # SCENE
	local row name program args column quiet busy bar a b r

	for row in "${rows[@]}"; do
		IFS=: read -r name program args column quiet busy <<<"$row"
		bar=$quiet
		[ "$1" = quiet ] || bar=$busy
		: >/tmp/perf.gda0
		: >/tmp/perf.rxe0
		for ((r = 0; r < runs; r++)); do
			for device in gda0 rxe0; do
				# shellcheck disable=SC2086	# words
				one $device "$program" "${column#?}" $args >>/tmp/perf.$device
			done
		done
		a=$(median </tmp/perf.gda0) b=$(median </tmp/perf.rxe0)
		awk -v scene="$1" -v name="$name" -v kind="${column%%[0-9]*}" -v a="$a" -v b="$b" \
			-v bar="$bar" -v json="$json" 'BEGIN {
			ratio = kind == "r" ? (b ? a / b : 0) : (a ? b / a : 0)
			met = ratio >= bar ? "yes" : "no"
			if (json)
				printf "{\"scene\":\"%s\",\"row\":\"%s\",\"gda0\":%g,\"rxe0\":%g," \
					"\"times\":%.2f,\"bar\":%g,\"met\":%s}\n", scene, name, a, b,
					ratio, bar, met == "yes" ? "true" : "false"
			else
				printf "%-6s  %-24s %12g %12g %8.1f %6.1f  %s\n", scene, name, a, b, ratio, bar, met
		}'
	done
}

# others NAME BASE WITH: BASE and WITH are functions that start and end what runs beside the reader
others() {
	local r

	: >/tmp/perf.base
	: >/tmp/perf.with
	for ((r = 0; r < runs; r++)); do
		"$2"
		one gda0 ib_read_lat 8 -s 8 -n 2000 >>/tmp/perf.base
		over
		"$3"
		one gda0 ib_read_lat 8 -s 8 -n 2000 >>/tmp/perf.with
		over
	done
	awk -v name="$1" -v a="$(median </tmp/perf.with)" -v b="$(median </tmp/perf.base)" -v json="$json" 'BEGIN {
		ratio = b ? a / b : 0
		met = ratio && ratio <= 2 ? "yes" : "no"
		if (json)
			printf "{\"scene\":\"others\",\"row\":\"%s\",\"with\":%g,\"without\":%g," \
				"\"times\":%.2f,\"bar\":2,\"met\":%s}\n", name, a, b, ratio,
				met == "yes" ? "true" : "false"
		else
			printf "others  %-24s %12g %12g %8.1f %6.1f  %s\n", name, a, b, ratio, 2, met
	}'
}
beside=()
over() { [ ${#beside[@]} = 0 ] || kill "${beside[@]}"; wait "${beside[@]}"; beside=(); } 2>/dev/null
none() { :; }
spinners() { for _ in 1 2; do while :; do :; done & beside+=($!); done; }
idlers() {
	for ((i = 0; i < 32; i++)); do
		ibv_rc_pingpong -d gda0 -p $((20000 + i)) >/dev/null 2>&1 &
		beside+=($!)
	done
	sleep 3
}
writers() {
	ib_write_bw -d gda0 -F -p 18999 -b -D 100 -s 65536 >/dev/null 2>&1 & beside+=($!)
	sleep 2
	ib_write_bw -d gda0 -F -p 18999 -b -D 100 -s 65536 127.0.0.1 >/dev/null 2>&1 & beside+=($!)
	sleep 3
}

[ -n "$json" ] || printf '%-6s  %-24s %12s %12s %8s %6s  %s\n' scene row gda0 rxe0 times bar met
measure quiet
hogs=()
for _ in 1 2; do
	while :; do :; done &
	hogs+=($!)
done
measure busy
kill "${hogs[@]}"
[ -n "$json" ] || printf '\n%-6s  %-24s %12s %12s %8s %6s  %s\n' scene "p99 of a read, us" with without times bar met
others "beside 32 idle" none idlers
others "beside two that write" spinners writers
[ -n "$json" ] || echo "load of the guest at the end: $(cut -d' ' -f1-3 /proc/loadavg)"
rmmod gda_rdma gda_mr gda_core
