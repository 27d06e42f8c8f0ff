# SPDX-License-Identifier: MIT
#
# Devices `verbs:`. Here without an RDMA device; in the guest on rxe0, which a script makes,
# and as a user who may nothing. There the suites of selftests/inproc run over it, too.

VERBS_OUT	:= $(BUILD)/selftests/verbs

TEST_NATIVE	+= $(VERBS_OUT)/verbs
TEST_VM		+= $(VERBS_OUT)/rxe.sh

$(VERBS_OUT)/verbs: selftests/verbs/verbs.c selftests/inproc/suite.h $(LIB_OUT)/libgda.a \
		selftests/verbs.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ \
		$< $(LIB_OUT)/libgda.a

$(VERBS_OUT)/rxe.sh: selftests/verbs/rxe.sh $(VERBS_OUT)/verbs
	install -m 755 $< $@
