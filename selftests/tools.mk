# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tools that are no measurements, and the scripts that judge what tests say.

TOOLTEST_OUT	:= $(BUILD)/selftests/tools

TEST_NATIVE	+= $(addprefix selftests/tools/,attacks.sh planted.sh runner.sh spans.sh)
TEST_VM		+= $(TOOLTEST_OUT)/doctor selftests/tools/runner.sh

# doctor.sh shows the tool another driver, and a libcuda that is empty.
$(TOOLTEST_OUT)/driver.so: selftests/tools/driver.c uapi/gda/ioctl.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iuapi -shared -fPIC -o $@ $<

$(TOOLTEST_OUT)/libcuda.so.1:
	@mkdir -p $(@D)
	$(CC) -shared -x c -o $@ /dev/null

$(TOOLTEST_OUT)/doctor: selftests/tools/doctor.sh $(BUILD)/tools/gdactl \
		$(TOOLTEST_OUT)/driver.so $(TOOLTEST_OUT)/libcuda.so.1
	@mkdir -p $(@D)
	install -m 755 $< $@
