#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# shmem4py.sh - a client that nobody here wrote: shmem4py 1.0.0, Python's OpenSHMEM, is
# built from source by pip, unmodified, with our oshcc, and its own tests run on 1, 2 and
# 4 PEs. It knows the features of five implementations by their macros; of any other it
# is told by PySHMEM_HAVE_*. Where there is /dev/gda it runs on 2 PEs by queue, with what was built
# before, for guests have no network. Speaks KTAP; without network, or Debian's python3-numpy (its
# tests need one below 2), all is skipped.
#
#   --build   only build it, or leave it for the test to say why not; for make
#
# shellcheck disable=SC2317	# functions are called by name

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. selftests/lib/ktap.sh
bin=$PWD/build/shmem/bin
dir=$PWD/build/selftests/shmem/py
package=shmem4py version=1.0.0
python=/usr/bin/python3
slow=${GDA_SLOW:-1} sizes=(1 2 4)
if [ -e /dev/gda ]; then
	# the heap is pinned
	export GDA_SHMEM_WAY=queue SHMEM_SYMMETRIC_SIZE=64M
	slow=$((4 * slow)) sizes=(2)
fi

features=(malloc_with_hints team_t amo_nbi put_signal signal_fetch signal_wait_until
	broadcast collect fcollect alltoall alltoalls broadcastmem collectmem fcollectmem
	alltoallmem alltoallsmem reduce wait_test_many pcontrol)
# Its glue is generated, and long: what it calls is tried, not how well the compiler optimizes it.
flags='-O0 -g0 -DPySHMEM_HAVE_SHMEM_CTX_INVALID=1'
for f in "${features[@]}"; do flags+=" -DPySHMEM_HAVE_shmem_$f=1"; done

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

pip() { "$dir/venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir "$@"; }

# A module that was built for an older header is built anew, and so is a copy of another folder's.
is_built() {
	grep -qsxF "$dir" "$dir/built" && [ -z "$(find lib/frontend/openshmem/include -newer "$dir/built")" ]
}

build() {
	! is_built || return 0
	rm -f "$dir/built"
	CFLAGS=$flags OSHCC=$bin/oshcc pip install --force-reinstall --no-deps \
		"$dir/$package-$version.tar.gz" &&
		tar -xzf "$dir/$package-$version.tar.gz" -C "$dir" &&
		echo "$dir" >"$dir/built"
}

# What it takes to build it; else says why not.
prepare() {
	if ! tools/scripts/optional.sh numpy >/dev/null ||
	   ! $python -c 'import numpy, sys; sys.exit(int(numpy.__version__.split(".")[0]) > 1)' 2>/dev/null; then
		echo "there is no numpy 1 for $python (python3-numpy)"
		return 1
	fi
	! is_built || return 0
	[ ! -e /dev/gda ] ||
		{ echo "not built yet: run it once without /dev/gda, where there is a network"; return 1; }
	mkdir -p "$dir"
	$python -m venv --clear --system-site-packages "$dir/venv" >"$dir/log" 2>&1 ||
		{ echo "$python makes no venv (python3-venv)"; return 1; }
	[ -e "$dir/$package-$version.tar.gz" ] ||
		pip download --no-deps --no-binary :all: -d "$dir" $package==$version >"$dir/log" 2>&1 ||
		{ echo "pip cannot fetch $package: $(tail -n 1 "$dir/log" | cut -c 1-120)"; return 1; }
}

# As python -m unittest, but where it stands is said when the time is over.
unittest='import faulthandler, sys, unittest
faulthandler.dump_traceback_later(float(sys.argv.pop(1)), exit=True)
unittest.main(module=None)'

# All tests passed at each PE, and none was left out.
tests() {
	local all

	timeout $((300 * slow)) "$bin/oshrun" -b -n "$1" "$dir/venv/bin/python" -c "$unittest" \
		$((280 * slow)) discover -q -s "$dir/$package-$version/test" || return
	all=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$tmp/log" | sort -u)
	echo "tests at each PE: $all"
	[ "$all" -ge 104 ] && [ "$(grep -cx OK "$tmp/log")" = "$1" ]
}

if [ "${1-}" = --build ]; then
	! prepare >/dev/null || build >"$tmp/log" 2>&1
	exit 0
fi
why=$(prepare) || skip_all "$why"

echo 1..$((${#sizes[@]} + 1))
ok built build
for pes in "${sizes[@]}"; do
	ok "tests_on_$pes" tests "$pes"
done
exit $rc
