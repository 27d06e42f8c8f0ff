# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Programs that gda-pair runs in two guests at the same time, the same ones in the same
# order in both: TEST_PAIR is a list as TEST_VM is. The one called nobody runs without the modules,
# so it comes first. In the one called killed side 1 is switched off, so it comes last.

PAIR_OUT	:= $(BUILD)/selftests/pair
PAIR_FLAGS	= $(DEPFLAGS) -std=gnu11 -O2 $(TEST_DEBUG) -Wall -Wextra -Werror -pthread \
	$(GDA_CPPFLAGS) -isystem $(BUILD)/kselftest
PAIR_TESTS	:= cable raw operations isolation remote killed
PAIR_SCRIPTS	:= nobody ranks file

# The launch agent, here.
TEST_NATIVE	+= $(PAIR_OUT)/agent
# Two of them speak to bare verbs, too.
PAIR_BARE	:= $(if $(filter infiniband/verbs.h,$(HAVE_verbs)),raw killed)
TEST_PAIR	+= $(addprefix $(PAIR_OUT)/,cable $(filter raw,$(PAIR_BARE)) operations isolation $(PAIR_SCRIPTS) \
	remote $(filter killed,$(PAIR_BARE)))

$(PAIR_TESTS:%=$(PAIR_OUT)/%): $(PAIR_OUT)/%: selftests/pair/%.c selftests/pair/pair.mk \
		| $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(PAIR_FLAGS) -o $@ $< $(PAIR_MORE)

PAIR_RC		:= tools/gda-perf/rc.c
$(addprefix $(PAIR_OUT)/,raw killed): $(PAIR_RC)
$(addprefix $(PAIR_OUT)/,operations isolation remote killed): $(LIB_OUT)/libgda.a
$(PAIR_OUT)/raw: PAIR_MORE = $(PAIR_RC) -libverbs
$(addprefix $(PAIR_OUT)/,operations isolation remote): PAIR_MORE = $(LIB_OUT)/libgda.a
$(PAIR_OUT)/killed: PAIR_MORE = $(PAIR_RC) $(LIB_OUT)/libgda.a -libverbs

$(PAIR_OUT)/agent: $(BUILD)/selftests/comm/hello
$(addprefix $(PAIR_OUT)/,agent $(PAIR_SCRIPTS)): $(PAIR_OUT)/%: selftests/pair/%.sh
	@mkdir -p $(@D)
	install -m 755 $< $@

$(addprefix $(PAIR_OUT)/,file nobody): selftests/pair/transfer.sh $(addprefix $(BUILD)/examples/,gda-send gda-recv)
$(PAIR_OUT)/nobody: $(PAIR_OUT)/remote
$(PAIR_OUT)/ranks: $(addprefix $(BUILD)/,tools/gda-run selftests/comm/hello \
	$(addprefix examples/,shmem-dispatch dpa-alltoall) \
	$(addprefix examples/gin-,allreduce allgather alltoall dispatch halo) \
	$(addprefix examples/async-,simple_get_peer batch_get put_notify tiles))
