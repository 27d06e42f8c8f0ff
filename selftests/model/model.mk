# SPDX-License-Identifier: MIT
#
# Every interleaving of small models: of the fast path (its headers and the engine
# themselves), and of doorbell by fault. The explorer switches stacks by itself, and
# knows how on x86-64 only.

MODEL_OUT	:= $(BUILD)/selftests/model
MODEL_FLAGS	= -Iselftests/model/include -Iselftests/model $(GDA_CPPFLAGS) \
		   -Iengine -Iengine/dialect -Ikmod/include $(GDA_CFLAGS) $(TEST_DEBUG) -Wno-missing-field-initializers
MODEL_DEPS	= $(GDA_HEADERS) $(INPROC_HEADERS) selftests/model/explore.c \
		  $(wildcard selftests/model/*.h selftests/model/include/*.h \
		  selftests/model/include/gda/*.h) selftests/model/model.mk

ifeq ($(GDA_MACHINE),x86_64)
TEST_NATIVE	+= $(MODEL_OUT)/fastpath $(MODEL_OUT)/doorbell
SOAK_NATIVE	+= $(MODEL_OUT)/fastpath-all
endif

$(MODEL_OUT)/fastpath-all: $(MODEL_OUT)/fastpath
	@printf '#!/bin/sh\nexec $< -a\n' >$@ && chmod +x $@

$(MODEL_OUT)/fastpath: selftests/model/fastpath.c $(wildcard engine/*.c engine/dialect/*.c) $(MODEL_DEPS)
	@mkdir -p $(@D)
	$(CC) $(MODEL_FLAGS) -o $@ $(filter %.c,$^)

$(MODEL_OUT)/doorbell: selftests/model/doorbell.c $(MODEL_DEPS)
	@mkdir -p $(@D)
	$(CC) $(MODEL_FLAGS) -o $@ $(filter %.c,$^)
