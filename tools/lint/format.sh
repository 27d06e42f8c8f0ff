#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# format.sh [REV] - lines of C that were changed since REV and that clang-format would lay out
# in another way
#
# A report, not a check: .clang-format is the kernel's, and checkpatch decides where both
# differ (aligned comments, macros of tables). REV is the commit before the last one unless
# it is given; changes that are not committed count too.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v git-clang-format >/dev/null || { echo "format.sh: clang-format is missing"; exit 2; }
git clang-format --quiet --diff --style file --extensions c,h "${1-HEAD~1}" -- \
	kmod engine uapi lib selftests examples tools || [ $? = 1 ]
