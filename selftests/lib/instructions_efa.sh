#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions_efa.sh - instructions per 8-byte put to an efa queue, of a program that speaks mlx5,
# too, and per completion that is taken with seven others. Speaks KTAP.

# shellcheck disable=SC2034	# they are for callgrind.sh
unit="a post or completion" calls=8192

# MODE, the function that is counted, and the most instructions
# shellcheck disable=SC2034
limits="exclusive 52
shared 88
value 52
reap reap 45
reap_swapped reap 60"

# shellcheck source=selftests/lib/callgrind.sh
. "$(dirname "${BASH_SOURCE[0]}")/callgrind.sh"
