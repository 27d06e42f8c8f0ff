#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# pack.sh TARGET FOLDER - make selftests/fuzz/corpus/TARGET.tar.xz of the inputs in FOLDER
#
# The same inputs make the same archive. Inputs that stand for a bug that was found do not
# go into it: they keep a name of their own, in selftests/fuzz/corpus/TARGET/.

set -euo pipefail

[ $# = 2 ] || { echo "usage: pack.sh TARGET FOLDER" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
(cd "$2" && find . -maxdepth 1 -type f -printf '%P\0') | LC_ALL=C sort -z |
	tar --create --directory="$2" --null --files-from=- --format=ustar --mtime=@0 \
		--owner=0 --group=0 --numeric-owner --mode=644 |
	xz -9e --threads=1 >"selftests/fuzz/corpus/$1.tar.xz"
