# SPDX-License-Identifier: MIT
#
# OpenSHMEM, natively: PEs are processes that map each other's memory.

OSHTEST_OUT	:= $(BUILD)/selftests/shmem
OSHTEST_DEPS	:= $(LIB_OUT)/libgda-shmem.so $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a \
		   $(OSH_BIN) $(BUILD)/tools/gda-run

TEST_NATIVE	+= $(addprefix $(OSHTEST_OUT)/,examples shmem4py)

# Scripts that find the tree from where they are in build.
$(OSHTEST_OUT)/examples: $(wildcard examples/shmem/*.c)
$(OSHTEST_OUT)/examples $(OSHTEST_OUT)/shmem4py: $(OSHTEST_OUT)/%: selftests/shmem/%.sh \
		$(OSHTEST_DEPS) selftests/openshmem.mk
	@mkdir -p $(@D)
	sed 's|/\.\./\.\."|/../../.."|' $< >$@
	chmod 755 $@
