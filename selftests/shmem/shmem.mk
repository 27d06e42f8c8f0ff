# SPDX-License-Identifier: MIT
#
# Symmetric heaps: natively also under the sanitizers; in a guest, too.

SHMEMTEST_OUT	:= $(BUILD)/selftests/shmem
SHMEMTESTS	:= calls setup
# over queues in plain memory
SHMEMTESTS_FAKE	:= requests source

TEST_NATIVE	+= $(foreach v,plain asan tsan phase,$(SHMEMTESTS:%=$(SHMEMTEST_OUT)/$v/%))
TEST_NATIVE	+= $(foreach v,plain asan,$(SHMEMTESTS_FAKE:%=$(SHMEMTEST_OUT)/$v/%))
TEST_VM		+= $(SHMEMTESTS:%=$(SHMEMTEST_OUT)/plain/%)

$(eval $(call suite_programs,shmem,plain asan tsan phase,$(SHMEMTESTS)))
$(eval $(call suite_programs,shmem,plain asan,$(SHMEMTESTS_FAKE),selftests/lib/fake_nic.c))

# --- inside OpenSHMEM's library: over a queue in plain memory; peers that are words ---

TEST_NATIVE	+= $(SHMEMTEST_OUT)/plain/unsettled

$(SHMEMTEST_OUT)/plain/unsettled: selftests/shmem/unsettled.c selftests/lib/fake_nic.c \
		selftests/lib/fake_nic.h $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a \
		$(GDA_HEADERS) selftests/shmem/shmem.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(OSH_CPPFLAGS) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) $(TEST_DEBUG) \
		-pthread -o $@ $< selftests/lib/fake_nic.c $(LIB_OUT)/libgda-shmem.a \
		$(LIB_OUT)/libgda.a

TEST_NATIVE	+= $(SHMEMTEST_OUT)/plain/waiting

$(SHMEMTEST_OUT)/plain/waiting: selftests/shmem/waiting.c $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a \
		$(GDA_HEADERS) selftests/shmem/shmem.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(OSH_CPPFLAGS) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) $(TEST_DEBUG) \
		-pthread -o $@ $< $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a

# --- instructions ---

TEST_NATIVE	+= $(SHMEMTEST_OUT)/instructions
BENCH		+= $(SHMEMTEST_OUT)/instructions

$(SHMEMTEST_OUT)/bench: selftests/shmem/bench.c selftests/lib/fake_nic.c \
		$(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a $(GDA_HEADERS) selftests/shmem/shmem.mk
	@mkdir -p $(@D)
	$(CC) $(OSH_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< selftests/lib/fake_nic.c \
		$(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a

$(SHMEMTEST_OUT)/instructions: selftests/shmem/instructions.sh selftests/lib/callgrind.sh $(SHMEMTEST_OUT)/bench
	install -m 755 $< $@

$(eval $(call suite_programs,shmem,efa,calls))
