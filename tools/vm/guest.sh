#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# First process of the guest's root: run the command, leave its exit status and
# the kernel log for gda-vm, switch off.

run=/run/gda-vm
share='' dir='' input='' term=''
# shellcheck disable=SC1091
. $run/env
export HOME=/root LANG=C.UTF-8 TERM=$term
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# From here on the console shows everything: after a crash nothing else is left.
echo 8 >/proc/sys/kernel/printk

cd "$dir" || cd /
: >$run/begun
if [ -e $run/tty ]; then
	setsid -cw bash $run/cmd </dev/hvc0 >/dev/hvc0 2>&1
else
	setsid -w bash $run/cmd <"$input" >/dev/vport0p1 2>&1
fi
rc=$?
cd /
dmesg >$run/dmesg
umount "$share"
echo $rc >$run/rc
echo b >/proc/sysrq-trigger
sleep 60
