# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# gda-perf: that it measures, not what.

PERFTEST_OUT	:= $(BUILD)/selftests/perf

TEST_NATIVE	+= $(PERFTEST_OUT)/rows
TEST_VM		+= $(PERFTEST_OUT)/rows

$(PERFTEST_OUT)/rows: selftests/perf/rows.py $(BUILD)/tools/gda-perf
	@mkdir -p $(@D)
	install -m 755 $< $@
