#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# include-direction.sh - the direction of dependencies, and words nobody may use
#
#   uapi            <linux/types.h>, <linux/ioctl.h>, <gda/...> of uapi
#   engine          "gda_os.h", its own headers, the table of dialects by path, <gda/...> of uapi, and
#                   <gda/work.h>, <gda/flight.h>: what an executor sees of work; no __KERNEL__
#   engine/control  the same, and "engine.h", "access.h" and "counter.h"
#   engine/fabric   its own header, "gda_fabric_os.h", of which gda_ib and lib/device/verbs have one
#                   each, <gda/flight.h>, <gda/...> of uapi
#   gda_core        the kernel, its own headers, engine, kmod/include, uapi; names no symbol of
#                   the modules that register with it
#   other modules   the kernel, their own headers, kmod/include, uapi; gda_ib engine/fabric
#   lib/include     the C library, lib/include, uapi
#   lib/core        the C library, its own headers, lib/include, uapi
#   lib/comm        the same, and "gda_internal.h", "library.h", "siphash.h" of lib/core
#   lib/device      kernel and inproc: the same, "gda_internal.h", "waiter.h", and of engine and
#                   control; copier also "inproc.h", and nobody but lib/gpu includes a header of it
#   lib/device/verbs  as lib/gpu, and the engine's "access.h" and "flight.h", engine/fabric, libibverbs
#                   and librdmacm,
#                   "siphash.h" of lib/core, and <gda/cm_proof.h>, which gda_ib has, too
#   lib/gpu         the same, "library.h" of lib/core and "copier.h"; nothing of CUDA's
#   lib/frontend    the C library, its own headers, lib/include, uapi, "gda_internal.h" and "waiter.h" of
#                   lib/core, "share.h" of lib/gpu; openshmem of these lib/include alone
#   lib/binding     the C library, its own headers, lib/include, uapi; nothing of NCCL's
#
# Prints a line for each violation.

set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

uapi=$(cd uapi && echo gda/*.h)
shared=$(cd kmod/include && echo gda/*.h)
# the last one belongs to a test (GDA_WQE_TEST)
public=$(cd lib/include && echo gda/*.h gda/gpu/*.h gda/gin/*.h gda/wqe/*.h gda/wqe/test.h)

# includes FILE...: "FILE:LINE <name>" or "FILE:LINE "name"" for each #include
includes() {
	grep -HnoE '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[<"][^>"]*[>"]' "$@" |
		sed -E 's/^([^:]*:[0-9]*):[[:blank:]]*#[[:blank:]]*include[[:blank:]]*/\1 /'
}

# allow WHAT FILE...: report includes that do not match a regex on stdin; "@own" stands for the
# headers in the file's folder
allow() {
	local what=$1 at inc f regex=() own='' line ok name

	shift
	while read -r line; do
		[ "$line" = @own ] && own=1 || regex+=("$line")
	done
	while read -r at inc; do
		ok='' f=${at%%:*}
		for line in "${regex[@]}"; do
			[[ $inc =~ ^$line$ ]] && ok=1 && break
		done
		name=${inc#?}; name=${name%?}
		[ -z "$own" ] || [[ $inc != '"'* || $name = */* ]] ||
			[ ! -e "${f%/*}/$name" ] || ok=1
		[ -n "$ok" ] || echo "$at: $what may not include $inc"
	done < <(includes "$@")
}

# headers NAME...: a regex for each, in angle brackets
headers() {
	printf '<%s>\n' "$@"
}

# ban WHY REGEX FILE...: report matches, also in comments
ban() {
	local why=$1 words=$2

	shift 2
	[ $# = 0 ] || grep -HnE "$words" "$@" | cut -d: -f 1,2 | sed "s|\$|: $why|"
}

# code FILE: without comments, line for line
code() {
	perl -0pe 's{/\*.*?\*/}{($a = $&) =~ s/[^\n]//g; $a}gse; s{//[^\n]*}{}g' "$1"
}

ban_code() {
	local why=$1 words=$2 f

	shift 2
	for f; do
		code "$f" | grep -nE "$words" | sed -E "s|^([0-9]*):.*|$f:\1: $why|"
	done
}

mapfile -t all < <(find kmod engine uapi lib -name '*.[ch]' ! -name '*.mod.c' -type f | sort)
pick() {
	local f

	list=()
	for f in "${all[@]}"; do
		[[ $f =~ $1 ]] && list+=("$f")
	done
	return 0
}

pick '^uapi/'
# shellcheck disable=SC2086	# lists of names
allow uapi "${list[@]}" < <(headers linux/types.h linux/ioctl.h $uapi)

pick '^engine/(dialect/)?[^/]*$'
engine=("${list[@]}")
# shellcheck disable=SC2086
allow engine "${engine[@]}" < <(
	echo '"(gda_os|engine|visit|dialect/dialect)\.h"'; echo '<gda_dialects.h>'
	echo @own; headers gda/work.h gda/flight.h $uapi)
pick '^engine/control/'
# shellcheck disable=SC2086
allow control "${list[@]}" < <(
	echo '"(gda_os|engine|access|counter)\.h"'; echo @own; headers $uapi)
engine+=("${list[@]}")
ban_code "__KERNEL__ in the engine" '__KERNEL__' "${engine[@]}"
forbidden='(k|kv|kvm|v)?[mz]alloc|free|kfree|mutex_|spin_|pthread_|schedule|usleep|msleep'
forbidden+='|ktime_|clock_gettime|printk|pr_[a-z]*|printf|dev_(err|warn|info|dbg)'
ban_code "the engine may not lock, allocate, sleep, read a clock or log" \
	"\\b($forbidden)[a-z_]* *\(" \
	"${engine[@]}"
pick '^engine/fabric/'
# shellcheck disable=SC2086
allow engine/fabric "${list[@]}" < <(echo '"gda_fabric_os\.h"'; echo @own; headers gda/flight.h $uapi)
ban_code "__KERNEL__ in engine/fabric" '__KERNEL__' "${list[@]}"
ban_code "engine/fabric may not lock, allocate, sleep, read a clock or log" \
	"\\b($forbidden)[a-z_]* *\(" "${list[@]}"

kernel='<(linux|asm|trace|net|crypto|uapi|rdma|drm)/[^>]*>'
pick '^kmod/gda_core/'
core=("${list[@]}")
# shellcheck disable=SC2086
allow gda_core "${core[@]}" < <(
	echo "$kernel"; echo @own; echo '"(engine|control|recorder|(\.\./)?\.\.)/[a-z_0-9]*\.h"'
	echo '"(gda_private|trace)\.h"'; echo '"executor/soft/soft\.h"'; headers $uapi $shared)
pick '^kmod/gda_core/([^/]*|executor/[^/]*|(host|netlink|recorder)/.*)$'
mapfile -t list < <(printf '%s\n' "${list[@]}" | grep -vx kmod/gda_core/main.c)
ban_code "only main.c names an executor" '\bgda_soft_|soft\.h' "${list[@]}"

for module in kmod/*/; do
	module=${module#kmod/}; module=${module%/}
	case $module in gda_core|include) continue ;; esac
	pick "^kmod/$module/"
	[ ${#list[@]} = 0 ] && continue
	# shellcheck disable=SC2086
	allow "$module" "${list[@]}" < <(
		echo "$kernel"; echo @own; headers $uapi $shared
		[ "$module" != gda_ib ] || echo '"fabric\.h"')
	# Report symbols that a module defines without static, and its own name, except in
	# MODULE_SOFTDEP.
	types='struct|int|void|long|bool|u32|u64'
	mapfile -t symbols < <(for f in "${list[@]}"; do code "$f"; done |
		sed -nE "s/^(const )?($types) [a-z_ ]*\*?(gda_[a-z0-9_]+)( =|\().*/\3/p" | sort -u)
	for s in "${symbols[@]}"; do
		[[ $s =~ ^gda_mem_kind_(un)?register$ ]] ||
			ban_code "gda_core names $s of $module" "\\b$s\\b" \
				"${core[@]}" "${engine[@]}"
	done
	for f in "${core[@]}" "${engine[@]}"; do
		code "$f" | sed 's/^MODULE_SOFTDEP.*//' | grep -nE "\"[^\"]*\\b$module\\b" |
			sed -E "s|^([0-9]*):.*|$f:\1: gda_core names $module|"
	done
done

pick '^lib/include/'
# shellcheck disable=SC2086
allow lib/include "${list[@]}" < <(echo '<(sys/)?[a-z0-9]*\.h>'; headers $uapi $public)
pick '^lib/(core|device/kernel)/'
# shellcheck disable=SC2086
allow lib/core "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo '"gda_internal\.h"'; echo @own; headers $uapi $public)

for part in inproc copier; do
	pick "^lib/device/$part/"
	# shellcheck disable=SC2086
	[ ${#list[@]} = 0 ] || allow "lib/device/$part" "${list[@]}" < <(
		echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'
		echo '"(gda_internal|gda_os|waiter|engine|access|counters?|flight|order|inproc)\.h"'
		echo '"(ah|connect|create|event|mr|qp_refs|query|record|request|sweep)\.h"'
		echo @own; headers $uapi $public)
done

pick '^lib/gpu/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/gpu "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo '"(gda_internal|library|copier)\.h"'
	echo @own; headers $uapi $public)

pick '^lib/device/verbs/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/device/verbs "${list[@]}" < <(
	echo '<((sys|linux|asm|arpa)/)?[a-z0-9_]*\.h>'
	echo '"(gda_internal|library|siphash|inproc|access|flight|fabric)\.h"'
	echo '<(infiniband/verbs|rdma/rdma_cma|gda/cm_proof)\.h>'; echo @own; headers $uapi $public)

pick '^lib/comm/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/comm "${list[@]}" < <(
	echo '<((sys|linux|asm|arpa|net|netinet)/)?[a-z0-9_]*\.h>'; echo '"(gda_internal|library|siphash)\.h"'
	echo @own; headers $uapi $public)

pick '^lib/frontend/shmem/[^/]*$'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/frontend/shmem "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo '"(gda_internal|waiter|share)\.h"'
	echo @own; headers $uapi $public)
pick '^lib/frontend/openshmem/[^/]*$'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/frontend/openshmem "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo '"shmem\.h"'; echo @own; headers $public)
pick '^lib/frontend/(gin|async)/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/frontend/gin "${list[@]}" < <(
	echo '<((sys|linux|asm|arpa|net|netinet)/)?[a-z0-9_]*\.h>'; echo '"(gda_internal|share)\.h"'
	echo @own; headers $uapi $public)

pick '^lib/frontend/dpa/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/frontend/dpa "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo '"(gda_internal|waiter|share)\.h"'
	echo @own; headers $uapi $public)
pick '^lib/binding/nccl/'
# shellcheck disable=SC2086
[ ${#list[@]} = 0 ] || allow lib/binding/nccl "${list[@]}" < <(
	echo '<((sys|linux|asm)/)?[a-z0-9_]*\.h>'; echo @own; headers $uapi $public)

pick '^kmod/.*\.c$'
ban_code "no conditional compilation in a .c file: put a stub into a header" \
	'^[[:blank:]]*#[[:blank:]]*(if|ifdef|ifndef|elif|else)\b' "${list[@]}"
pick '^kmod/'
for f in "${list[@]}"; do
	[ "$f" = kmod/include/gda/compat.h ] ||
		ban_code "kernel versions are for compat.h alone" \
			'LINUX_VERSION_CODE|KERNEL_VERSION' "$f"
done
ban_code "no BUG" '\bBUG(_ON)?[[:blank:]]*\(' "${list[@]}"
ban_code "no kernel pointers in logs" '%px' "${list[@]}"
ban "TODO without an issue" '\b(TODO|FIXME|XXX)\b' "${all[@]}"

n=$(wc -l <kmod/include/gda/compat.h)
[ "$n" -le 270 ] || echo "kmod/include/gda/compat.h:1: $n lines, 270 are allowed"
exit 0
