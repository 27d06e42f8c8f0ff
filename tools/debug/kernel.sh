#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kernel.sh debug|kcsan - print "FOLDER RELEASE" of that kernel; build it if need be
#
# It is built once of package linux-source-6.12 with selftests/config, and kept
# outside the tree, in ${GDA_CACHE:-~/.cache/gda}/kernel-VERSION-HASH, HASH being
# that of the configuration and the compiler. FOLDER is laid out as gda-kernel's
# cache: with GDA_CACHE=FOLDER it and gda-vm take RELEASE as any other kernel.
#
#   kernel.sh config debug|kcsan     print the configuration asked for
#   kernel.sh have debug|kcsan       is it built?

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
pkg=linux-source-6.12
root=${GDA_CACHE:-$HOME/.cache/gda}
cmd=build
case ${1-} in config|have) cmd=$1; shift ;; esac
what=${1-}
case $what in debug|kcsan) ;; *) echo "usage: kernel.sh [config|have] debug|kcsan" >&2; exit 2 ;; esac

say() { echo "kernel.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# The configuration, an option per line; for kcsan, lines marked so replace the others.
config() {
	awk -v kcsan="$([ "$1" = kcsan ] && echo 1)" '
		!/^CONFIG_/ { next }
		{ split($0, a, "=") }
		sub(/ *# kcsan$/, "") { if (kcsan) other[a[1]] = $0; next }
		!(a[1] in val) { name[n++] = a[1] }
		{ val[a[1]] = $0 }
		END {
			for (i = 0; i < n; i++)
				if (!(name[i] in other)) print val[name[i]]
			for (x in other) print other[x] | "sort"
		}' selftests/config
}

# The archive: of this machine, or else of the package, which is downloaded.
archive() {
	local tar=/usr/src/$pkg.tar.xz tmp=$root/$pkg.new

	if [ -r "$tar" ]; then
		echo "$tar"
		return
	fi
	rm -rf "$tmp"
	mkdir -p "$tmp"
	say "downloading $pkg"
	(cd "$tmp" && apt-get -qq download "$pkg" 2>log) || { cat "$tmp/log" >&2; return 1; }
	dpkg-deb --fsys-tarfile "$tmp"/*.deb | tar -x -C "$tmp" "./usr/src/$pkg.tar.xz"
	echo "$tmp/usr/src/$pkg.tar.xz"
}

# Options whose result differs from the request: a warning is enough, because some names come and go
# with the version.
compare() {
	local line name

	while read -r line; do
		name=${line%%=*}
		case $line in
		*=n) ! grep -q "^$name=" "$2" || say "not as asked for: $line" ;;
		*) grep -qxF "$line" "$2" || say "not as asked for: $line" ;;
		esac
	done <"$1"
}

build() {
	local src=$root/$pkg-$version obj=$dir/build rel tar
	local make=(nice -n 19 make -s -C "$src" O="$obj")
	! command -v ionice >/dev/null || make=(ionice -c 3 "${make[@]}")
	# Modules that are built against this kernel are instrumented nevertheless.
	[ "$what" != kcsan ] || make+=(KCSAN_SANITIZE=n)

	if [ ! -e "$src/Makefile" ]; then
		tar=$(archive)
		say "unpacking $tar"
		rm -rf "$src.new"
		mkdir -p "$src.new"
		tar -xJf "$tar" -C "$src.new" --strip-components=1
		mv "$src.new" "$src"
		rm -rf "$root/$pkg.new"
	fi
	mkdir -p "$obj"
	config "$what" >"$dir/config"
	KCONFIG_ALLCONFIG=$dir/config "${make[@]}" allnoconfig >&2
	compare "$dir/config" "$obj/.config"
	say "building the $what kernel, which takes 15 to 30 minutes on two processors"
	"${make[@]}" -j "$(nproc)" bzImage modules >&2
	rel=$("${make[@]}" kernelrelease)
	rm -rf "${dir:?}/$rel"
	mkdir -p "$dir/$rel/image/boot" "$dir/$rel/headers/usr/src"
	"${make[@]}" INSTALL_MOD_PATH="$dir/$rel/image" modules_install >&2
	rm -f "$dir/$rel/image/lib/modules/$rel"/{build,source}
	cp "$obj/arch/x86/boot/bzImage" "$dir/$rel/image/boot/vmlinuz-$rel"
	ln -sfn "$obj" "$dir/$rel/headers/usr/src/linux-headers-$rel"
	# Sections that neither modules nor addr2line use.
	find "$obj" -name '*.o' ! -path "$obj/scripts/*" ! -path "$obj/tools/*" -delete
	find "$obj" \( -name '*.a' -o -name '.*.cmd' \) ! -path "$obj/scripts/*" \
		! -path "$obj/tools/*" -delete
	rm -f "$obj"/.tmp_vmlinux* "$obj"/.vmlinux.*
	echo "$rel" >"$dir/release"
}

[ "$cmd" != config ] || { config "$what"; exit; }
version=$(dpkg-query -Wf '${Version}' $pkg 2>/dev/null) ||
	version=$(apt-cache policy $pkg | awk '/Candidate:/ { print $2 }')
case $version in *[0-9]*) ;; *) die "no package $pkg (apt-get update?)" ;; esac
version=${version//[^0-9A-Za-z.+~-]/_}
hash=$({ config "$what"; gcc --version; } | sha256sum | cut -c 1-12)
dir=$root/kernel-$version-$hash
[ "$cmd" != have ] || { [ -e "$dir/release" ]; exit; }
if [ ! -e "$dir/release" ]; then
	mkdir -p "$dir"
	(flock 9; [ -e "$dir/release" ] || build) 9>"$dir/lock"
fi
echo "$dir $(<"$dir/release")"
