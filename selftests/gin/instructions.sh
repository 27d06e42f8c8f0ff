#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per put of gda/gin.h, counted by callgrind: addresses and
# limits, and the post itself. Speaks KTAP.

. selftests/lib/callgrind.sh
limits "a put" 4096 "$(dirname "$0")/bench" <<'END'
exclusive 75
shared 110
signal 190
counter 150
END
