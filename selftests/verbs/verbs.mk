# SPDX-License-Identifier: MIT
#
# Devices `verbs:`. Here without an RDMA device, and over a fake one; in the guest on rxe0, which a script makes,
# and as a user who may nothing. There the suites of selftests/inproc run over it, too.

VERBS_OUT	:= $(BUILD)/selftests/verbs

TEST_NATIVE	+= $(VERBS_OUT)/verbs
TEST_VM		+= $(if $(VERBS),$(VERBS_OUT)/rxe.sh $(VERBS_OUT)/ib.sh)

$(addprefix $(VERBS_OUT)/,verbs peer_killed): $(VERBS_OUT)/%: selftests/verbs/%.c \
		selftests/inproc/suite.h $(LIB_OUT)/libgda.a selftests/verbs/verbs.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ \
		$< $(LIB_OUT)/libgda.a

# Natively, over a fake RDMA device of one process: what is beside this, and the suites of
# selftests/inproc that its bits allow, plain and under the sanitizers.
VERBS_SUITES	:= data errors cq
VERBS_FAKE	= $(DEPFLAGS) -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -shared -pthread -o $@ $<

ifneq ($(VERBS),)
SOAK_NATIVE	+= $(VERBS_OUT)/plain/fabric
TEST_NATIVE	+= $(foreach v,plain asan tsan,$(VERBS_OUT)/$v/lost $(VERBS_OUT)/$v/impostor $(VERBS_OUT)/$v/fabric $(VERBS_SUITES:%=$(VERBS_OUT)/$v/%)) \
		   $(VERBS_OUT)/examples.sh
endif

$(VERBS_OUT)/examples.sh: selftests/verbs/examples.sh $(VERBS_OUT)/libfake.so $(VERBS_OUT)/libfake_cm.so \
		$(addprefix $(BUILD)/,tools/gda-run examples/dpa-alltoall examples/shmem-dispatch) \
		$(addprefix $(BUILD)/examples/gin-,allreduce allgather alltoall dispatch halo) \
		$(addprefix $(BUILD)/examples/async-,simple_get simple_get_peer batch_get put_notify tiles)
	install -m 755 $< $@

$(VERBS_OUT)/libfake.so: selftests/verbs/fake.c selftests/verbs/verbs.mk
	@mkdir -p $(@D)
	$(CC) $(VERBS_FAKE)

$(VERBS_OUT)/libfake_cm.so: selftests/verbs/fake_cm.c selftests/verbs/verbs.mk
	@mkdir -p $(@D)
	$(CC) $(VERBS_FAKE)

# It speaks rdma_cm itself, to the one that the library loads.
VERBS_WITH_impostor = $(VERBS_OUT)/libfake_cm.so

# A program over verbs:fake0. In a copy of the tree, as that of planted bugs, it finds those of the copy.
define VERBS_OVER
	@mkdir -p $$(@D)
	@printf '#!/bin/sh\nexport GDA_DEVICE=verbs:fake0 GDA_LIBIBVERBS="$$$$PWD/$$(VERBS_OUT)/libfake.so" \
	GDA_LIBRDMACM="$$$$PWD/$$(VERBS_OUT)/libfake_cm.so"\nexec %s "$$$$@"\n' $1 >$$@ && chmod +x $$@
endef

define VERBS_PROGRAM
$(VERBS_OUT)/$1/$2.bin: selftests/verbs/$2.c $(INPROC_LIB_$1) $$(INPROC_DEPS) \
		$(filter %.c,$(INPROC_EXTRA_$1)) | $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $(INPROC_SAN_$1) -o $$@ $(INPROC_EXTRA_$1) $$< $(INPROC_LIB_$1) $$(VERBS_WITH_$2)

$(VERBS_OUT)/$1/$2: $(VERBS_OUT)/$1/$2.bin $(VERBS_OUT)/libfake.so $(VERBS_OUT)/libfake_cm.so
$(call VERBS_OVER,$(VERBS_OUT)/$1/$2.bin)
endef
$(foreach v,plain asan tsan,$(VERBS_OUT)/$v/impostor.bin): selftests/verbs/proof.h $(VERBS_OUT)/libfake_cm.so
$(foreach v,plain asan tsan,$(foreach t,lost fabric impostor,$(eval $(call VERBS_PROGRAM,$v,$t))))

define VERBS_SUITE
$(VERBS_OUT)/$1/$2: $(INPROC_OUT)/$1/$2 $(VERBS_OUT)/libfake.so $(VERBS_OUT)/libfake_cm.so
$(call VERBS_OVER,$(INPROC_OUT)/$1/$2)
endef
$(foreach v,plain asan tsan,$(foreach t,$(VERBS_SUITES),$(eval $(call VERBS_SUITE,$v,$t))))

$(addprefix $(VERBS_OUT)/,strangers forged impostor): $(VERBS_OUT)/%: selftests/verbs/%.c \
		selftests/inproc/suite.h selftests/verbs/proof.h $(LIB_OUT)/libgda.a selftests/verbs/verbs.mk \
		kmod/include/gda/cm_proof.h | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Ilib/host -Ilib/core -Ikmod/include -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ \
		$< $(LIB_OUT)/libgda.a -lrdmacm -libverbs

$(VERBS_OUT)/ib.sh: selftests/verbs/ib.sh $(VERBS_OUT)/plain/fabric.bin \
		$(addprefix $(VERBS_OUT)/,strangers forged impostor peer_killed)
	install -m 755 $< $@

$(VERBS_OUT)/rxe.sh: selftests/verbs/rxe.sh $(addprefix $(VERBS_OUT)/,verbs peer_killed plain/fabric.bin) \
		$(if $(VERBS),$(addprefix $(VERBS_OUT)/,strangers forged impostor)) \
		$(VERBS_SUITES:%=$(BUILD)/selftests/inproc/plain/%)
	install -m 755 $< $@
