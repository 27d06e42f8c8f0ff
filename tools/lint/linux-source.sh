#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# linux-source.sh - unpack the kernel's own checkers, and what its selftests include, once,
# and print the folder: to search the archive takes 15 s, whatever is taken from it
#
# Semantic patches are those that find bugs rather than another way to write it, that apply
# here, and that take seconds; coccicheck has 73. Not deref_null: it does not see what swap()
# does to a pointer.

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
