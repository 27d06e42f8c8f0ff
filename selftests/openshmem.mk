# SPDX-License-Identifier: MIT
#
# OpenSHMEM, natively: PEs are processes that map each other's memory.

OSHTEST_OUT	:= $(BUILD)/selftests/shmem
OSHTEST_DEPS	:= $(LIB_OUT)/libgda-shmem.so $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a \
		   $(OSH_BIN) $(BUILD)/tools/gda-run

TEST_NATIVE	+= $(OSHTEST_OUT)/examples

# Scripts that find the tree from where they are in build.
$(OSHTEST_OUT)/examples: selftests/shmem/examples.sh $(wildcard examples/shmem/*.c) \
		$(OSHTEST_DEPS) selftests/openshmem.mk
	@mkdir -p $(@D)
	sed 's|/\.\./\.\."|/../../.."|' $< >$@
	chmod 755 $@
