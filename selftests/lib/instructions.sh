#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh - instructions per posted 8-byte put, counted by callgrind: check
# for room, write, publish and ring, and the loop around it. Speaks KTAP.

# shellcheck disable=SC2034	# they are for callgrind.sh
unit="a post" calls=8192

# MODE and the most instructions a post may take
# shellcheck disable=SC2034
limits="exclusive 48
shared 80
value 52
deferred 48"

# shellcheck source=selftests/lib/callgrind.sh
. "$(dirname "${BASH_SOURCE[0]}")/callgrind.sh"
