#!/bin/bash
# SPDX-License-Identifier: MIT
#
# litmus.sh - order.c as arm64's instructions, in every execution that the architecture allows
#
# gcc compiles it, awk makes a litmus test of each pair or triple of functions, and herd7 looks for
# the condition that none may meet. Then it is to be met with one instruction weakened at a time.
# Speaks KTAP.
#
#   HERD=COMMAND   herd7, if it is not to be that of gda-tree's tree `herd'

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
source=selftests/litmus/order.c
mkdir -p build
tmp=$(mktemp -d "$PWD/build/litmus.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
read -ra herd <<<"${HERD:-tools/vm/gda-tree run herd herd7}"
failed=0 n=0

# Atomics of ARMv8.1, which are one instruction: herd7 would have to unroll the loops of ARMv8.0.
aarch64-linux-gnu-gcc -O2 -march=armv8.1-a -fno-asynchronous-unwind-tables -fno-stack-protector \
	-Iuapi -Ilib/include -Ilib/host -Wall -Werror -S -o "$tmp/order.s" $source || exit 1

# litmus TEST [THREAD FROM TO]: the test, with one kind of instruction of a thread weakened
litmus() {
	awk -v test="$1" -v thread="${2-}" -v from="${3-}" -v to="${4-}" '
	function word(s) { sub(/^.*[ *]/, "", s); return s }

	# The source: condition and parameters of the functions.
	FNR == NR {
		if (match($0, /never: /)) condition = substr($0, RSTART + 7)
		if (match($0, "^void " test "_[0-9]")) {
			t = substr($0, RLENGTH, 1)
			never = condition
			line = $0
			gsub(/.*\(|\)/, "", line)
			k = split(line, part, /, /)
			for (i = 1; i <= k; i++) {
				name = word(part[i])
				type[name] = part[i] ~ /64/ ? "uint64_t" : "uint32_t"
				start = start sprintf("%d:X%d=%s; ", t, i - 1, name)
			}
			if (t >= threads) threads = t + 1
		}
		next
	}

	# The instructions that the compiler made of them.
	match($0, "^" test "_[0-9]:") { t = substr($0, RLENGTH - 1, 1); in_it = 1; next }
	/^\t\.size/ { in_it = 0 }
	!in_it || /^\t\.|^\.LF|^\t*$/ { next }
	{
		sub(/^\t/, "")
		gsub(/\t/, " ")
		gsub(/\.L/, "L")
		if (/^ret/) $0 = "b End" t
		if (thread == t && $1 == from) {
			changed++
			if (to == "-") next
			$1 = to
		}
		gsub(/, /, ",")
		while (match($0, /,-?[0-9]+($|\])/)) # herd7 wants # before a number
			$0 = substr($0, 1, RSTART) "#" substr($0, RSTART + 1)
		sub(/^bne /, "b.ne "); sub(/^beq /, "b.eq ")
		code[t, ++lines[t]] = $0
		if (lines[t] > most) most = lines[t]
	}
	END {
		if (threads < 2 || !never || !most || (thread != "" && !changed)) exit 1
		printf "AArch64 %s\n{\n", test
		for (name in type) printf "%s %s=0; ", type[name], name
		printf "\n%s\n}\n", start
		for (i = 0; i <= most + 1; i++) {
			for (t = 0; t < threads; t++) {
				cell = !i ? "P" t : i <= lines[t] ? code[t, i] : \
				       i == most + 1 ? "End" t ":" : ""
				printf "%s%s", cell, t < threads - 1 ? " | " : " ;\n"
			}
		}
		printf "exists (%s)\n", never
	}' $source "$tmp/order.s"
}

# The verdict of herd7: Never, Sometimes or Always.
observe() {
	litmus "$@" >"$tmp/test.litmus" || return
	"${herd[@]}" "$tmp/test.litmus" >"$tmp/out" 2>&1
	awk '/^Observation/ { print $3; found = 1 } /^Warning|^Fatal/ { bad = 1 } END { exit bad || !found }' \
		"$tmp/out"
}

check() { # NUMBER TEST WANTED [THREAD FROM TO]
	local what="$2" seen

	[ $# = 3 ] || what="$2, thread $4 with $5 made ${6/#-/nothing}: found"
	seen=$(observe "$2" "${@:4}")
	if [ "$seen" = "$3" ]; then
		echo "ok $1 $what"
	else
		sed 's/^/# /' "$tmp/test.litmus" "$tmp/out" 2>/dev/null
		echo "not ok $1 $what: ${seen:-no verdict}, not $3"
		failed=1
	fi
}

mapfile -t plan < <(awk '
	/never: / { weaker = ""; fresh = 1 }
	/weaker: / { weaker = weaker "\n" $3 " " $4 " " $5 }
	fresh && match($0, /^void [a-z]+_0/) {
		name = substr($0, 6, RLENGTH - 7)
		print name
		k = split(substr(weaker, 2), w, "\n")
		for (i = 1; i <= k; i++) print name, w[i]
		fresh = 0
	}' $source)
echo "1..${#plan[@]}"
for line in "${plan[@]}"; do
	read -ra t <<<"$line"
	n=$((n + 1))
	if [ ${#t[@]} = 1 ]; then
		check $n "${t[0]}" Never
	else
		check $n "${t[0]}" Sometimes "${t[@]:1}"
	fi
done
exit $failed
