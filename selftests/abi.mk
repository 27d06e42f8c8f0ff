# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The binary interface: a script, with nothing to be built.

TEST_NATIVE	+= selftests/abi/abi.sh
