#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per posted 8-byte put, counted by callgrind: check
# for room, write, publish and ring, and the loop around it. Speaks KTAP.

. selftests/lib/callgrind.sh
limits "a post" 8192 "$(dirname "$0")/bench" <<'END'
exclusive 48
shared 80
value 52
deferred 48
END
