#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# ynl.sh - the netlink family by the kernel's own client and by gdactl --json: they agree on every
# value, while a program holds objects. Speaks KTAP.

cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
exec python3 selftests/tools/ynl.py build/linux-source
