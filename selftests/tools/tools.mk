# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The tools that are no measurements, and the scripts that judge what tests say.

TOOLTEST_OUT	:= $(BUILD)/selftests/tools

TEST_NATIVE	+= $(addprefix selftests/tools/,attacks.sh gdactl_words.sh kvers.sh optional.sh planted.sh runner.sh spans.sh)
TEST_VM		+= $(TOOLTEST_OUT)/doctor selftests/tools/runner.sh

# It copies what is there, and runs two of the programs.
selftests/tools/optional.sh: | $(LIB_TARGETS) $(OSH_BIN) $(addprefix $(BUILD)/tools/,gdactl gda-run gda-perf) \
	$(BUILD)/selftests/pair/agent

# Ten failures, and what is said of them.
TEST_NATIVE	+= $(TOOLTEST_OUT)/ten.sh

$(TOOLTEST_OUT)/ten: selftests/tools/ten.c $(LIB_OUT)/libgda.a selftests/tools/tools.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

$(TOOLTEST_OUT)/heap: selftests/tools/heap.c $(LIB_OUT)/libgda-shmem.so $(LIB_OUT)/libgda.a $(OSH_BIN) selftests/tools/tools.mk
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc -O2 -o $@ $<

$(TOOLTEST_OUT)/ten.sh: selftests/tools/ten.sh $(TOOLTEST_OUT)/ten $(TOOLTEST_OUT)/heap \
		$(BUILD)/tools/gda-run $(BUILD)/examples/gin-allgather
	install -m 755 $< $@

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

# Work of its own, and what the tool says of it; tools/gdactl/gdactl.mk names it as a test.
$(TOOLTEST_OUT)/gdactl: selftests/tools/gdactl.c $(GDA_KSELFTEST_OBJS) $(BUILD)/tools/gdactl \
		selftests/tools/gdactl.h selftests/tools/tools.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS) -o $@ $< $(GDA_KSELFTEST_OBJS)

# ... of a queue on an RDMA device.
$(TOOLTEST_OUT)/gdactl_port: selftests/tools/gdactl_port.c $(GDA_KSELFTEST_OBJS) \
		$(BUILD)/selftests/kernel/rxe.o $(BUILD)/tools/gdactl selftests/tools/gdactl.h \
		selftests/tools/tools.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS) -o $@ $< $(GDA_KSELFTEST_OBJS) $(BUILD)/selftests/kernel/rxe.o

# ... as it runs, of things that come, go and fail.
MONITOR_OBJS := $(addprefix $(BUILD)/selftests/kernel/,causes.o move.o reload.o)
$(TOOLTEST_OUT)/gdactl_monitor: selftests/tools/gdactl_monitor.c $(GDA_KSELFTEST_OBJS) \
		$(MONITOR_OBJS) $(BUILD)/tools/gdactl selftests/tools/tools.mk | \
		$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS) -o $@ $< $(GDA_KSELFTEST_OBJS) $(MONITOR_OBJS)

# The kernel's own client reads the family by its specification.
$(TOOLTEST_OUT)/holder: selftests/tools/holder.c $(GDA_KSELFTEST_OBJS)
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS) -o $@ $< $(GDA_KSELFTEST_OBJS)

$(TOOLTEST_OUT)/ynl: selftests/tools/ynl.sh selftests/tools/ynl.py $(TOOLTEST_OUT)/holder \
		$(BUILD)/tools/gdactl
	@mkdir -p $(@D)
	tools/lint/linux-source.sh >/dev/null
	install -m 755 $< $@
