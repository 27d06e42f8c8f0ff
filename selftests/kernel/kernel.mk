# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Kernel selftests: programs that run as root in the guest, modules loaded.

BUILD ?= build

GDA_KSELFTEST_SHARED := util object post requests group nl efa_queue post_efa
GDA_KSELFTESTS := $(filter-out $(GDA_KSELFTEST_SHARED) causes move nth reload rxe sweep sweep_map \
	sweep_memory sweep_ib sweep_efa tenant,$(basename $(notdir $(wildcard selftests/kernel/*.c))))
GDA_KSELFTEST_OBJS := $(GDA_KSELFTEST_SHARED:%=$(BUILD)/selftests/kernel/%.o)
GDA_KSELFTEST_CFLAGS = $(DEPFLAGS) -D_GNU_SOURCE= -std=gnu11 -O2 $(TEST_DEBUG) -Wall -Wextra -Werror -pthread \
	-Iuapi -Ilib/include -isystem $(BUILD)/kselftest

TEST_VM += $(addprefix $(BUILD)/selftests/kernel/,$(GDA_KSELFTESTS))

# Each says whether it runs a second time, on queues of efa (selftests/inproc/inproc.mk).
GDA_KSELFTESTS_LISTED := $(shell sed -n 's/^\([a-z_]\+\)\t.*/\1/p' selftests/kernel/efa.txt)
ifneq ($(sort $(GDA_KSELFTESTS)),$(sort $(GDA_KSELFTESTS_LISTED)))
$(error selftests/kernel/efa.txt: no line, or one too many, for $(filter-out $(GDA_KSELFTESTS_LISTED),\
	$(GDA_KSELFTESTS)) $(filter-out $(GDA_KSELFTESTS),$(GDA_KSELFTESTS_LISTED)))
endif

$(BUILD)/selftests/kernel/%.o: selftests/kernel/%.c selftests/kernel/kernel.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS) -c -o $@ $<

$(addprefix $(BUILD)/selftests/kernel/,$(GDA_KSELFTESTS)): $(BUILD)/selftests/kernel/%: \
		selftests/kernel/%.c $(GDA_KSELFTEST_OBJS) selftests/kernel/kernel.mk | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) $(GDA_KSELFTEST_CFLAGS) -o $@ $< $(GDA_KSELFTEST_OBJS) $(KSELFTEST_OWN)

$(addprefix $(BUILD)/selftests/kernel/,executor library): KSELFTEST_OWN = $(BUILD)/lib/libgda.a
$(addprefix $(BUILD)/selftests/kernel/,executor library): $(BUILD)/lib/libgda.a

# Those that fail what the kernel does.
NTH_OBJ := $(BUILD)/selftests/kernel/nth.o
SWEEP_OBJS := $(NTH_OBJ) $(addprefix $(BUILD)/selftests/kernel/,sweep.o sweep_map.o sweep_memory.o sweep_ib.o sweep_efa.o rxe.o)
SWEEPERS := $(addprefix $(BUILD)/selftests/kernel/,fail_nth fail_ib)
$(SWEEPERS): KSELFTEST_OWN = $(SWEEP_OBJS)
$(SWEEPERS): $(SWEEP_OBJS)
$(BUILD)/selftests/kernel/fail_init: KSELFTEST_OWN = $(NTH_OBJ)
$(BUILD)/selftests/kernel/fail_init: $(NTH_OBJ)

# Those that take the modules out and put them in again.
RELOADERS := $(addprefix $(BUILD)/selftests/kernel/,idle_zero module)
$(RELOADERS): KSELFTEST_OWN = $(BUILD)/selftests/kernel/reload.o
$(RELOADERS): $(BUILD)/selftests/kernel/reload.o

# Those whose memory is taken away by gda_test.
MOVERS := $(addprefix $(BUILD)/selftests/kernel/,bounce cgroup churn edu event killed data_integrity netlink_events \
	netlink_values memlock peer_memory queue revoke vgem waiters)
$(MOVERS): KSELFTEST_OWN = $(BUILD)/selftests/kernel/move.o
$(MOVERS): $(BUILD)/selftests/kernel/move.o

# Those in which users look at the context of another.
TENANT_TESTS := $(addprefix $(BUILD)/selftests/kernel/,netlink_matrix netlink_rights)
$(TENANT_TESTS): KSELFTEST_OWN = $(BUILD)/selftests/kernel/tenant.o
$(TENANT_TESTS): $(BUILD)/selftests/kernel/tenant.o

# That in which each cause of failure is made.
CAUSE_OBJS := $(addprefix $(BUILD)/selftests/kernel/,causes.o move.o)
$(BUILD)/selftests/kernel/netlink_causes: KSELFTEST_OWN = $(CAUSE_OBJS)
$(BUILD)/selftests/kernel/netlink_causes: $(CAUSE_OBJS)

# Those on an RDMA device.
RDMA_TESTS := $(addprefix $(BUILD)/selftests/kernel/,ib ib_connect ib_imm ib_limits ib_removal)
$(RDMA_TESTS): KSELFTEST_OWN = $(BUILD)/selftests/kernel/rxe.o
$(RDMA_TESTS): $(BUILD)/selftests/kernel/rxe.o

# That in which causes of failure are made on an RDMA device.
FABRIC_OBJS := $(CAUSE_OBJS) $(BUILD)/selftests/kernel/rxe.o
$(BUILD)/selftests/kernel/netlink_fabric: KSELFTEST_OWN = $(FABRIC_OBJS)
$(BUILD)/selftests/kernel/netlink_fabric: $(FABRIC_OBJS)

# That reloads, on an RDMA device.
WIRE_OBJS := $(addprefix $(BUILD)/selftests/kernel/,reload.o rxe.o)
$(BUILD)/selftests/kernel/ib_wire: KSELFTEST_OWN = $(WIRE_OBJS)
$(BUILD)/selftests/kernel/ib_wire: $(WIRE_OBJS)

# The same in 32 bits, against the 64-bit kernel (SECURITY.md O9), if it can be built.
GDA_KSELFTESTS32 := basic blocked completion copyout export handle ioctl keys library limits \
	memory mmap klog range wqe
GDA_KSELFTEST_CFLAGS32 = $(GDA_KSELFTEST_CFLAGS) -m32 -D_FILE_OFFSET_BITS=64 \
	-idirafter /usr/include/x86_64-linux-gnu

ifneq ($(HAVE_m32),)
TEST_VM += $(addprefix $(BUILD)/selftests/kernel32/,$(GDA_KSELFTESTS32))
endif

GDA_KSELFTEST_OBJS32 := $(GDA_KSELFTEST_SHARED:%=$(BUILD)/selftests/kernel32/%.o)

$(GDA_KSELFTEST_OBJS32): $(BUILD)/selftests/kernel32/%.o: selftests/kernel/%.c selftests/kernel/kernel.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_KSELFTEST_CFLAGS32) -c -o $@ $<

$(addprefix $(BUILD)/selftests/kernel32/,$(GDA_KSELFTESTS32)): $(BUILD)/selftests/kernel32/%: \
		selftests/kernel/%.c $(GDA_KSELFTEST_OBJS32) selftests/kernel/kernel.mk \
		| $(BUILD)/kselftest/kselftest_harness.h
	$(CC) $(GDA_KSELFTEST_CFLAGS32) -o $@ $< $(GDA_KSELFTEST_OBJS32) $(KSELFTEST_OWN)

# The library in 32 bits, as far as /dev/gda goes.
GDA_LIB32	:= $(BUILD)/selftests/kernel32/libgda.a
GDA_LIB32_SRC	:= $(LIB_SRC) $(filter-out $(VERBS_SRC),$(INPROC_SRC)) $(VERBS_ABSENT)
GDA_LIB32_OBJ	:= $(GDA_LIB32_SRC:%.c=$(BUILD)/selftests/kernel32/%.o)

$(GDA_LIB32_OBJ): $(BUILD)/selftests/kernel32/%.o: %.c lib/lib.mk selftests/kernel/kernel.mk
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(LIB_SPEAKS) $(DEPFLAGS) -std=gnu11 -O1 $(TEST_DEBUG) -Wall -Wextra -Werror -m32 \
		-D_FILE_OFFSET_BITS=64 -idirafter /usr/include/x86_64-linux-gnu -c -o $@ $<

$(GDA_LIB32): $(GDA_LIB32_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/selftests/kernel32/library: KSELFTEST_OWN = $(GDA_LIB32)
$(BUILD)/selftests/kernel32/library: $(GDA_LIB32)
