#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# install.sh - what `make install` leaves is complete, and a program can be built and
# run against it by pkg-config alone. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-install.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 rc=0

# test NAME COMMAND...
test() {
	local name=$1

	n=$((n + 1))
	shift
	if "$@" >"$tmp/log" 2>&1; then
		echo "ok $n $name"
	else
		head -n 40 "$tmp/log" | sed 's/^/# /'
		echo "not ok $n $name"
		rc=1
	fi
}

cat >"$tmp/prog.c" <<'EOT'
#include <stdio.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

int main(void)
{
	struct gda_context *ctx;
	int err = gda_open("no such device", &ctx);

	puts(gda_strerror(err));
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

	for f in lib/libgda.so.2 lib/libgda.so lib/libgda.a lib/pkgconfig/gda.pc \
		lib/udev/rules.d/60-gda.rules lib/sysusers.d/gda.conf share/man/man4/gda.4 \
		share/man/man7/gda.7 share/man/man3/gda_put.3 \
		bin/gda-perf share/man/man1/gda-perf.1 bin/gda-run share/man/man1/gda-run.1 \
		bin/gdactl share/man/man1/gdactl.1; do
		[ -e "$tmp/root$prefix/$f" ] || { echo "no $f"; return 1; }
	done
	for f in uapi/gda/*.h lib/include/gda/*.h; do
		cmp "$f" "$tmp/root$prefix/include/gda/${f##*/}" || return 1
	done
}

# Only what is below the prefix, and no name that GNOME's libgda has.
contained() {
	find "$tmp/root" -type f ! -path "$tmp/root$prefix/*"
	find "$tmp/root" -name 'libgda-*'
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

echo 1..6
test "install" install
test "complete" complete
test "nothing elsewhere, nothing writable" nothing contained
test "the package's version" package --exact-version="$(
	sed -n 's/^LIB_VERSION[[:blank:]]*:=[[:blank:]]*//p' lib/lib.mk)" gda
test "a program with the shared library" shared
test "a program with the static library" static
exit $rc
