# SPDX-License-Identifier: MIT
#
# gda0, the RDMA device of gda_rdma, in the guest: what it promises to programs of verbs, and programs
# that exist.

RDMA_OUT	:= $(BUILD)/selftests/rdma
RDMA_TESTS	:= verbs recv events uc ud cq open
RDMA_DEVX_TESTS	:= devx devx_commands fail

TEST_VM		+= $(if $(VERBS),$(addprefix $(RDMA_OUT)/,$(RDMA_TESTS) $(RDMA_DEVX_TESTS) programs))

$(addprefix $(RDMA_OUT)/,$(addsuffix .bin,$(RDMA_TESTS))): $(RDMA_OUT)/%.bin: selftests/rdma/%.c selftests/rdma/rc.h selftests/rdma/rdma.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iuapi -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< -libverbs -lmlx5

$(addprefix $(RDMA_OUT)/,$(addsuffix .bin,$(RDMA_DEVX_TESTS))): $(RDMA_OUT)/%.bin: selftests/rdma/%.c selftests/rdma/devx.h selftests/rdma/rc.h selftests/rdma/rdma.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iuapi -Iselftests/kmod -Iselftests/kernel -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< $(RDMA_OWN) -lmlx5 -libverbs

# That which fails what the kernel does.
$(RDMA_OUT)/fail.bin: RDMA_OWN = $(NTH_OBJ) $(GDA_KSELFTEST_OBJS)
$(RDMA_OUT)/fail.bin: $(NTH_OBJ) $(GDA_KSELFTEST_OBJS)

# An MPI program, where there is a compiler of such.
RDMA_MPICC	:= $(shell command -v mpicc)

$(RDMA_OUT)/programs.bin: selftests/rdma/programs.sh $(if $(RDMA_MPICC),$(RDMA_OUT)/ring)
	install -D -m 755 $< $@

$(RDMA_OUT)/ring: selftests/rdma/ring.c
	@mkdir -p $(@D)
	OMPI_CC=$(CC) mpicc -O1 -Wall -o $@ $<

$(RDMA_OUT)/with-gda0.sh: selftests/rdma/with-gda0.sh
	install -D -m 755 $< $@

$(addprefix $(RDMA_OUT)/,$(RDMA_TESTS) $(RDMA_DEVX_TESTS) programs): %: %.bin $(RDMA_OUT)/with-gda0.sh
	@printf '#!/bin/sh\nexec $(RDMA_OUT)/with-gda0.sh $@.bin "$$@"\n' >$@ && chmod +x $@
