# SPDX-License-Identifier: MIT
#
# Ranks: natively also under the sanitizers; in a guest, too.

COMMTEST_OUT	:= $(BUILD)/selftests/comm
COMMTESTS	:= comm strangers fork

TEST_NATIVE	+= $(foreach v,plain asan tsan,$(COMMTESTS:%=$(COMMTEST_OUT)/$v/%)) $(COMMTEST_OUT)/plain/idle \
		   $(COMMTEST_OUT)/run $(COMMTEST_OUT)/killed.sh $(COMMTEST_OUT)/bind.sh
TEST_VM		+= $(COMMTESTS:%=$(COMMTEST_OUT)/plain/%) $(COMMTEST_OUT)/run $(COMMTEST_OUT)/killed.sh

$(eval $(call suite_programs,comm,plain asan tsan,$(COMMTESTS) idle))

$(addprefix $(COMMTEST_OUT)/,hello killed lost memory): $(COMMTEST_OUT)/%: selftests/comm/%.c $(LIB_OUT)/libgda.a \
		selftests/comm/comm.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

$(COMMTEST_OUT)/libnoline.so: selftests/comm/noline.c selftests/comm/comm.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(COMMTEST_OUT)/run: selftests/comm/run.sh $(COMMTEST_OUT)/hello $(COMMTEST_OUT)/libnoline.so \
		$(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@

$(COMMTEST_OUT)/bind.sh: selftests/comm/bind.sh $(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@

$(COMMTEST_OUT)/killed.sh: selftests/comm/killed.sh $(COMMTEST_OUT)/killed $(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@

# Here: machines are network namespaces, and most of it is waiting.
TEST_NATIVE	+= $(COMMTEST_OUT)/lost.sh
SOAK_NATIVE	+= $(COMMTEST_OUT)/lost.sh

$(COMMTEST_OUT)/lost.sh: selftests/comm/lost.sh $(COMMTEST_OUT)/lost $(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_NATIVE	+= $(COMMTEST_OUT)/memory.sh

$(COMMTEST_OUT)/memory.sh: selftests/comm/memory.sh $(COMMTEST_OUT)/memory $(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@

TEST_NATIVE	+= $(COMMTEST_OUT)/unread.sh

$(COMMTEST_OUT)/unread.sh: selftests/comm/unread.sh $(BUILD)/tools/gda-run
	@mkdir -p $(@D)
	install -m 755 $< $@
