# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The Python module (lib/binding/python), with the shared library.

TEST_NATIVE	+= selftests/python/calls.sh
BENCH		+= selftests/python/bench.sh
selftests/python/calls.sh selftests/python/bench.sh: | $(LIB_OUT)/libgda.so
