# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Queues and bytes against the code of vendors, which is fetched for it and not kept in the tree:
# `make check-vendors`, not part of `make check`, for it downloads 300 MB. Each program runs in the
# order of posting and in any.

VENDORS_OUT	:= $(BUILD)/selftests/vendors
VENDORS_DIR	:= selftests/vendors
VENDORS_FLAGS	= $(DEPFLAGS) -O2 $(TEST_DEBUG) -Wall -Wextra -Werror -Iuapi

# What Linux 6.12 knows of these bytes, and what NCCL does.
$(VENDORS_OUT)/linux/efa_io_defs.h: $(VENDORS_DIR)/fetch.sh
	$(step) 'header of linux-source-6.12' $< linux $(@D)
	@touch $@

# NCCL's headers, of which those of its device library include each other by names of its own.
VENDORS_DP	:= $(VENDORS_OUT)/nccl/nccl_device/transport/net_efa_gda/efa-dp-direct/include
VENDORS_DEFS	:= $(VENDORS_DP)/common/efa_io_defs.h
$(VENDORS_DEFS): $(VENDORS_DIR)/fetch.sh
	$(step) 'headers of nvidia-nccl-cu13' $< nccl $(VENDORS_OUT)/nccl
	@touch $@

VENDORS_IN_linux	:= $(VENDORS_OUT)/linux
VENDORS_IN_nccl		:= $(dir $(VENDORS_DEFS))

# Compiling these two is the comparison.
$(VENDORS_OUT)/linux.o: $(VENDORS_OUT)/linux/efa_io_defs.h
$(VENDORS_OUT)/nccl.o: $(VENDORS_DEFS)
$(VENDORS_OUT)/linux.o $(VENDORS_OUT)/nccl.o: $(VENDORS_DIR)/io_defs.c
	$(CC) -std=gnu11 $(VENDORS_FLAGS) -isystem $(VENDORS_IN_$(basename $(@F))) -c -o $@ $<

$(VENDORS_OUT)/rdma/config.h: $(VENDORS_DIR)/fetch.sh
	$(step) "provider of rdma-core's source" $< rdma $(@D)
	@touch $@

# NCCL's device code stores words and reads members of structures, which CUDA's compiler lets it. For
# a CPU the headers of CUDA that it includes are empty, and what it needs of them is in cpu_cuda.h.
VENDORS_CODE	:= $(addprefix $(VENDORS_DIR)/,client.h gin_client.h cpu.h cpu_cuda.h gpu.h) $(VENDORS_DEFS)
VENDORS_EMPTY	:= $(addprefix $(VENDORS_OUT)/cpu/,cuda.h cuda_runtime.h cuda_fp16.h cuda_bf16.h cuda_fp8.h \
	cooperative_groups.h cuda/atomic)
$(VENDORS_EMPTY):
	@mkdir -p $(@D) && : >$@

$(VENDORS_OUT)/cuda.o $(VENDORS_OUT)/gin.o: $(VENDORS_OUT)/%.o: $(VENDORS_DIR)/%.cc $(VENDORS_CODE) $(VENDORS_EMPTY)
	$(CXX) -std=gnu++17 -fno-exceptions -fno-strict-aliasing $(VENDORS_FLAGS) -isystem $(VENDORS_OUT)/cpu \
		-isystem $(VENDORS_OUT)/nccl -isystem $(VENDORS_DP) -c -o $@ $<

VENDORS_NVCC	= $(HAVE_nvcc) -x cu -std=c++17 -O2 -gencode arch=compute_90,code=sm_90 -I$(VENDORS_OUT)/nccl -I$(VENDORS_DP)
$(VENDORS_OUT)/gpu.o: $(VENDORS_DIR)/cuda.cc $(VENDORS_CODE) $(OPTIONAL_OUT)/nvcc
	$(VENDORS_NVCC) -c -o $@ $<
$(VENDORS_OUT)/gin_gpu.o: $(VENDORS_DIR)/gin.cc $(VENDORS_CODE) $(OPTIONAL_OUT)/nvcc
	$(VENDORS_NVCC) -c -o $@ $<

# The provider's files as they are, and what they call. Parameters have the names of its headers.
VENDORS_RDMA	:= -std=gnu11 -isystem $(VENDORS_OUT)/rdma -isystem $(VENDORS_OUT)/rdma/efa -include $(VENDORS_OUT)/rdma/config.h
$(VENDORS_OUT)/rdma/%.o: $(VENDORS_OUT)/rdma/config.h
	$(CC) $(VENDORS_RDMA) -O2 -w -Dmmap=vendors_mmap -Dmunmap=vendors_munmap -c -o $@ $(@:.o=.c)

$(VENDORS_OUT)/provider.o: $(VENDORS_DIR)/provider.c $(VENDORS_DIR)/client.h $(VENDORS_OUT)/rdma/config.h
	$(CC) $(VENDORS_FLAGS) -Wno-unused-parameter $(VENDORS_RDMA) -c -o $@ $<

$(VENDORS_OUT)/rdma.o: $(VENDORS_OUT)/provider.o $(addprefix $(VENDORS_OUT)/rdma/,efa/efa.o efa/verbs.o ccan/ilog.o)
	$(LD) -r -o $@ $^

# Commands of a kernel that has counters, registration and ports.
VENDORS_REFUSED	:= execute_ioctl $(addprefix ibv_cmd_,create_comp_cntr destroy_comp_cntr inc_comp_cntr \
	inc_err_comp_cntr set_comp_cntr set_err_comp_cntr qp_attach_comp_cntr query_comp_cntr_caps \
	reg_mr reg_dmabuf_mr dereg_mr query_port query_port_speed query_qp)

# By each client, by a GPU where there is one.
VENDORS_TESTS	:= $(addprefix $(VENDORS_OUT)/,efa_cuda efa_rdma nccl_cpu $(if $(HAVE_nvcc),efa_gpu nccl_gpu))
VENDORS_CUDART	= $(foreach d,lib64 lib,-L$(dir $(lastword $(HAVE_nvcc)))../$d) -lcudart_static -lstdc++ -ldl -lrt
VENDORS_LD_efa_gpu	= $(VENDORS_CUDART)
VENDORS_LD_nccl_gpu	= $(VENDORS_CUDART)
VENDORS_LD_efa_cuda	:= -lstdc++
VENDORS_LD_nccl_cpu	:= -lstdc++
VENDORS_LD_efa_rdma	:= $(VENDORS_REFUSED:%=-Wl,--defsym=%=vendors_refuse)

$(foreach c,cuda rdma gpu,$(eval $(VENDORS_OUT)/efa_$c: $(VENDORS_DIR)/efa.c $(addprefix $(VENDORS_OUT)/,$c.o linux.o nccl.o)))
$(VENDORS_OUT)/nccl_cpu: $(VENDORS_DIR)/nccl.c $(VENDORS_OUT)/gin.o
$(VENDORS_OUT)/nccl_gpu: $(VENDORS_DIR)/nccl.c $(VENDORS_OUT)/gin_gpu.o

$(VENDORS_TESTS): $(INPROC_RAW_OBJ:%=$(INPROC_OUT)/plain/raw/%) $(INPROC_LIB_plain) $(wildcard $(VENDORS_DIR)/*.h) \
		$(VENDORS_DIR)/vendors.mk | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) $(INPROC_FLAGS) -o $@ $(filter %.c %.o,$^) $(INPROC_RAW_WRAP) $(INPROC_LIB_plain) $(VENDORS_LD_$(@F))

VENDORS_RANDOM	:= $(VENDORS_TESTS:%=%-random)
$(VENDORS_RANDOM): %-random: %
	@printf '#!/bin/sh\nGDA_ORDER=random:20261128 exec $<\n' >$@ && chmod +x $@

.PHONY: check-vendors
check-vendors: ## test: efa's bytes and queues against Linux, by NCCL's own code and by rdma-core's, which it downloads (300 MB)
	@$(deps) vendors
	@$(submake) $(VENDORS_TESTS) $(VENDORS_RANDOM)
	@$(scripts)/run-tests.sh $(VENDORS_TESTS) $(VENDORS_RANDOM)
