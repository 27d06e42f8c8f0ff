#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# shell.sh - in the guest: a shell, with the modules loaded

here=$(dirname "${BASH_SOURCE[0]}")
"$here/load.sh" | grep '^not ok'
echo "$(uname -r), /dev/gda is $(stat -c '%A %U:%G' /dev/gda 2>&1); 'exit' ends the guest."
export PS1='\u@\h:\w\$ '
exec bash --norc
