# SPDX-License-Identifier: MIT
#
# gda/async.h: natively on the in-process device, also under the sanitizers; in a guest on the
# kernel's. The variants of the library, and the rule, are inproc.mk's.

ASYNCTEST_OUT	:= $(BUILD)/selftests/async
ASYNCTESTS	:= copy rows peers random fork
# over queues in plain memory
ASYNCTESTS_FAKE	:= flags

TEST_NATIVE	+= $(foreach v,plain asan tsan phase,$(ASYNCTESTS:%=$(ASYNCTEST_OUT)/$v/%))
TEST_NATIVE	+= $(foreach v,plain asan,$(ASYNCTESTS_FAKE:%=$(ASYNCTEST_OUT)/$v/%))
TEST_VM		+= $(ASYNCTESTS:%=$(ASYNCTEST_OUT)/plain/%)
SOAK_NATIVE	+= $(ASYNCTEST_OUT)/plain/random

$(eval $(call suite_programs,async,plain asan tsan phase,$(ASYNCTESTS)))
$(eval $(call suite_programs,async,plain asan,$(ASYNCTESTS_FAKE),selftests/lib/fake_nic.c))

# Bandwidths and overlap.
BENCH		+= $(ASYNCTEST_OUT)/plain/bandwidth
PERF_async	:= $(ASYNCTEST_OUT)/plain/bandwidth
$(eval $(call suite_programs,async,plain,bandwidth))

# P02: what must not compile.
TEST_NATIVE	+= selftests/async/types.sh

# Instructions beside those of gda_get() and gda_wait().
TEST_NATIVE	+= $(ASYNCTEST_OUT)/instructions
BENCH		+= $(ASYNCTEST_OUT)/instructions

$(ASYNCTEST_OUT)/bench: selftests/async/bench.c selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a \
		$(GDA_HEADERS) selftests/async/async.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Iselftests/lib $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< \
		selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a

$(ASYNCTEST_OUT)/instructions: selftests/async/instructions.sh $(ASYNCTEST_OUT)/bench
	install -m 755 $< $@

# PTO's examples, and others: as threads here; in a guest also as processes.
ASYNCTEST_EXAMPLES := simple_get simple_get_peer batch_get put_notify tiles
TEST_NATIVE	+= $(ASYNCTEST_OUT)/examples
TEST_VM		+= $(ASYNCTEST_OUT)/examples

$(ASYNCTEST_OUT)/examples: selftests/async/examples.sh $(BUILD)/tools/gda-run \
		$(ASYNCTEST_EXAMPLES:%=$(BUILD)/examples/async-%)
	@mkdir -p $(@D)
	install -m 755 $< $@

$(eval $(call suite_programs,async,efa,copy rows peers random))
