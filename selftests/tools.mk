# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tools that are no measurements, and the scripts that judge what tests say.

TOOLTEST_OUT	:= $(BUILD)/selftests/tools

TEST_NATIVE	+= $(addprefix selftests/tools/,attacks.sh planted.sh)
TEST_VM		+= $(TOOLTEST_OUT)/doctor

$(TOOLTEST_OUT)/doctor: selftests/tools/doctor.sh $(BUILD)/tools/gdactl
	@mkdir -p $(@D)
	install -m 755 $< $@
