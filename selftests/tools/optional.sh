#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# optional.sh - an optional part that comes or goes between two builds has what depends on it built
# again, and nothing else, and the result says what it was built with. In a scratch copy of what
# was built, with sources that are links; a part that is not installed here is skipped. Speaks KTAP.
#
# shellcheck disable=SC2317	# functions are called by ok

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
unset GDA_WITHOUT MAKEFLAGS MAKELEVEL MFLAGS V
tree=$tmp/tree

copy() {
	mkdir -p "$tree/build/tools" || return
	ln -s "$PWD"/{Makefile,Documentation,engine,examples,kmod,lib,selftests,tools,uapi} "$tree/"
	cp -a build/lib build/optional build/shmem "$tree/build/"
	cp -a build/tools/gda{ctl,-run,-perf} "$tree/build/tools/"
}

# built [VARIABLE=VALUE...] TARGET...: the names of what the compiler made
built() {
	make --no-print-directory -C "$tree" "$@" >"$tmp/made" 2>&1 || { cat "$tmp/made"; return 1; }
	sed -n 's/^  CC      //p' "$tmp/made" | sort | paste -sd ' '
}

# expect NAMES [VARIABLE=VALUE...] TARGET...: NAMES are those of what the compiler made
expect() {
	local expected=$1 got

	shift
	got=$(built "$@")
	echo "make $*: built '$got', expected '$expected'"
	[ "$got" = "$expected" ]
}

# turn PART GONE BACK TARGET...: it goes, and GONE is built; it comes, and BACK is. "says PART yes"
# or "no" is asked in between; and each time nothing is built twice.
turn() {
	local part=$1 gone=$2 back=$3

	shift 3
	built "$@" && expect '' "$@" && says "$part" yes &&
		expect "$gone" GDA_WITHOUT="$part" "$@" && says "$part" no &&
		expect '' GDA_WITHOUT="$part" "$@" &&
		expect "$back" "$@" && says "$part" yes && expect '' "$@"
}

# What was built of part $1 says that it is there ($2: yes), or how to get it (no).
says() {
	case $1 in
	pmix)
		PMIX_NAMESPACE=none GDA_DEBUG=1 timeout 20 "$tree/build/selftests/comm/hello" >"$tmp/said" 2>&1
		absent='built without PMIx' ;;
	verbs)
		GDA_DEBUG=1 GDA_DEVICE=verbs:none0 "$tree/build/examples/put" >"$tmp/said" 2>&1
		absent='built without RDMA devices' ;;
	nvcc)
		"$tree/build/examples/tutorial/gpu" >"$tmp/said" 2>&1
		absent='nvcc was not here' ;;
	nl)
		gdactl_says "$2"
		return ;;
	esac
	echo "$1: $2: $(cat "$tmp/said")"
	if [ "$2" = no ]; then grep -q "$absent" "$tmp/said"; else ! grep -q "$absent" "$tmp/said"; fi
}

# Without libnl it has the command "doctor", and of the others it says why they are not there.
gdactl_says() {
	local c gdactl=$tree/build/tools/gdactl

	"$gdactl" --help | grep -q 'gdactl doctor' || return
	if [ "$1" = yes ]; then
		ldd "$gdactl" | grep -q libnl
		return
	fi
	! ldd "$gdactl" | grep libnl || return
	"$gdactl" --json doctor | python3 -c 'import json, sys; json.load(sys.stdin)' || return
	for c in device context qp cq mr counter wqe stats limits monitor top record why; do
		"$gdactl" "$c"
		[ $? = 2 ] || { echo "$c is there"; return 1; }
	done
	"$gdactl" qp 2>&1 | grep -q 'built without libnl'
}

pmix() {
	local program=selftests/comm/hello object=lib/comm/pmix.o

	turn pmix "lib/$object $program" "lib/$object $program" build/lib/libgda.a "build/$program"
}

verbs() {
	local sources=(lib/device/verbs/*.c engine/fabric/*.c) there back
	local absent=lib/lib/device/verbs/absent.o dv=selftests/engine/obj/mlx5dv.o
	local program=examples/put

	mapfile -t there < <(printf 'lib/%s\n' "${sources[@]/%.c/.o}" | grep -v '/absent.o$')
	back=$(printf '%s\n' "${there[@]}" "$program" "$dv" | sort | paste -sd ' ')
	turn verbs "$program $absent $dv" "$back" build/lib/libgda.a "build/$program" "build/$dv"
}

# Programs and libraries that look for a part themselves, beside libgda.
others() {
	local t pair

	for pair in verbs:build/tools/gda-perf nl:build/tools/gdactl; do
		t=${pair#*:}
		tools/scripts/optional.sh "${pair%%:*}" >/dev/null || continue
		built "$t" || return
		expect "${t#build/}" -n -o build/lib/libgda.a GDA_WITHOUT="${pair%%:*}" "$t" || return
	done
}

variants() {
	local v o

	for v in asan tsan; do
		o=selftests/inproc/$v/obj/lib/comm/pmix.o
		built "build/$o" && expect '' "build/$o" && expect "$o" GDA_WITHOUT=pmix "build/$o" || return
	done
}

nl() { turn nl tools/gdactl tools/gdactl build/tools/gdactl; }

# A compiler that makes scripts, and is found before any other.
nvcc() {
	local t=build/examples/tutorial/gpu

	mkdir -p "$tmp/bin"
	cat >"$tmp/bin/nvcc" <<-'END'
		#!/bin/sh
		while [ "$1" != -o ]; do shift; done
		printf '#!/bin/sh\necho a GPU\n' >"$2" && chmod +x "$2"
	END
	chmod +x "$tmp/bin/nvcc"
	PATH=$tmp/bin:$PATH
	built "$t" && says nvcc yes && touch "$tmp/now" || return
	built GDA_WITHOUT=nvcc "$t" && says nvcc no && [ "$tree/$t" -nt "$tmp/now" ] &&
		touch "$tmp/now" && built GDA_WITHOUT=nvcc "$t" && ! [ "$tree/$t" -nt "$tmp/now" ] &&
		built "$t" && says nvcc yes
}

# What is tried with it is tried again; the test says why not.
numpy() {
	local t=build/selftests/shmem/py/tried

	mkdir -p "$tree/${t%/*}"
	built lib tools build/optional/numpy && touch "$tree/$t" || return
	make -q -C "$tree" "$t" || { echo "not up to date"; return 1; }
	! make -q -C "$tree" GDA_WITHOUT=numpy "$t" || { echo "is not tried again"; return 1; }
	GDA_WITHOUT=numpy selftests/shmem/shmem4py.sh | grep '^1..0 # SKIP there is no numpy'
}

# Tests alone ask for it.
mpirun() {
	GDA_WITHOUT=mpirun GDA_SLOW=1 build/selftests/pair/agent | grep '# SKIP no mpirun' &&
		! GDA_WITHOUT=mpirun tools/scripts/optional.sh mpirun
}

unknown() {
	! make -s -C "$tree" GDA_WITHOUT="nl cheese" help 2>"$tmp/err" &&
		grep 'no optional part is called cheese' "$tmp/err" &&
		! make -s -C "$tree" VERBS= help 2>"$tmp/err" &&
		grep 'VERBS= is gone: build with GDA_WITHOUT' "$tmp/err"
}

part() { # NAME PART
	if tools/scripts/optional.sh "$2" >/dev/null; then
		ok "$1" "${3-$2}"
	else
		skip "$1" "there is no $2 here"
	fi
}

echo "TAP version 13"
echo "1..10"
ok "a copy of what was built" copy
part "PMIx goes and comes" pmix
part "... in libraries under sanitizers" pmix variants
part "libibverbs goes and comes" verbs
part "libnl goes and comes" nl
ok "... and what looks for a part itself" others
ok "nvcc goes and comes" nvcc
part "numpy goes and comes" numpy
part "mpirun goes" mpirun
ok "a part that does not exist" unknown
exit "$rc"
