#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# install.sh - what `make install` leaves is complete, and a program can be built and
# run against it by pkg-config alone. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh

cat >"$tmp/prog.c" <<'EOT'
#include <stdio.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

int main(void)
{
	struct gda_context *ctx;
	int err = gda_open("no such device", &ctx);

	puts(gda_last_error());
	if (gda_version() != GDA_VERSION)
		return 1;
	return err ? 0 : 1;
}
EOT

# With this prefix, which is not where the library was built for.
prefix=/opt/gda

install() {
	DESTDIR=$tmp/root PREFIX=$prefix KREL=none tools/packaging/install.sh
}

complete() {
	local f

	for f in lib/libgda.so.2 lib/gda-dpa lib/libgda.so lib/libgda.a lib/pkgconfig/gda.pc \
		lib/libnccl-rma-gda.so \
		lib/udev/rules.d/60-gda.rules lib/sysusers.d/gda.conf share/man/man4/gda.4 \
		share/man/man7/gda.7 share/man/man3/gda_put.3 \
		bin/gda-perf share/man/man1/gda-perf.1 bin/gda-run share/man/man1/gda-run.1 \
		bin/gdactl share/man/man1/gdactl.1 share/man/man1/gda-dpa.1 \
		lib/gda/shmem/bin/oshcc lib/gda/shmem/share/man/man1/oshcc.1 \
		lib/gda/shmem/bin/oshc++ lib/gda/shmem/share/man/man1/oshc++.1 \
		lib/gda/shmem/bin/oshrun lib/gda/shmem/share/man/man1/oshrun.1; do
		[ -e "$tmp/root$prefix/$f" ] || { echo "no $f"; return 1; }
	done
	for f in uapi/gda/*.h lib/include/gda/*.h lib/include/gda/{gpu,wqe}/*.h; do
		cmp "$f" "$tmp/root$prefix/include/gda/${f##*include/gda/}" 2>/dev/null ||
			cmp "$f" "$tmp/root$prefix/include/gda/${f##*/}" || return 1
	done
}

# Only what is below the prefix, and no name that GNOME's libgda has.
contained() {
	find "$tmp/root" -type f ! -path "$tmp/root$prefix/*"
	find "$tmp/root" -name 'libgda-[0-9]*'
	find "$tmp/root" \( -type f -o -type d \) -perm /022
}

nothing() {
	"$@" >"$tmp/out"
	cat "$tmp/out"
	[ ! -s "$tmp/out" ]
}

package() {
	PKG_CONFIG_PATH=$tmp/root$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tmp/root \
		pkg-config "$@"
}

# shellcheck disable=SC2046	# flags are words
shared() {
	gcc -Wall -Wextra -Werror "$tmp/prog.c" -o "$tmp/shared" $(package --cflags --libs gda) &&
		LD_LIBRARY_PATH=$tmp/root$prefix/lib "$tmp/shared"
}

# shellcheck disable=SC2046
static() {
	gcc -Wall -Wextra -Werror -static "$tmp/prog.c" -o "$tmp/static" \
		$(package --static --cflags --libs gda) && "$tmp/static"
}

# Without DESTDIR, into a prefix of one's own: OpenSHMEM programs are linked by pkg-config and run, and
# install.sh says what is next. (Issue 40, item 17.)
# shellcheck disable=SC2046	# flags are words
I40_17_prefix() {
	PREFIX=$tmp/prefix KREL=none tools/packaging/install.sh >"$tmp/next" &&
		gcc examples/shmem/hello.c -o "$tmp/hello" $(PKG_CONFIG_PATH=$tmp/prefix/lib/pkgconfig \
			pkg-config --cflags --libs gda-shmem) &&
		"$tmp/prefix/bin/gda-run" -n 2 "$tmp/hello"
}

I40_17_next() {
	grep -q "Next" "$tmp/next" && grep -q "ldconfig" "$tmp/next" && grep -q "gdactl doctor" "$tmp/next" &&
		grep -q "no modules were installed" "$tmp/next" && cat "$tmp/next"
}

I40_17_oshcc_show() {
	local line

	line=$("$tmp/prefix/lib/gda/shmem/bin/oshcc" -show -O2 examples/shmem/hello.c -o "$tmp/hello2") &&
		[ ! -e "$tmp/hello2" ] && [[ $line = "cc -I$tmp/prefix/include/gda-shmem -O2 "*"-lgda-shmem" ]] &&
		$line && "$tmp/prefix/bin/gda-run" -n 2 "$tmp/hello2"
}

# Without KREL, modules are for the kernel that runs, or for none.
running() { # RELEASE LIB_MODULES
	mkdir -p "$tmp/bin"
	printf '#!/bin/sh\n[ "$*" = -r ] && echo %s\n' "$1" >"$tmp/bin/uname"
	chmod +x "$tmp/bin/uname"
	rm -rf "$tmp/root2"
	PATH=$tmp/bin:$PATH LIB_MODULES=$2 DESTDIR=$tmp/root2 PREFIX=$prefix \
		tools/packaging/install.sh
}

other_kernel() {
	running 0.0.0-none /nowhere || return
	[ -e "$tmp/root2$prefix/lib/libgda.so.2" ] && [ ! -e "$tmp/root2/lib/modules" ]
}

this_kernel() {
	mkdir -p "$tmp/modules/$rel"
	ln -sfn "$(tools/vm/gda-kernel headers "$rel")" "$tmp/modules/$rel/build"
	running "$rel" "$tmp/modules" || return
	[ -e "$tmp/root2/lib/modules/$rel/updates/gda/gda_core.ko" ] &&
		[ "$(ls "$tmp/root2/lib/modules")" = "$rel" ]
}

# Files of others stay; nothing else does but folders that are not ours alone.
uninstall() {
	touch "$tmp/root$prefix/bin/other" "$tmp/root$prefix/share/man/man3/other"
	DESTDIR=$tmp/root PREFIX=$prefix tools/packaging/uninstall.sh || return
	(cd "$tmp/root$prefix" && find . ! -type d -o -name gda -o -name gda-shmem | sort) >"$tmp/left"
	printf '%s\n' ./bin/other ./share/man/man3/other | diff - "$tmp/left" &&
		! DESTDIR=$tmp/root PREFIX=$prefix tools/packaging/uninstall.sh
}

versions() {
	local t v

	v=$(tools/scripts/version.sh)
	for t in gdactl gda-perf gda-run; do
		[ "$("$tmp/root$prefix/bin/$t" --version)" = "$t $v" ] || { echo "$t"; return 1; }
	done
}

# Use modules that are built already: that takes minutes, and `make check` does it before.
rel=
built=(build/*/kmod/gda_core/gda_core.ko)
if [ -e "${built[0]}" ]; then
	rel=${built[0]#build/} rel=${rel%%/*}
fi

echo 1..13
ok "install" install
ok "complete" complete
ok "nothing elsewhere, nothing writable" nothing contained
ok "the package's version" package --exact-version="$(tools/scripts/version.sh)" gda
ok "a program with the shared library" shared
ok "a program with the static library" static
ok "every tool says its version" versions
ok "no modules for another kernel than the one that runs" other_kernel
if [ -n "$rel" ]; then
	ok "modules for the kernel that runs" this_kernel
else
	skip "modules for the kernel that runs" "none are built here"
fi
for t in I40_17_prefix I40_17_next I40_17_oshcc_show; do ok $t $t; done
ok "uninstall" uninstall
exit $rc
