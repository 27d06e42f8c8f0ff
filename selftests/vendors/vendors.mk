# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Queues and bytes against the code of vendors, which is fetched for it and not kept in the tree:
# `make check-vendors`, not part of `make check`, for it downloads 300 MB.

VENDORS_OUT	:= $(BUILD)/selftests/vendors
VENDORS_DIR	:= selftests/vendors
VENDORS_FLAGS	= $(DEPFLAGS) -O2 $(TEST_DEBUG) -Wall -Wextra -Werror -Iuapi

# What Linux 6.12 knows of these bytes, and what NCCL does.
$(VENDORS_OUT)/linux/efa_io_defs.h: $(VENDORS_DIR)/fetch.sh
	$(step) 'header of linux-source-6.12' $< linux $(@D)
	@touch $@

$(VENDORS_OUT)/nccl/common/efa_io_defs.h: $(VENDORS_DIR)/fetch.sh
	$(step) 'headers of nvidia-nccl-cu13' $< nccl $(VENDORS_OUT)/nccl
	@touch $@

VENDORS_IN_linux	:= linux
VENDORS_IN_nccl		:= nccl/common

# Compiling these two is the comparison.
$(VENDORS_OUT)/linux.o: $(VENDORS_OUT)/linux/efa_io_defs.h
$(VENDORS_OUT)/nccl.o: $(VENDORS_OUT)/nccl/common/efa_io_defs.h
$(VENDORS_OUT)/linux.o $(VENDORS_OUT)/nccl.o: $(VENDORS_DIR)/io_defs.c
	$(CC) -std=gnu11 $(VENDORS_FLAGS) -isystem $(VENDORS_OUT)/$(VENDORS_IN_$(basename $(@F))) -c -o $@ $<

# It stores words and reads members of structures, which CUDA's compiler lets it.
VENDORS_CUDA	:= $(addprefix $(VENDORS_DIR)/,efa_cuda.cc efa_cuda.h cpu.h gpu.h) $(VENDORS_OUT)/nccl/common/efa_io_defs.h
$(VENDORS_OUT)/efa_cuda.o: $(VENDORS_CUDA)
	$(CXX) -std=gnu++17 -fno-exceptions -fno-strict-aliasing $(VENDORS_FLAGS) -isystem $(VENDORS_OUT)/nccl -c -o $@ $<

$(VENDORS_OUT)/efa_gpu.o: $(VENDORS_CUDA) $(OPTIONAL_OUT)/nvcc
	$(HAVE_nvcc) -x cu -std=c++17 -O2 -gencode arch=compute_90,code=sm_90 -I$(VENDORS_OUT)/nccl -c -o $@ $<

# The program on a CPU, and by a GPU where there is one.
VENDORS_TESTS	:= $(addprefix $(VENDORS_OUT)/efa_,cuda $(if $(HAVE_nvcc),gpu))
VENDORS_LD_gpu	= $(foreach d,lib64 lib,-L$(dir $(lastword $(HAVE_nvcc)))../$d) -lcudart_static -lstdc++ -ldl -lrt

$(VENDORS_OUT)/efa_%: $(VENDORS_DIR)/efa.c $(addprefix $(VENDORS_OUT)/,efa_%.o linux.o nccl.o) \
		$(VENDORS_DIR)/efa_cuda.h $(INPROC_RAW_OBJ:%=$(INPROC_OUT)/plain/raw/%) $(INPROC_LIB_plain) \
		$(VENDORS_DIR)/vendors.mk | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) $(INPROC_FLAGS) -o $@ $(filter %.c %.o,$^) $(INPROC_RAW_WRAP) $(INPROC_LIB_plain) $(VENDORS_LD_$*)

.PHONY: check-vendors
check-vendors: ## test: efa's bytes and queues against Linux and by NCCL's own code, which it downloads (300 MB)
	@$(deps) vendors
	@$(submake) $(VENDORS_TESTS)
	@$(scripts)/run-tests.sh $(VENDORS_TESTS)
