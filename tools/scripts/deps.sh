#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# deps.sh GROUP - check that the packages are installed that GROUP (demo, perf, perf-shmem, check,
# newest, arm64, debug, lint, docs, deb, rpm, arch, litmus, vendors) needs
#
# For root it installs them by apt; for anyone else it prints the line that does. The kernels are
# not installed but unpacked into the build folder (gda-kernel).

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build="gcc gcc-12 libc6-dev make kmod pahole libelf1 libssl3"
rdma="libibverbs-dev librdmacm-dev ibverbs-providers iproute2 perftest ibverbs-utils"
programs="ucx-utils libfabric-bin libopenmpi-dev"
tests="gcc-12-multilib libc6-dev-i386 $rdma $programs g++ pkg-config python3 patch valgrind"
ranks="libpmix-dev openmpi-bin procps python3-numpy python3-venv"
netlink="libnl-3-dev libnl-genl-3-dev pkg-config python3-yaml python3-jsonschema"
lint="librdmacm-dev xz-utils git perl python3 shellcheck sparse coccinelle clang clang-format g++"
lint="$lint mandoc codespell reuse"
cross="gcc-12-multilib libc6-dev-i386 musl-tools qemu-user-static"
for a in aarch64:arm64 riscv64:riscv64 s390x:s390x; do
	cross="$cross gcc-${a%:*}-linux-gnu libc6-dev-${a#*:}-cross"
done
guest="qemu-system-x86 busybox-static cpio xz-utils zstd"
case ${1-} in
demo) packages="$build $guest" kernels="6.12" ;;
perf) packages="$build $guest $rdma" kernels="6.12" ;;
perf-shmem) packages="gcc libc6-dev make openmpi-bin libopenmpi-dev" kernels="" ;;
check) packages="$build $guest $tests $ranks $netlink" kernels="6.12 6.1" ;;
newest) packages="$build $guest debian-archive-keyring util-linux" kernels="newest" ;;
arm64)
	packages="$build qemu-system-arm cpio xz-utils gcc-aarch64-linux-gnu g++-aarch64-linux-gnu
		libc6-dev-arm64-cross pkg-config debian-archive-keyring"
	kernels="6.12-arm64" ;;
debug) packages="$build $guest $rdma linux-source-6.12 flex bison bc libelf-dev libssl-dev lz4" kernels="" ;;
lint) packages="$build $lint $netlink" kernels="6.12 6.1" ;;
docs) packages="make perl xz-utils graphviz python3-sphinx python3-sphinx-rtd-theme" kernels="" ;;
deb) packages="$build $rdma $netlink debhelper dh-dkms dh-python dpkg-dev libpmix-dev lintian" kernels="" ;;
rpm) packages="$build $rdma $netlink git libpmix-dev perl python3 rpm rpmlint" kernels="" ;;
arch) packages="make $cross libibverbs-dev xz-utils" kernels="" ;;
litmus) packages="make gcc-aarch64-linux-gnu libc6-dev-arm64-cross debian-archive-keyring util-linux" kernels="" ;;
vendors) packages="$build $tests python3-pip xz-utils" kernels="" ;;
*)
	echo "usage: deps.sh demo|perf|perf-shmem|check|newest|arm64|debug|lint|docs|deb|rpm|arch|litmus|vendors" >&2
	exit 2 ;;
esac

command -v dpkg-query >/dev/null || { echo "not Debian: see to it that these are here: $packages"; exit 0; }

missing=()
for p in $packages; do
	[ "$(dpkg-query -Wf '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
fetch=()
for k in $kernels; do
	# the newest kernel may change from day to day
	{ [ "$k" != newest ] && tools/vm/gda-kernel here "$k"; } || fetch+=("$k")
done

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" != 0 ]; then
	echo "Packages are missing. As root: ${install[*]}" >&2
	exit 1
fi
if [ "$(id -u)" = 0 ] && [ $((${#missing[@]} + ${#fetch[@]})) -gt 0 ]; then
	export DEBIAN_FRONTEND=noninteractive
	tools/scripts/step.sh "package lists" apt-get -qq update
fi
if [ ${#missing[@]} -gt 0 ]; then
	echo "packages: ${missing[*]}"
	tools/scripts/step.sh "packages" "${install[@]}" -qq -o Dpkg::Use-Pty=0
fi
for k in "${fetch[@]}"; do
	tools/scripts/step.sh "kernel $k" tools/vm/gda-kernel fetch "$k"
done
