# SPDX-License-Identifier: MIT
#
# The RMA plugin for NCCL: by its table, without NCCL. Under a sanitizer the program has the
# library, and the plugin finds it there.

NCCLTEST_OUT	:= $(BUILD)/selftests/nccl
NCCLTEST_SRC	:= selftests/nccl/plugin.c selftests/nccl/ranks.c selftests/cuda/fake.c
NCCLTEST_PLUGIN_plain := $(LIB_OUT)/$(NCCL_SO)
NCCLTEST_PLUGIN_asan := $(NCCLTEST_OUT)/asan/$(NCCL_SO)
NCCLTEST_PLUGIN_tsan := $(NCCLTEST_OUT)/tsan/$(NCCL_SO)
NCCLTEST_LIB_asan := $(BUILD)/selftests/inproc/asan/libgda.a
NCCLTEST_LIB_tsan := $(BUILD)/selftests/inproc/tsan/libgda.a

TEST_NATIVE	+= $(foreach v,plain asan tsan,$(NCCLTEST_OUT)/$v/plugin)

define NCCLTEST_LIBRARY
$(NCCLTEST_OUT)/$1/$(NCCL_SO): $$(NCCL_SRC) $$(wildcard lib/binding/nccl/*.h) $$(GDA_HEADERS) \
		selftests/nccl/nccl.mk
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) -Ilib/binding/nccl -fPIC -shared -o $$@ $$(NCCL_SRC)
endef
$(foreach v,asan tsan,$(eval $(call NCCLTEST_LIBRARY,$v)))

define NCCLTEST_PROGRAM
$(NCCLTEST_OUT)/$1/plugin: $$(NCCLTEST_SRC) $(NCCLTEST_PLUGIN_$1) $(NCCLTEST_LIB_$1) \
		selftests/nccl/ranks.h selftests/cuda/fake.h lib/binding/nccl/rma.h \
		selftests/inproc/tsan.c selftests/nccl/nccl.mk \
		| $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) -Ilib/binding/nccl -rdynamic \
		-DGDA_NCCL_PLUGIN='"$$(abspath $(NCCLTEST_PLUGIN_$1))"' -o $$@ $$(NCCLTEST_SRC) \
		$$(INPROC_EXTRA_$1) -Wl,--whole-archive $(NCCLTEST_LIB_$1) \
		-Wl,--no-whole-archive -ldl
endef
$(foreach v,plain asan tsan,$(eval $(call NCCLTEST_PROGRAM,$v)))

# NCCL's device API on a GPU, over the plugin: NCCL_HOME names a folder with the headers and the
# library of one of NCCL's packages. The headers are large, and so is their code: sm_90 alone,
# and without the backends that need a NIC.
NCCL_HOME	?=
NCCLTEST_NCCL	:= $(firstword $(wildcard $(addprefix $(NCCL_HOME)/,lib/libnccl.so.2 libnccl.so.2)))
NCCLTEST_HAS	:= $(and $(NCCL_HOME),$(NCCLTEST_NCCL),$(wildcard $(NCCL_HOME)/include/nccl_device.h))

TEST_NATIVE	+= $(NCCLTEST_OUT)/device
$(eval $(call optional_file,nccl,$(if $(NCCLTEST_HAS),$(NCCL_HOME))))

$(NCCLTEST_OUT)/device: selftests/nccl/device.cu $(LIB_OUT)/$(NCCL_SO) $(OPTIONAL_OUT)/nvcc \
		$(OPTIONAL_OUT)/nccl selftests/nccl/nccl.mk
	@mkdir -p $(@D)
ifeq ($(HAVE_nvcc),)
	printf '#!/bin/sh\necho "1..0 # SKIP no nvcc here"\n' >$@ && chmod +x $@
else ifeq ($(NCCLTEST_HAS),)
	printf '#!/bin/sh\necho "1..0 # SKIP NCCL_HOME names no NCCL with a device API"\n' >$@ && \
		chmod +x $@
else
	$(HAVE_nvcc) -std=c++17 -O2 -gencode arch=compute_90,code=sm_90 \
		-DNCCL_GIN_GDAKI_ENABLE=0 -DNCCL_GIN_GPI_ENABLE=0 -DNCCL_GIN_EFA_GDA_ENABLE=0 \
		-I$(NCCL_HOME)/include -DGDA_NCCL_PLUGIN='"$(abspath $(LIB_OUT)/$(NCCL_SO))"' \
		-o $@ $< -Xlinker $(abspath $(NCCLTEST_NCCL)) -Xlinker -rpath \
		-Xlinker $(dir $(abspath $(NCCLTEST_NCCL))) -lpthread
endif
