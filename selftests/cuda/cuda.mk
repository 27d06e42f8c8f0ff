# SPDX-License-Identifier: MIT
#
# GPUs: lib/gpu on a driver without a GPU, here. The library's variants and their flags
# are those of inproc.mk, which is read first.

CUDATEST_OUT	:= $(BUILD)/selftests/cuda

SOAK_NATIVE	+= $(CUDATEST_OUT)/tsan/copies $(CUDATEST_OUT)/tsan/words
TEST_NATIVE	+= $(foreach v,plain asan tsan,$(addprefix $(CUDATEST_OUT)/$v/,copies words words_life)) \
		   $(CUDATEST_OUT)/plain/gin \
		   $(CUDATEST_OUT)/plain/shmem $(CUDATEST_OUT)/plain/async $(CUDATEST_OUT)/plain/dpa \
		   $(CUDATEST_OUT)/plain/connect

CUDATEST_LIB_plain := $(LIB_OUT)/libgda.a
CUDATEST_LIB_asan := $(BUILD)/selftests/inproc/asan/libgda.a
CUDATEST_LIB_tsan := $(BUILD)/selftests/inproc/tsan/libgda.a

define CUDATEST_QUEUES
$(addprefix $(CUDATEST_OUT)/$1/,copies words words_life): $(CUDATEST_OUT)/$1/%: selftests/cuda/%.c \
		selftests/cuda/fake.c $(CUDATEST_LIB_$1) selftests/cuda/fake.h \
		selftests/cuda/fake_calls.h selftests/cuda/fake_types.h selftests/cuda/pair.h selftests/cuda/words.h \
		selftests/inproc/suite.h selftests/inproc/tsan.c selftests/cuda/cuda.mk \
		| $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) -rdynamic -o $$@ $$< selftests/cuda/fake.c \
		$$(INPROC_EXTRA_$1) $(CUDATEST_LIB_$1) -ldl
endef
$(foreach v,plain asan tsan,$(eval $(call CUDATEST_QUEUES,$v)))

$(addprefix $(CUDATEST_OUT)/plain/,gin shmem async dpa connect): $(CUDATEST_OUT)/plain/%: \
		selftests/cuda/%.c selftests/cuda/fake.c $(CUDATEST_LIB_plain) \
		selftests/cuda/fake.h selftests/cuda/fake_calls.h selftests/cuda/fake_types.h \
		selftests/inproc/suite.h selftests/cuda/cuda.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(INPROC_FLAGS) -rdynamic -o $@ $< selftests/cuda/fake.c $(CUDATEST_LIB_plain) -ldl

# On a GPU, where there is one; it says so if there is none.
CUDATEST_NVFLAGS := -std=c++17 -O2 -gencode arch=compute_75,code=sm_75 \
		   -gencode arch=compute_90,code=sm_90

TEST_NATIVE	+= $(CUDATEST_OUT)/gpu

$(CUDATEST_OUT)/gpu: selftests/cuda/gpu.cu selftests/gpu/ktap.cuh $(LIB_OUT)/libgda.a $(GDA_HEADERS) \
		$(OPTIONAL_OUT)/nvcc selftests/cuda/cuda.mk
	@mkdir -p $(@D)
ifneq ($(HAVE_nvcc),)
	$(HAVE_nvcc) $(CUDATEST_NVFLAGS) $(GDA_CPPFLAGS) -o $@ $< $(LIB_OUT)/libgda.a -ldl \
		-lpthread
else
	printf '#!/bin/sh\necho "1..0 # SKIP no nvcc here"\n' >$@ && chmod +x $@
endif
