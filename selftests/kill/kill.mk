# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# kill -9 at random points of the file transfer.

BUILD ?= build

TEST_VM += $(BUILD)/selftests/kill/kill

$(BUILD)/selftests/kill/kill: selftests/kill/kill.c selftests/kernel/nl.c selftests/kernel/nl.h \
		uapi/gda/netlink.h | $(BUILD)/examples/gda-send $(BUILD)/examples/gda-recv
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iuapi -o $@ $(filter %.c,$^)
