#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh - unpack the kernel's own checkers, and what its selftests include, once, and
# print the folder. Searching the archive takes 15 s, however little is extracted.
#
# Of coccicheck's 73 semantic patches only those are taken that find bugs rather than style, that
# apply here, and that take seconds. deref_null is left out, because it does not understand swap()
# of pointers.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$PWD/build/linux-source
mkdir -p build
(
	flock 9
	[ -e "$dir/eno.cocci" ] && [ -e "$dir/ynl-gen-c.py" ] && [ -e "$dir/kselftest.h" ] && exit
	rm -rf "$dir" "$dir.new"
	tools/scripts/linux-source.sh "$dir.new" \
		scripts/{checkpatch.pl,const_structs.checkpatch,spelling.txt,kernel-doc} \
		Documentation/sphinx/{kerneldoc,kernellog}.py \
		tools/net/ynl/{ynl-gen-c.py,cli.py,lib/{__init__,nlspec,ynl}.py} \
		Documentation/netlink/genetlink-legacy.yaml \
		tools/testing/selftests/{kselftest,kselftest_harness}.h \
		scripts/coccinelle/free/{kfree,ifnullfree}.cocci \
		scripts/coccinelle/iterators/{use_after_iter,list_entry_update}.cocci \
		scripts/coccinelle/locks/{call_kern,double_lock,flags,mini_lock}.cocci \
		scripts/coccinelle/null/eno.cocci \
		scripts/coccinelle/tests/{odd_ptr_err,unsigned_lesser_than_zero}.cocci
	mv "$dir.new" "$dir"
) 9>"$dir.lock"
echo "$dir"
