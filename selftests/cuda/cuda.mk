# SPDX-License-Identifier: MIT
#
# GPUs: lib/gpu on a driver without a GPU, here. The library's variants, and the
# rule, are inproc.mk's.

CUDATEST_OUT	:= $(BUILD)/selftests/cuda

SOAK_NATIVE	+= $(CUDATEST_OUT)/tsan/copies $(CUDATEST_OUT)/tsan/words
TEST_NATIVE	+= $(foreach v,plain asan tsan,$(addprefix $(CUDATEST_OUT)/$v/,copies efa words words_life)) \
		   $(CUDATEST_OUT)/plain/gin \
		   $(CUDATEST_OUT)/plain/shmem $(CUDATEST_OUT)/plain/async $(CUDATEST_OUT)/plain/dpa \
		   $(CUDATEST_OUT)/plain/connect

CUDATEST_WITH	:= -rdynamic selftests/cuda/fake.c
SUITE_WITH_cuda_tsan = $(INPROC_EXTRA_tsan)
$(eval $(call suite_programs,cuda,plain asan tsan,copies efa words words_life,$(CUDATEST_WITH)))
$(eval $(call suite_programs,cuda,plain,gin shmem async dpa connect,$(CUDATEST_WITH)))

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
