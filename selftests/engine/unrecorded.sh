#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# unrecorded.sh BENCH WITHOUT - the cost of the flight record while it is off, in instructions:
# of the engine beside one whose source has no test of the switch (WITHOUT), and of a post.
# Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by ok

here=$(dirname "${BASH_SOURCE[0]}")
bench=$1 without=$2
most=2

# shellcheck source=selftests/lib/ktap.sh
. "$here/../lib/ktap.sh"

# "OPERATION BATCH INSTRUCTIONS" lines of both, by bench.sh.
count() {
	"$here/bench.sh" "$bench" >"$tmp/with" && "$here/bench.sh" "$without" >"$tmp/without" &&
		[ "$(wc -l <"$tmp/with")" = "$(wc -l <"$tmp/without")" ]
}

of() { awk -v op="$2" -v batch="$3" '$1 == op && $2 == batch { print $3 }' "$tmp/$1"; }

at_most() {
	local with without more

	with=$(of with "$1" "$2") without=$(of without "$1" "$2")
	more=$((with - without))
	say "$1, batches of $2: $with instructions, $without without"
	[ "$without" -gt 0 ] && [ "$more" -le "$most" ]
}

# A program that posts and waits calls the record only if it is compiled with GDA_RECORD.
calls() {
	${CC:-cc} -std=gnu11 -O2 -Iuapi -Ilib/include "$@" -c -o "$tmp/post.o" -x c - <<-'END' || return
		#include <gda/fastpath.h>
		int put(struct gda_view *v, uint64_t from, uint32_t lkey, uint64_t to, uint32_t rkey)
		{
			return gda_wait(v, gda_put(v, from, lkey, to, rkey, 8, 0), 0);
		}
	END
	nm -u "$tmp/post.o" | grep -c ' gda_record_'
}

none_without_macro() {
	[ "$(calls)" = 0 ] && [ "$(calls -DGDA_RECORD)" = 2 ]
}

echo "TAP version 13"
echo "1..6"
ok_with valgrind "both engines run, and are counted" count
for op in write inline; do
	for batch in 1 16; do
		ok_with valgrind "recording off, $op, batches of $batch: at most $most instructions more" \
			at_most $op $batch
	done
done
ok "a post calls the record only where the program asks for it" none_without_macro
exit "$rc"
