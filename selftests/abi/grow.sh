#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# grow.sh DIR - the headers of today, in DIR, as a later release may have them
#
# Each structure that begins with a size has members more, at its end.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
to=$1
rm -rf "$to"
mkdir -p "$to/gda"
cp -r lib/include/gda/. uapi/gda/. "$to/gda"
perl -0pi -e 's{
		^(struct\ gda_(?:place|cq_attr|qp_attr|exported|view_attr|view|cq_view|cq_entry|
			error|chunk_map|signal|cuda_caps|cuda_qp_attr|comm_attr|query|qp_query|mr_query|
			device_info)\ \{\n
			\t(?:uint32_t|__u32)\ size;\n .*? )^\}
	}{$1\tuint64_t grown[40];\n\}}msgx' "$to"/gda/*.h
[ "$(grep -c 'uint64_t grown\[40\];' "$to"/gda/*.h | awk -F: '{ n += $2 } END { print n }')" = 18 ]
