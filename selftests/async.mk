# SPDX-License-Identifier: MIT
#
# gda/async.h: natively on the in-process device, also under the sanitizers; in a guest on the
# kernel's. The libraries under the sanitizers are made by inproc.mk.

ASYNCTEST_OUT	:= $(BUILD)/selftests/async
ASYNCTESTS	:= copy
ASYNCTEST_LIB_plain := $(LIB_OUT)/libgda.a
ASYNCTEST_LIB_asan := $(BUILD)/selftests/inproc/asan/libgda.a
ASYNCTEST_LIB_tsan := $(BUILD)/selftests/inproc/tsan/libgda.a

TEST_NATIVE	+= $(foreach v,plain asan tsan,$(ASYNCTESTS:%=$(ASYNCTEST_OUT)/$v/%))
TEST_VM		+= $(ASYNCTESTS:%=$(ASYNCTEST_OUT)/plain/%)

define ASYNC_TEST
$(ASYNCTEST_OUT)/$1/$2: selftests/async/$2.c selftests/async/world.h $(ASYNCTEST_LIB_$1) \
		$$(GDA_HEADERS) selftests/async.mk | $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) -o $$@ $$< $(ASYNCTEST_LIB_$1)
endef
$(foreach v,plain asan tsan,$(foreach t,$(ASYNCTESTS),$(eval $(call ASYNC_TEST,$v,$t))))
