#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# programs.sh - in the guest, with gda0 (with-gda0.sh): programs that know nothing of it, those of
# perftest, ibverbs-utils, UCX, libfabric and Open MPI where they are installed. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
. selftests/lib/ktap.sh
ip link set lo up

port=18600
# NAME PROGRAM [ARG...], of which two run: one waits for the other.
pairs=(
	"write ib_write_bw -F -n 1000 -s 64"
	"write_long ib_write_bw -F -n 200 -s 65536"
	"write_of_8_queues ib_write_bw -F -n 200 -q 8"
	"write_both_ways ib_write_bw -F -n 200 -b"
	"write_lat ib_write_lat -F -n 200"
	"read ib_read_bw -F -n 500 -s 65536"
	"read_by_event ib_read_bw -F -n 500 -e"
	"read_lat ib_read_lat -F -n 200"
	"atomic ib_atomic_bw -F -n 500"
	"atomic_lat ib_atomic_lat -F -n 200"
	"send ib_send_bw -F -n 200 -s 65536"
	"send_by_event ib_send_bw -F -n 200 -s 1024 -e"
	"send_of_8_queues ib_send_bw -F -n 200 -s 1024 -q 8"
	"send_both_ways ib_send_bw -F -n 200 -s 1024 -b"
	"send_by_srq ib_send_bw -F -n 200 -s 4096 -q 4 -r 128 --use-srq"
	"send_lat ib_send_lat -F -n 200"
	"rc_pingpong ibv_rc_pingpong -n 200"
	"srq_pingpong ibv_srq_pingpong -n 200"
	"uc_write ib_write_bw -F -n 1000 -s 4096 -c UC"
	"uc_write_lat ib_write_lat -F -n 200 -c UC"
	"uc_send ib_send_bw -F -n 200 -s 4096 -c UC"
	"uc_send_lat ib_send_lat -F -n 200 -c UC"
	"uc_pingpong ibv_uc_pingpong -n 200"
	"ud_send ib_send_bw -F -n 500 -s 2048 -c UD"
	"ud_send_of_8_queues ib_send_bw -F -n 200 -s 1024 -c UD -q 8"
	"ud_send_both_ways ib_send_bw -F -n 200 -s 1024 -c UD -b"
	"ud_send_lat ib_send_lat -F -n 200 -c UD"
	"ud_pingpong ibv_ud_pingpong -n 200"
	"ud_pingpong_with_gid ibv_ud_pingpong -n 200 -g 0 -e"
	"rc_pingpong_by_event ibv_rc_pingpong -n 200 -e"
	"ucx_put_short ucx_perftest -x rc_verbs -t put_lat -n 200 -w 10 -s 64"
	"ucx_put ucx_perftest -x rc_verbs -t put_bw -D zcopy -n 200 -w 10 -s 65536"
	"ucx_get ucx_perftest -x rc_verbs -t get -D zcopy -n 200 -w 10 -s 65536"
	"ucx_am ucx_perftest -x rc_verbs -t am_lat -n 200 -w 10 -s 64"
	"ucx_am_of_ud ucx_perftest -x ud_verbs -t am_lat -n 200 -w 10 -s 64"
	"ucx_tags ucx_perftest -t tag_lat -n 200 -w 10 -s 65536"
	"libfabric_datagrams fi_pingpong -p verbs -e dgram -I 20"
)
export UCX_NET_DEVICES=gda0:1 UCX_TLS=rc_verbs,ud_verbs,self
echo "1..$((${#pairs[@]} + 2))"
# How PROGRAM is told of gda0 and of the TCP port that the two meet at; its server, and its client.
meet() {
	case $1 in
	ucx_perftest) server=(-d gda0:1 -p "$port") client=("${server[@]}" 127.0.0.1) ;;
	fi_pingpong) server=(-d gda0-dgram -B "$port") client=(-d gda0-dgram -P "$port" 127.0.0.1) ;;
	*) server=(-d gda0 -p "$port") client=("${server[@]}" 127.0.0.1) ;;
	esac
}
# Does a process listen at TCP port $1? Without a program: each that is started takes as long as a test.
listens() {
	local hex line table

	printf -v hex '%04X' "$1"
	for table in /proc/net/tcp /proc/net/tcp6; do
		while read -r line; do
			[[ ! $line =~ ^[0-9]+:\ [0-9A-F]+:$hex\ [0-9A-F:]+\ 0A\  ]] || return 0
		done 2>/dev/null <"$table"
	done
	return 1
}

# The two programs, one of which waits for the other.
both() { # PROGRAM [ARG...]
	local ret i

	port=$((port + 1))
	meet "$1"
	timeout 120 "$@" "${server[@]}" >"$tmp/out" 2>&1 &
	for ((i = 0; i < 300; i++)); do
		! listens "$port" || break
		sleep 0.1
	done
	timeout 120 "$@" "${client[@]}" >"$tmp/err" 2>&1
	ret=$?
	# it says so, and exits with 0
	wait $! && [ "$ret" = 0 ] && ! grep -qs 'UCX  ERROR' "$tmp/err"
}

ring=build/selftests/rdma/ring
mpi_ring() {
	HOME=/tmp timeout 200 mpirun --allow-run-as-root --oversubscribe -n 2 --mca pml ucx --mca osc ucx \
		--mca btl ^openib,vader,tcp "$ring"
}

# A server that waits for its client holds a QP.
names_the_process() {
	local i ret

	ibv_rc_pingpong -d gda0 -p 18500 >/dev/null 2>&1 &
	for ((i = 0; i < 100; i++)); do
		rdma resource show qp >"$tmp/out" 2>&1
		! grep -q 'gda0.*comm ibv_rc_pingpong' "$tmp/out" || break
		sleep 0.1
	done
	grep -q 'gda0.*comm ibv_rc_pingpong' "$tmp/out"
	ret=$?
	kill $!
	return "$ret"
}

for pair in "${pairs[@]}"; do
	read -ra words <<<"$pair"
	ok_with "${words[1]}" "${words[0]}" both "${words[@]:1}"
done
rm -f "$tmp"/{out,err}
if [ -x "$ring" ]; then
	ok_with mpirun mpi_ring mpi_ring
else
	skip mpi_ring "no mpicc when the tests were built"
fi
ok_with ibv_rc_pingpong rdma_resource_names_the_process names_the_process
exit $rc
