#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# install.sh - install what was built
#
# From the environment:
#
#   DESTDIR  put before every path            []
#   PREFIX   of everything but the modules    [/usr/local]
#   LIBDIR   the library                      [$PREFIX/lib]
#   BUILD    where the library was built      [build]
#   KREL     release of the kernel the modules are for, or "none"
#            [the one that runs, if its headers are here, else none]
#
# The modules are built here, if need be. Without DESTDIR, depmod is run. Installed
# files are listed in $PREFIX/share/gda/installed, for uninstall.sh.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD:-build}
dest=${DESTDIR-}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
version=$(tools/scripts/version.sh)
list=$prefix/share/gda/installed
installed=()

put() { # MODE FOLDER FILE...
	local mode=$1 dir=$dest$2 f

	for f in "${@:3}"; do
		installed+=("$2/${f##*/}")
	done
	shift 2
	install -d "$dir"
	install -m "$mode" "$@" "$dir/"
}

# The running kernel, if modules can be built for it.
running() {
	local build

	build=${LIB_MODULES:-/lib/modules}/$(uname -r)/build
	if [ -e "$build/Makefile" ]; then
		uname -r
		return
	fi
	echo "install.sh: no modules, for there are no headers of $(uname -r) here" \
		"(KREL=... names another kernel)" >&2
}

install_modules() {
	local krel=${KREL-}

	if [ -z "$krel" ]; then
		krel=$(running)
		HEADERS=${LIB_MODULES:-/lib/modules}/$krel/build
		export HEADERS
	elif [ "$krel" != none ]; then
		krel=$(tools/vm/gda-kernel release "$krel")
	fi
	case $krel in ''|none) return 0 ;; esac
	modules=$krel
	tools/scripts/modules.sh "$krel"
	put 644 "/lib/modules/$krel/updates/gda" build/"$krel"/kmod/*/gda_*.ko
	if [ -z "$dest" ]; then
		PATH=$PATH:/usr/sbin:/sbin depmod "$krel"
	fi
}

install_library() {
	put 755 "$libdir" "$build/lib/libgda.so.2"
	ln -sfn libgda.so.2 "$dest$libdir/libgda.so"
	put 755 "$libdir" "$build/lib/gda-dpa"
	installed+=("$libdir/libgda.so")
	put 644 "$libdir" "$build/lib/libgda.a"
	put 644 "$prefix/include/gda" uapi/gda/*.h lib/include/gda/*.h
	put 644 "$prefix/include/gda/gpu" lib/include/gda/gpu/*.h
	put 644 "$prefix/include/gda/gin" lib/include/gda/gin/*.h
	put 644 "$prefix/include/gda/wqe" lib/include/gda/wqe/*.h
	# For this prefix, even if the library was built for another one.
	install -d "$dest$libdir/pkgconfig"
	sed -e "s|@PREFIX@|$prefix|; s|@LIBDIR@|$libdir|; s|@VERSION@|$version|" \
		lib/gda.pc.in >"$dest$libdir/pkgconfig/gda.pc"
	chmod 644 "$dest$libdir/pkgconfig/gda.pc"
	installed+=("$libdir/pkgconfig/gda.pc")
}

# NCCL finds the plugin by NCCL_RMA_PLUGIN: a path, or the "gda" of its name.
install_nccl() {
	put 755 "$libdir" "$build/lib/libnccl-rma-gda.so"
}

# If the loader does not search this folder, programs need it in their run path, as those of oshcc
# have.
rpath() {
	case $libdir in
	/lib|/lib64|/lib/*-linux-gnu*|/usr/lib|/usr/lib64|/usr/lib/*-linux-gnu*) ;;
	*) printf '%s' "-Wl,-rpath,\${libdir} " ;;
	esac
}

# Open MPI installs an oshcc, too, so ours are in a separate folder.
install_shmem() {
	local bin=$libdir/gda/shmem/bin include=$prefix/include/gda-shmem name

	put 755 "$libdir" "$build/lib/libgda-shmem.so.1"
	ln -sfn libgda-shmem.so.1 "$dest$libdir/libgda-shmem.so"
	installed+=("$libdir/libgda-shmem.so")
	put 644 "$libdir" "$build/lib/libgda-shmem.a"
	put 644 "$include" lib/frontend/openshmem/include/*.h
	put 644 "$include/mpp" lib/frontend/openshmem/include/mpp/*.h
	install -d "$dest$bin"
	for name in oshcc oshc++ oshrun; do
		sed -e "s|^include=.*|include='$include'|; s|^libdir=.*|libdir='$libdir'|" \
			-e "s|^exec .*/gda-run|exec $prefix/bin/gda-run|" \
			"$build/shmem/bin/$name" >"$dest$bin/$name"
		chmod 755 "$dest$bin/$name"
		installed+=("$bin/$name")
	done
	sed -e "s|@PREFIX@|$prefix|; s|@LIBDIR@|$libdir|; s|@VERSION@|$version|" \
		-e "s|@INCLUDE@|$include|; s|@RPATH@|$(rpath)|" \
		lib/frontend/openshmem/gda-shmem.pc.in >"$dest$libdir/pkgconfig/gda-shmem.pc"
	chmod 644 "$dest$libdir/pkgconfig/gda-shmem.pc"
	installed+=("$libdir/pkgconfig/gda-shmem.pc")
}

install_tools() {
	put 755 "$prefix/bin" "$build/tools/gda-perf" "$build/tools/gda-run" \
		"$build/tools/gdactl"
}

install_man() {
	local section pages

	Documentation/build.sh man
	for section in 1 3 4 7; do
		mapfile -t pages < <(find "build/man/man$section" -name "*.$section" ! -name 'osh*')
		put 644 "$prefix/share/man/man$section" "${pages[@]}"
	done
	# Beside the commands, where man(1) searches if they are in PATH.
	put 644 "$libdir/gda/shmem/share/man/man1" build/man/man1/osh*.1
}

install_policy() {
	put 644 "$prefix/lib/udev/rules.d" tools/packaging/60-gda.rules
	install -d "$dest$prefix/lib/sysusers.d"
	install -m 644 tools/packaging/gda.sysusers "$dest$prefix/lib/sysusers.d/gda.conf"
	installed+=("$prefix/lib/sysusers.d/gda.conf")
}

# Files of earlier versions that this one did not replace stay on the list.
list_installed() {
	local tmp

	tmp=$(mktemp)
	installed+=("$list")
	{
		printf '%s\n' "${installed[@]}"
		if [ -e "$dest$list" ]; then cat "$dest$list"; fi
	} | sort -u >"$tmp"
	install -d "$dest${list%/*}"
	install -m 644 "$tmp" "$dest$list"
	rm -f "$tmp"
}

# Print the remaining steps for the user; a package does them in its scripts.
next() {
	local root='' name

	[ -z "$dest" ] || return 0
	[ "$(id -u)" = 0 ] || root=', as root'
	echo "Installed below $prefix. Next$root:"
	if [ -n "$(rpath)" ]; then
		case :${LD_LIBRARY_PATH-}: in
		*":$libdir:"*) ;;
		*) echo "  echo $libdir >/etc/ld.so.conf.d/gda.conf; ldconfig     # programs find libgda" ;;
		esac
		echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig PATH=\$PATH:$prefix/bin:$libdir/gda/shmem/bin"
	fi
	if [ -n "${modules-}" ]; then
		for name in sysusers.d/gda.conf udev/rules.d/60-gda.rules; do
			case $prefix in
			/usr|/usr/local) ;;
			*) echo "  ln -s $prefix/lib/$name /etc/$name" ;;
			esac
		done
		echo "  systemd-sysusers; udevadm control --reload                # group gda, the rule of /dev/gda"
		echo "  modprobe gda_mr; usermod -aG gda USER                     # USER logs in again"
	else
		echo "  no modules were installed: device inproc, verbs: devices and OpenSHMEM work without"
	fi
	echo "  $prefix/bin/gdactl doctor                                 # what works here, and why not"
}

install_library
install_shmem
install_nccl
install_tools
install_man
install_policy
install_modules
list_installed
next
