# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The binary interface, and what is installed: scripts, with nothing to be built.

TEST_NATIVE	+= selftests/abi/abi.sh selftests/abi/install.sh
TEST_VM		+= selftests/abi/policy.sh
