#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# policy.sh - SECURITY.md P3, P5, P6, of the modules that are loaded. Speaks KTAP.
#
# P3: what the modules export is GPL only, in the namespace GDA, and who uses it says so.
# P5: no parameter can be written, and no physical address or frame is in the uAPI.
# P6: the way to a signed module is documented.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=${GDA_BUILD:-build}/$(uname -r)
. selftests/lib/ktap.sh

symvers=$(grep -E '[[:space:]]gda_' "$build/Module.symvers")
echo "TAP version 13"
echo 1..6
ok P3_something_is_exported none "$([ "$(wc -l <<<"$symvers")" -ge 3 ] || echo "$symvers")"
ok P3_exports_are_gpl_only_in_a_namespace none \
	"$(awk -F '\t' '$4 != "EXPORT_SYMBOL_GPL" || $5 != "GDA"' <<<"$symvers")"
ok P3_users_import_the_namespace none \
	"$(modinfo -F import_ns "$build/kmod/gda_mr/gda_mr.ko" | grep -qx GDA || echo gda_mr)"
ok P5_parameters_are_read_only none \
	"$(find /sys/module/gda_core /sys/module/gda_mr -path '*/parameters/*' -perm /222)"
ok P5_no_frames_in_the_uapi none \
	"$(grep -nwiE 'pfn|phys|paddr|dma_addr(_t)?' uapi/gda/*.h)"
ok P6_signing_is_documented none \
	"$(for w in mokutil sign-file dkms; do
		grep -qi -e "$w" Documentation/running.rst || echo "$w"
	done)"
exit $rc
