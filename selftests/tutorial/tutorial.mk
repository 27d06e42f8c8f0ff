# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The programs of the tutorial print what its text says: here and in the guest.

TUTORTEST_OUT	:= $(BUILD)/selftests/tutorial

TEST_NATIVE	+= $(TUTORTEST_OUT)/steps
TEST_VM		+= $(TUTORTEST_OUT)/steps

$(TUTORTEST_OUT)/steps: selftests/tutorial/steps.sh $(BUILD)/tools/gda-run \
		$(addprefix $(BUILD)/examples/tutorial/,hello put processes signal sleep errors \
		threads fork calls shmem gpu verbs) \
		$(if $(VERBS),$(BUILD)/selftests/rdma/with-gda0.sh)
	@mkdir -p $(@D)
	install -m 755 $< $@
