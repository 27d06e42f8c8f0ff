#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# doctor.sh - every answer of gdactl doctor that can be provoked is. Speaks KTAP.
#
# shellcheck disable=SC2016,SC2317	# functions are called by name, and shells have arguments

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
gdactl=$PWD/build/tools/gdactl
here=$PWD/build/selftests/tools
. selftests/lib/ktap.sh

# device SOFT|INPROC: its name, which stands in one place
device() {
	sed -n "s/^#define GDA_DEVICE_$1[[:blank:]]*\"\(.*\)\"$/\1/p" uapi/gda/ioctl.h \
		lib/include/gda/gda.h
}
soft=$(device SOFT) inproc=$(device INPROC)

# says NAME works|fails REGEX COMMAND...: the line of NAME in what COMMAND prints. It prints all lines
# at once, and each program that is started takes half a second in a guest: so one run a COMMAND, and
# none to look at what it said.
declare -A said=()
says() {
	local name=$1 want=$2 regex=$3 row='' line

	shift 3
	[ "${said[$*]+known}" ] || { "$@" >"$tmp/all" 2>&1; said[$*]=$(<"$tmp/all"); }
	while read -r line; do
		[[ $line == *"\"name\":\"$name\","* ]] || continue
		[[ $line =~ \"works\":([a-z]*),\"reason\":\"(.*)\",\"advice\":\"(.*)\"\} ]] || continue
		row="${BASH_REMATCH[1]} ${BASH_REMATCH[2]} -> ${BASH_REMATCH[3]}"
	done <<<"${said[$*]}"
	row=${row/#true/works}
	ok "$name $want: $regex" answers "$want" "$regex" "${row/#false/fails}"
}

answers() { # works|fails REGEX ROW
	echo "$3"
	[[ $3 == "$1 "* && $3 =~ $2 ]]
}

doctor() { "$gdactl" doctor --json; }
as_user() { setpriv --reuid 65534 --regid 65534 --groups "$1" "$gdactl" doctor --json; }
old() { setarch --uname-2.6 "$gdactl" doctor --json; }
# A driver of CUDA's that does nothing.
cuda() { LD_LIBRARY_PATH=$here "$gdactl" doctor --json; }

# NODE... are the null device, in a mount namespace that has these and /dev/gda alone.
null() {
	unshare -m bash -c '
		set -e
		mkdir -p "$0/dev"
		mount -t tmpfs none "$0/dev"
		cp -a /dev/gda "$0/dev"
		for node in "${@:2}"; do
			mkdir -p "$0/${node%/*}"
			mknod -m 666 "$0/$node" c 1 3
		done
		mount --move "$0/dev" /dev
		exec "$1" doctor --json' "$tmp" "$gdactl" "$@"
}

# Firmware that says so of Secure Boot: in a mount namespace, there may be no EFI here.
firmware() { # 0|1
	unshare -m bash -c '
		set -e
		mount -t tmpfs none /sys/firmware
		mkdir -p /sys/firmware/efi/efivars
		cd /sys/firmware/efi/efivars
		printf "\6\0\0\0\\$2" >SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
		exec "$1" doctor --json' - "$gdactl" "$1"
}

# A kernel that says so of itself.
locked() { # MODE
	unshare -m bash -c '
		set -e
		mount -t tmpfs none /sys/kernel/security
		echo "$2" >/sys/kernel/security/lockdown
		exec "$1" doctor --json' - "$gdactl" "$1"
}

driver() { GDA_REFUSED=${1-} LD_PRELOAD=$here/driver.so "$gdactl" doctor --json; }
threadless() { (ulimit -u 1; as_user 7777); }
little() { (ulimit -l "$1"; as_user 7777); }

without() { # MODULE FUNCTION...
	local m=$1 f

	shift
	for f in gda_test gda_mr gda_core; do
		[ ! -d "/sys/module/$f" ] || rmmod "$f"
		[ "$f" = "$m" ] && break
	done
	"$@"
	for f in kmod/gda_core kmod/gda_mr selftests/kmod/gda_test; do
		m=${f##*/}
		[ -d "/sys/module/$m" ] || insmod "build/$(uname -r)/$f/$m.ko"
	done
	chown 0:7777 /dev/gda && chmod 660 /dev/gda
}

# A kernel for which the modules are installed; in a mount namespace.
installed() { # COMMAND...
	unshare -m bash -c '
		set -e
		mkdir -p "$0/modules/$(uname -r)"
		printf "updates/gda/%s.ko:\n" gda_core gda_mr >"$0/modules/$(uname -r)/modules.dep"
		mount --bind "$0/modules" /lib/modules
		exec "$@"' "$tmp" "$@"
}
with_modules() { installed "$gdactl" doctor --json; }
locked_with() { installed bash -c '
	mount -t tmpfs none /sys/kernel/security && echo "$1" >/sys/kernel/security/lockdown &&
	exec "$0" doctor --json' "$gdactl" "$1"; }
# No /proc: no process may open the heap of another.
no_proc() { unshare -m bash -c 'mount -t tmpfs none /proc && exec "$0" doctor --json' "$gdactl"; }

nodes() { # PATH NAME: what is there, if the kernel has it, and what is said if not
	if [ -e "$1" ]; then
		says "$2" works registered doctor
		says "$2" fails "Permission denied" as_user 7777
	else
		says "$2" fails "no $1: a kernel with CONFIG_" doctor
		says "$2" fails "no $1: a kernel with CONFIG_" as_user 7777
	fi
}

# rxe0 on an interface that leads nowhere, and what can be wrong with it.
no_namespace() { unshare -n "$gdactl" doctor --json; }
port_down() {
	ip link set gda-dummy down
	doctor
	ip link set gda-dummy up
}
# ib_core says that each device is in one namespace: in a mount namespace, others may be there.
exclusive() {
	unshare -m bash -c '
		set -e
		echo N >"$0/mode"
		mount --bind "$0/mode" /sys/module/ib_core/parameters/netns_mode
		exec "$1" doctor --json' "$tmp" "$gdactl"
}
named() { GDA_DEVICE=ib:none0 doctor; }

network() {
	says "RDMA device" fails "no RDMA device.*rdma link add" doctor
	says "RDMA device" fails "GDA_DEVICE names none0.*no such.*rdma link" named
	says address fails "needs an RDMA device" doctor
	says "ib (kernel)" fails "needs an RDMA device" doctor
	says "verbs of users" fails "/dev/infiniband/uverbs.*(modprobe ib_uverbs|this container|has ib_uverbs)" null
	says "memory limit" works "CAP_IPC_LOCK|no limit" doctor
	says "memory limit" works "KiB a process|no limit" as_user 7777
	says "memory limit" fails "RLIMIT_MEMLOCK of 8 KiB.*ulimit" little 8
	if ! tools/vm/rxe.sh >"$tmp/rxe" 2>&1; then
		for _ in 1 2 3 4 5 6; do
			skip rxe "$(tail -n 1 "$tmp/rxe")"
		done
		return
	fi
	says "RDMA device" works "port 1 of rxe0 is active, Ethernet" with_rxe
	says address works "rxe0 has 10.9.0.1" with_rxe
	says "verbs of users" works "may use the devices" with_rxe
	says address fails "no IP address of this network namespace" no_namespace
	says "RDMA device" fails "port 1 of rxe0 is .*DOWN.*ip link set gda-dummy up" port_down
	rdma link del rxe0
	ip link del gda-dummy
	says "RDMA device" fails "in this network namespace; none is shared.*rdma dev set" exclusive
}

# gda0 is no way to another machine.
without_gda0() { doctor; }
with_gda0() { doctor; }
verbs_programs() {
	local module

	module=build/$(uname -r)/kmod/gda_rdma/gda_rdma.ko
	says "verbs programs" fails "gda_rdma is not loaded.*(modprobe gda_rdma|install package)" without_gda0
	if ! modprobe -q ib_uverbs || ! insmod "$module"; then
		for _ in 1 2; do
			skip gda0 "no ib_uverbs here, or no gda_rdma for this kernel"
		done
		return
	fi
	says "verbs programs" works "gda0, within this machine alone" with_gda0
	says "RDMA device" fails "no RDMA device" with_gda0
	rmmod gda_rdma
}
with_rxe() { as_user 7777; }

echo "TAP version 13"
echo 1..64
says kernel works "Linux [0-9]+[.][0-9]+" doctor
says kernel fails "is older than 6.1.*newer" old
says module works "gda_mr too" doctor
says access works "may be opened" doctor
says access fails "root and group .*7777.*user [a-z]+ is not in it.*usermod -aG gda [a-z]+" as_user 65534
says "$soft (kernel)" works "device $soft" doctor
says "$soft (kernel)" fails "see above" as_user 65534
says user works "RLIMIT_MEMLOCK" as_user 7777
says user fails "RLIMIT_MEMLOCK of 8 KiB is too small.*ulimit" little 8
says user fails "needs the device" as_user 65534
nodes /dev/udmabuf "dma-buf: udmabuf"
nodes /dev/dma_heap/system "dma-buf: heap"
says "dma-buf: udmabuf" fails "udmabuf gives no buffer: Inappropriate ioctl" null /dev/udmabuf
says "dma-buf: heap" fails "the heap gives no buffer: Inappropriate ioctl" null /dev/dma_heap/system
says "dma-buf: udmabuf" fails "no /dev/udmabuf: a kernel with CONFIG_UDMABUF" null
says "dma-buf: heap" fails "no /dev/dma_heap/system: a kernel with CONFIG_DMABUF_HEAPS" null
if [ -e /dev/udmabuf ]; then
	says "dma-buf: udmabuf" fails "a buffer of udmabuf: " driver MR_REG_DMABUF
else
	skip "dma-buf: udmabuf" "no /dev/udmabuf"
fi
says user fails "the work request failed" driver MR_REG_USER
says "$inproc (library)" fails "no thread.*RLIMIT_NPROC.*ulimit -u" threadless
says "$inproc (library)" works "no module" as_user 65534
network
verbs_programs
if ldconfig -p | grep -q 'libcuda\.so\.1'; then
	skip "GPU, by dma-buf" "there is a driver of CUDA's"
else
	says "GPU, by dma-buf" fails "no libcuda" doctor
fi
says "GPU, by dma-buf" fails "window of the CPU.*in-process" cuda
says "for devices" works "exported" as_user 7777
says "for devices" fails "cannot export queues.*load the newest gda_core" driver
says peer works "by address, of .*gda_test" as_user 7777
says peer fails "no driver .* has registered" without gda_test doctor
says user fails "gda_mr, the module .*modprobe" without gda_mr with_modules
says "GPU, by dma-buf" fails "gda_mr, the module .*modprobe" without gda_mr with_modules
says user fails "gda_mr, the module .*not installed.*install package gda-dkms" without gda_mr doctor
says access fails "no /dev/gda: gda_core makes it" without gda_core doctor
says "for devices" fails "needs the device" as_user 65534
says module fails "gda_core is not installed for this kernel.*gda-dkms, or make install" without gda_core doctor
says module fails "not loaded -> as root: modprobe" without gda_core with_modules
says module fails "not installed" without gda_core firmware 0
says module fails "not loaded -> as root: modprobe" without gda_core \
	locked_with "[none] integrity confidentiality"
says "OpenSHMEM" works "between processes of a user, by mapped memory" as_user 65534
says "OpenSHMEM" fails "may not open another one's heap" no_proc
says "gin" works "between processes, by" as_user 7777
says "gin" fails "not between processes.*ranks as threads" as_user 65534
says "async" fails "not between processes" as_user 65534
says "dpa" works "gda-dpa" as_user 65534
says module fails "would be refused: the kernel is locked down -> sign the modules" without gda_core \
	locked "none [integrity] confidentiality"
says module fails "would be refused: Secure Boot is on -> sign the modules" without gda_core firmware 1
status() { doctor && ! as_user 65534; }
json() { doctor | python3 -m json.tool; }
ok "exit status" status
ok JSON json
exit $rc
