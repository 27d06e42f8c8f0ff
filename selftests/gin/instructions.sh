#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per put of gda/gin.h, counted by callgrind: addresses and
# limits, and the post itself. Speaks KTAP.

# shellcheck disable=SC2034	# they are for callgrind.sh
unit="a put" calls=4096

# MODE and the most instructions a put may take
# shellcheck disable=SC2034
limits="exclusive 75
shared 110
signal 190
counter 150"

# shellcheck source=selftests/lib/callgrind.sh
. "$(dirname "${BASH_SOURCE[0]}")/callgrind.sh"
