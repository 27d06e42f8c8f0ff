#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions_efa.sh - instructions per 8-byte put to an efa queue, of a program that speaks mlx5,
# too, and per completion that is taken with seven others. Speaks KTAP.

. selftests/lib/callgrind.sh
limits "a post or completion" 8192 "$(dirname "$0")/bench" <<'END'
exclusive 52
shared 88
value 52
reap reap 45
reap_swapped reap 60
END
