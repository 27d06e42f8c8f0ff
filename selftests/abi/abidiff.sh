#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# abidiff.sh - the library has the ABI that selftests/abi/libgda.abi and that of the last release
# keep, or more of it; and what compares the two finds a member that was put in between others. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
build=${BUILD:-build}
baseline=selftests/abi/libgda.abi

skip() {
	echo 1..1
	echo "ok 1 abidiff # SKIP $1"
	exit
}

command -v abidiff >/dev/null || skip "abigail-tools is not installed"
[ "$(uname -m)" = x86_64 ] || skip "the baseline is of x86-64"

same() { # BASELINE LIBRARY
	abidiff --suppressions selftests/abi/appended.suppr --exported-interfaces-only \
		--no-added-syms "$1" "$2"
}

of_baseline() {
	local tag

	same "$baseline" "$build/lib/libgda.so.2" || return
	tag=$(selftests/abi/release.sh tag)
	[ -z "$tag" ] || {
		git cat-file blob "$tag:$baseline" >"$tmp/released.abi" &&
			same "$tmp/released.abi" "$build/lib/libgda.so.2"
	}
}

small() {
	local bytes

	bytes=$(stat -c %s "$baseline")
	echo "# $bytes bytes"
	[ "$bytes" -lt 200000 ]
}

# The library's qp.c alone, with a gda.h that sed has changed.
plant() { # NAME SED
	mkdir -p "$tmp/$1/lib"
	cp -r uapi "$tmp/$1/"
	cp -r lib/include lib/core lib/host lib/device/inproc "$tmp/$1/lib/"
	sed -i "$2" "$tmp/$1/lib/include/gda/gda.h"
	(cd "$tmp/$1" && gcc -shared -fPIC -g -O1 -Iuapi -Ilib/include -Ilib/core -Ilib/host \
		-Ilib/device/inproc -Ilib/device/copier \
		-Wl,-soname,libgda.so.2 -o "$tmp/$1.so" lib/core/qp.c)
}

as_it_is() {
	plant now '' && selftests/abi/abi-of.sh "$tmp/now.so" "$tmp/now" >"$tmp/now.abi" &&
		grep -q "class-decl name='gda_qp_attr' size" "$tmp/now.abi" && same "$tmp/now.abi" "$tmp/now.so"
}

attr='/^struct gda_qp_attr {/,/^};/'

# abidiff's status: 4 is a change, 1 and 2 are its own failures.
in_the_middle() {
	plant middle "${attr}s/^\tuint64_t timeout_ns;/\tuint64_t planted;\n&/" || return
	same "$tmp/now.abi" "$tmp/middle.so"
	[ $(($? & 7)) = 4 ]
}

appended() {
	plant end "${attr}s/^};/\tuint64_t planted;\n&/" && ! cmp -s "$tmp/now.so" "$tmp/end.so" &&
		same "$tmp/now.abi" "$tmp/end.so"
}

echo 1..5
ok "the library has the ABI of the baseline" of_baseline
ok "the baseline is small" small
ok "the same is the same" as_it_is
ok "a member in the middle is found" in_the_middle
ok "a member at the end passes" appended
exit $rc
