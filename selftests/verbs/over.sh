# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# over.sh - to be sourced: test programs over a device of the guest, their output as comments
#
# shellcheck shell=bash

# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh

# over DEVICE [COMMAND...] PROGRAM
over() {
	local name=${!#}

	name=${name##*/}
	[ "$name" != impostor ] || name=P9_impostor
	ok "$name over $1" env GDA_DEVICE="$1" GDA_STRESS="${GDA_STRESS:-0.15}" "${@:2}"
	[ ! -s "$tmp/log" ] || sed 's/^/# /' "$tmp/log" | grep -vE '^# # +(RUN|OK)'
}
