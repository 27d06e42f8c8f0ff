#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# calls.sh - calls.py with the library of the build folder. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${BUILD:-build}

if ! command -v python3 >/dev/null; then
	echo 1..1
	echo 'ok 1 calls # SKIP python3 is missing'
	exit
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gda-test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/sizes.c" <<'EOT'
#include <stdio.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

int main(void)
{
	printf("gda_qp_attr %zu\ngda_address %zu\ngda_error %zu\nversion " GDA_VERSION_STRING "\n",
	       sizeof(struct gda_qp_attr), sizeof(struct gda_address), sizeof(struct gda_error));
	return 0;
}
EOT
gcc -O2 -Iuapi -Ilib/include "$tmp/sizes.c" -o "$tmp/sizes" || exit
GDA_SIZES=$("$tmp/sizes") GDA_LIBRARY=$PWD/$build/lib/libgda.so.2 PYTHONPATH=lib/binding/python \
	PYTHONDONTWRITEBYTECODE=1 python3 selftests/python/calls.py
