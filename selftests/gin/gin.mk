# SPDX-License-Identifier: MIT
#
# gda/gin.h: ranks are threads here, also under the sanitizers; in a guest threads and
# processes. The variants of the library, and the rule, are inproc.mk's.

GINTEST_OUT	:= $(BUILD)/selftests/gin
GINTESTS	:= verbs semantics check histories fork
GINTEST_CHECKED	:= verbs semantics

TEST_NATIVE	+= $(foreach v,plain asan tsan phase,$(GINTESTS:%=$(GINTEST_OUT)/$v/%)) \
		   $(GINTEST_CHECKED:%=$(GINTEST_OUT)/checked/%)
TEST_VM		+= $(GINTESTS:%=$(GINTEST_OUT)/plain/%)
SOAK_NATIVE	+= $(GINTEST_OUT)/plain/histories

SUITE_WITH_gin_check := -DGDA_CHECK
$(eval $(call suite_programs,gin,plain asan tsan phase,$(GINTESTS),selftests/gin/harness.c))

# Programs that use the API as they should break no rule.
$(GINTEST_CHECKED:%=$(GINTEST_OUT)/checked/%): $(GINTEST_OUT)/checked/%: selftests/gin/%.c \
		$(LIB_OUT)/libgda.a selftests/gin/harness.c selftests/gin/gin.h selftests/gin/gin.mk
	@mkdir -p $(@D)
	$(CC) $(INPROC_FLAGS) -DGDA_CHECK -o $@ $< selftests/gin/harness.c $(LIB_OUT)/libgda.a

# As threads here; in a guest also as processes.
GINTEST_EXAMPLES := allgather allreduce halo alltoall dispatch
TEST_NATIVE	+= $(GINTEST_OUT)/examples
TEST_VM		+= $(GINTEST_OUT)/examples

# They break no rule of GDA_CHECK.
$(GINTEST_EXAMPLES:%=$(GINTEST_OUT)/checked/gin-%): $(GINTEST_OUT)/checked/gin-%: \
		examples/gin-%.c examples/gin-ranks.c examples/gin-ranks.h examples/ranks.c \
		examples/ranks.h $(LIB_OUT)/libgda.a $(GDA_HEADERS) selftests/gin/gin.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -DGDA_CHECK -pthread -o $@ $< \
		examples/gin-ranks.c examples/ranks.c $(LIB_OUT)/libgda.a

$(GINTEST_OUT)/examples: selftests/gin/examples.sh $(BUILD)/tools/gda-run \
		$(GINTEST_EXAMPLES:%=$(GINTEST_OUT)/checked/gin-%) \
		$(GINTEST_EXAMPLES:%=$(BUILD)/examples/gin-%) $(GINTEST_CHECKED:%=$(GINTEST_OUT)/plain/%)
	@mkdir -p $(@D)
	install -m 755 $< $@

# With ranks in plain memory, and a consumer that the test steps.
GINTEST_LATE	:= order programs
GINTEST_LATE_WITH := -Iselftests/lib selftests/gin/late.c selftests/lib/fake_nic.c
SUITE_WITH_gin_programs := selftests/gin/program.c
TEST_NATIVE	+= $(foreach v,plain asan tsan,$(GINTEST_LATE:%=$(GINTEST_OUT)/$v/%))

$(eval $(call suite_programs,gin,plain asan tsan,$(GINTEST_LATE),$(GINTEST_LATE_WITH)))

# It catches stores by single steps, as x86-64 has them.
ifeq ($(GDA_MACHINE),x86_64)
TEST_NATIVE	+= $(GINTEST_OUT)/plain/counted
endif
$(eval $(call suite_programs,gin,plain,counted,$(GINTEST_LATE_WITH)))

# Ten million programs.
SOAK_NATIVE	+= $(GINTEST_OUT)/plain/programs-all

$(GINTEST_OUT)/plain/programs-all: $(GINTEST_OUT)/plain/programs
	printf '#!/bin/sh\nGDA_PROGRAMS=10000000 exec "$${0%%-all}"\n' >$@ && chmod +x $@

# Instructions of each verb.
TEST_NATIVE	+= $(GINTEST_OUT)/instructions
BENCH		+= $(GINTEST_OUT)/instructions

$(GINTEST_OUT)/bench: selftests/gin/bench.c selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a \
		$(GDA_HEADERS) selftests/gin/gin.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Iselftests/lib $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< \
		selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a

$(GINTEST_OUT)/instructions: selftests/gin/instructions.sh selftests/lib/callgrind.sh $(GINTEST_OUT)/bench
	install -m 755 $< $@

# On queues of the efa dialect, which complete in any order: run by inproc.mk.
$(eval $(call suite_programs,gin,efa,semantics verbs histories epochs strong,selftests/gin/harness.c))

# Strong signals there, fenced and by epochs.
BENCH		+= $(GINTEST_OUT)/efa/strong

# The arithmetic of epochs, on plain memory.
TEST_NATIVE	+= $(GINTEST_OUT)/plain/epoch
SOAK_NATIVE	+= $(GINTEST_OUT)/plain/epoch
$(eval $(call suite_programs,gin,plain,epoch))
