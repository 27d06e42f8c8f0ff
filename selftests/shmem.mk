# SPDX-License-Identifier: MIT
#
# Symmetric heaps (selftests/shmem; inproc.mk comes before): natively also under the
# sanitizers; in a guest, too.

SHMEMTEST_OUT	:= $(BUILD)/selftests/shmem
SHMEMTESTS	:= calls setup

TEST_NATIVE	+= $(foreach v,plain asan tsan,$(SHMEMTESTS:%=$(SHMEMTEST_OUT)/$v/%))
TEST_VM		+= $(SHMEMTESTS:%=$(SHMEMTEST_OUT)/plain/%)

define SHMEM_TEST
$(SHMEMTEST_OUT)/$1/$2: selftests/shmem/$2.c selftests/shmem/pes.h selftests/comm/ranks.h \
		$(INPROC_LIB_$1) $(GDA_HEADERS) selftests/shmem.mk \
		| $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $(INPROC_SAN_$1) -o $$@ $$< $(INPROC_LIB_$1)
endef
$(foreach v,plain asan tsan,$(foreach t,$(SHMEMTESTS),$(eval $(call SHMEM_TEST,$v,$t))))
