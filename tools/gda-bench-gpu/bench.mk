# SPDX-License-Identifier: MIT
#
# gda-bench-gpu, and what else runs on a GPU. On demand: nothing else needs nvcc.

NVCC		?= $(or $(HAVE_nvcc),nvcc)
NVCC_FLAGS	= -std=c++17 -O3 $(GDA_CPPFLAGS) -gencode arch=compute_75,code=sm_75 \
		  -gencode arch=compute_90,code=[sm_90,compute_90]
GPU_HEADERS	= $(GDA_HEADERS) $(wildcard lib/include/gda/gpu/*.h) selftests/gpu/ktap.cuh
GPU_BENCH	:= $(BUILD)/tools/gda-bench-gpu
GPU_OUT		:= $(BUILD)/selftests/gpu
GPU_TESTS	:= paths paths_efa efa courier copy gin shmem async dpa words

# Two programs' worth of posters: those of efa.cu speak efa as well.
$(GPU_BENCH): tools/gda-bench-gpu/main.cu tools/gda-bench-gpu/efa.cu $(wildcard tools/gda-bench-gpu/*.cuh) $(GPU_HEADERS) \
		tools/gda-bench-gpu/bench.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -o $@ $(filter %.cu,$^)

$(GPU_OUT)/paths: selftests/gpu/paths.cu $(GPU_HEADERS) tools/gda-bench-gpu/bench.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -o $@ $<

$(GPU_OUT)/paths_efa: selftests/gpu/paths.cu $(GPU_HEADERS) tools/gda-bench-gpu/bench.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -DGDA_WQE_EFA -o $@ $<

$(GPU_OUT)/courier: selftests/gpu/courier.cu tools/gda-bench-gpu/efa.cu $(wildcard tools/gda-bench-gpu/*.cuh) \
		$(GPU_HEADERS) tools/gda-bench-gpu/bench.mk
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -o $@ $(filter %.cu,$^)

# Their ranks need the library, and their tables of tests C++20.
$(addprefix $(GPU_OUT)/,copy gin shmem async dpa words efa): $(GPU_OUT)/%: selftests/gpu/%.cu $(GPU_HEADERS) \
		$(LIB_OUT)/libgda.a tools/gda-bench-gpu/bench.mk
	@mkdir -p $(@D)
	$(NVCC) $(subst c++17,c++20,$(NVCC_FLAGS)) -o $@ $< $(LIB_OUT)/libgda.a -ldl -lpthread

$(GPU_BENCH) $(addprefix $(GPU_OUT)/,$(GPU_TESTS)) $(LIBTEST_OUT)/gpu: \
		$(OPTIONAL_OUT)/nvcc

.PHONY: bench-gpu
bench-gpu: $(GPU_BENCH) ## measure: posting by a GPU (where there is one)
	@$(GPU_BENCH)

.PHONY: check-gpu
check-gpu: $(addprefix $(GPU_OUT)/,$(GPU_TESTS)) $(LIBTEST_OUT)/gpu ## test: the tests that need a GPU
	@selftests/gpu/sass.sh
	@$(GPU_OUT)/paths
	@$(GPU_OUT)/paths_efa
	@$(GPU_OUT)/efa
	@GDA_ORDER=random:1 $(GPU_OUT)/efa
	@$(GPU_OUT)/efa --library
	@$(GPU_OUT)/courier
	@$(GPU_OUT)/copy
	@$(GPU_OUT)/gin
	@$(GPU_OUT)/shmem
	@$(GPU_OUT)/async
	@$(GPU_OUT)/dpa
	@$(GPU_OUT)/words
	@$(LIBTEST_OUT)/gpu
