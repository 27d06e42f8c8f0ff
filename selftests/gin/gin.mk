# SPDX-License-Identifier: MIT
#
# gda/gin.h: ranks are threads here, also under the sanitizers; in a guest threads and
# processes. The libraries under the sanitizers are made by inproc.mk.

GINTEST_OUT	:= $(BUILD)/selftests/gin
GINTESTS	:= verbs semantics check histories fork
GINTEST_CHECKED	:= verbs semantics
GINTEST_DEPS	= selftests/gin/harness.c selftests/comm/children.h selftests/gin/gin.h $(GDA_HEADERS) selftests/gin/gin.mk
GINTEST_LIB_plain := $(LIB_OUT)/libgda.a
GINTEST_LIB_asan := $(BUILD)/selftests/inproc/asan/libgda.a
GINTEST_LIB_tsan := $(BUILD)/selftests/inproc/tsan/libgda.a
GINTEST_LIB_phase := $(BUILD)/selftests/inproc/phase/libgda.a

TEST_NATIVE	+= $(foreach v,plain asan tsan phase,$(GINTESTS:%=$(GINTEST_OUT)/$v/%)) \
		   $(GINTEST_CHECKED:%=$(GINTEST_OUT)/checked/%)
TEST_VM		+= $(GINTESTS:%=$(GINTEST_OUT)/plain/%)
SOAK_NATIVE	+= $(GINTEST_OUT)/plain/histories

GINTEST_check	:= -DGDA_CHECK

define GIN_TEST
$(GINTEST_OUT)/$1/$2: selftests/gin/$2.c $$(GINTEST_DEPS) $(GINTEST_LIB_$1)
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) $$(GINTEST_$2) -o $$@ $$< selftests/gin/harness.c \
		$(GINTEST_LIB_$1)
endef
$(foreach v,plain asan tsan phase,$(foreach t,$(GINTESTS),$(eval $(call GIN_TEST,$v,$t))))

# Programs that use the API as they should break no rule.
$(GINTEST_CHECKED:%=$(GINTEST_OUT)/checked/%): $(GINTEST_OUT)/checked/%: selftests/gin/%.c \
		$(GINTEST_LIB_plain) selftests/gin/harness.c selftests/gin/gin.h selftests/gin/gin.mk
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
GINTEST_LATE_SRC := selftests/gin/late.c selftests/lib/fake_nic.c
GINTEST_WITH_programs := selftests/gin/program.c
TEST_NATIVE	+= $(foreach v,plain asan tsan,$(GINTEST_LATE:%=$(GINTEST_OUT)/$v/%))

define GIN_LATE
$(GINTEST_OUT)/$1/$2: selftests/gin/$2.c $$(GINTEST_LATE_SRC) $$(GINTEST_WITH_$2) \
		selftests/gin/late.h selftests/gin/program.h \
		selftests/lib/fake_nic.h selftests/inproc/suite.h $(GINTEST_LIB_$1) \
		$$(GDA_HEADERS) selftests/gin/gin.mk | $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $$(INPROC_SAN_$1) -Iselftests/lib -o $$@ $$< $$(GINTEST_LATE_SRC) \
		$$(GINTEST_WITH_$2) $(GINTEST_LIB_$1)
endef
$(foreach v,plain asan tsan,$(foreach t,$(GINTEST_LATE),$(eval $(call GIN_LATE,$v,$t))))

# It catches stores by single steps, as x86-64 has them.
ifeq ($(GDA_MACHINE),x86_64)
TEST_NATIVE	+= $(GINTEST_OUT)/plain/counted
endif
$(eval $(call GIN_LATE,plain,counted))

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
	install -m 755 selftests/lib/callgrind.sh $(@D)
	install -m 755 $< $@
