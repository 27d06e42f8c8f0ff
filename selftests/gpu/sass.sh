#!/bin/bash
# SPDX-License-Identifier: MIT
#
# sass.sh - machine instructions of a put on a GPU (sm_90), and of calls that are like one: with what
# opens the queue, and without the functions off the path (the wait for room in a full ring).
# Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
PATH=$PATH:/usr/local/cuda/bin
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# kernel and the most instructions; those of gin and shmem begin with what loads the poster, and
# those of a warp have the post twice: without a branch, and for a ring that looks full
limits="exclusive 75
shared 260
courier 100
block 220
view 190
gin_put 130
gin_thread 175
gin_gpu 590
gin_block 350
shmem_thread 165
shmem_warp 235
shmem_each 215
shmem_gpu 425
shmem_gpu_each 750
shmem_block 365
shmem_quiet 60
shmem_gpu_quiet 790
shmem_get 905
shmem_fetch 1050
efa_exclusive 90
efa_shared 310
efa_courier 115
efa_block 235"

echo "1..$(wc -l <<<"$limits")"
for tool in nvcc cuobjdump nvdisasm; do
	command -v $tool >/dev/null && continue
	awk -v tool=$tool '{ print "ok " NR " a call, " $1 " # SKIP no " tool " here" }' <<<"$limits"
	exit 0
done
for file in sass sass_efa; do
	nvcc -std=c++17 -O3 -arch=sm_90 -Iuapi -Ilib/include -cubin -o "$tmp/$file.cubin" \
		selftests/gpu/$file.cu && continue
	echo "Bail out! nvcc"
	exit 1
done
# Functions off the path lie behind it; a call names where the first of them begins.
for file in sass sass_efa; do
	cuobjdump -sass "$tmp/$file.cubin"
done | awk '
	function hex(s) { return sprintf("%8s", tolower(s)) }
	/Function :/ { f = $3; next }
	!match($0, /^[ \t]+\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]+\*\//) { next }
	{
		at = $1
		gsub(/[\/*]/, "", at)
		sub(/^0+/, "", at)
		line = substr($0, RLENGTH + 1)
		if (line ~ /NOP/ || line ~ /^ *\/\*/) next
		where[f, ++n[f]] = hex(at)
		if (match(line, /CALL[A-Z.]* 0x[0-9a-f]+/)) {
			to = substr(line, RSTART, RLENGTH)
			sub(/.* 0x/, "", to)
			if (!(f in first) || hex(to) < first[f]) first[f] = hex(to)
		}
		if (line ~ /(LDL|STL)/) spilled[f]++
	}
	END {
		for (f in n) {
			on = 0
			for (i = 1; i <= n[f]; i++)
				on += !(f in first) || where[f, i] < first[f]
			print f, on, n[f], spilled[f] + 0
		}
	}' >"$tmp/counts"
n=0 rc=0
while read -r name limit; do
	n=$((n + 1))
	read -r on all spilled < <(awk -v f="$name" '$1 == f { print $2, $3, $4 }' "$tmp/counts")
	echo "# $name: $on instructions on the path, $all with what is off it, ${spilled:-?} local"
	what="a call, $name, at most $limit instructions, nothing in local memory"
	if [ "${on:-9999}" -le "$limit" ] && [ "${spilled:-1}" = 0 ]; then
		echo "ok $n $what"
	else
		echo "not ok $n $what"
		rc=1
	fi
done <<<"$limits"
exit $rc
