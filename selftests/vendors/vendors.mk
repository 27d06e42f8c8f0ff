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

$(VENDORS_OUT)/rdma/config.h: $(VENDORS_DIR)/fetch.sh
	$(step) "provider of rdma-core's source" $< rdma $(@D)
	@touch $@

# NCCL's device library stores words and reads members of structures, which CUDA's compiler lets it.
VENDORS_CUDA	:= $(addprefix $(VENDORS_DIR)/,cuda.cc client.h cpu.h gpu.h) $(VENDORS_OUT)/nccl/common/efa_io_defs.h
$(VENDORS_OUT)/cuda.o: $(VENDORS_CUDA)
	$(CXX) -std=gnu++17 -fno-exceptions -fno-strict-aliasing $(VENDORS_FLAGS) -isystem $(VENDORS_OUT)/nccl -c -o $@ $<

$(VENDORS_OUT)/gpu.o: $(VENDORS_CUDA) $(OPTIONAL_OUT)/nvcc
	$(HAVE_nvcc) -x cu -std=c++17 -O2 -gencode arch=compute_90,code=sm_90 -I$(VENDORS_OUT)/nccl -c -o $@ $<

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
VENDORS_TESTS	:= $(addprefix $(VENDORS_OUT)/efa_,cuda rdma $(if $(HAVE_nvcc),gpu))
VENDORS_LD_gpu	= $(foreach d,lib64 lib,-L$(dir $(lastword $(HAVE_nvcc)))../$d) -lcudart_static -lstdc++ -ldl -lrt
VENDORS_LD_rdma	:= $(VENDORS_REFUSED:%=-Wl,--defsym=%=vendors_refuse)

$(VENDORS_OUT)/efa_%: $(VENDORS_DIR)/efa.c $(addprefix $(VENDORS_OUT)/,%.o linux.o nccl.o) \
		$(VENDORS_DIR)/client.h $(INPROC_RAW_OBJ:%=$(INPROC_OUT)/plain/raw/%) $(INPROC_LIB_plain) \
		$(VENDORS_DIR)/vendors.mk | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) $(INPROC_FLAGS) -o $@ $(filter %.c %.o,$^) $(INPROC_RAW_WRAP) $(INPROC_LIB_plain) $(VENDORS_LD_$*)

VENDORS_RANDOM	:= $(VENDORS_TESTS:%=%-random)
$(VENDORS_RANDOM): %-random: %
	@printf '#!/bin/sh\nGDA_ORDER=random:20261128 exec $<\n' >$@ && chmod +x $@

.PHONY: check-vendors
check-vendors: ## test: efa's bytes and queues against Linux, by NCCL's own code and by rdma-core's, which it downloads (300 MB)
	@$(deps) vendors
	@$(submake) $(VENDORS_TESTS) $(VENDORS_RANDOM)
	@$(scripts)/run-tests.sh $(VENDORS_TESTS) $(VENDORS_RANDOM)
