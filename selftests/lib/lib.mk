# SPDX-License-Identifier: MIT
#
# Native tests of the fast path and the library; tests of the library in the guest.

LIBTEST_OUT	:= $(BUILD)/selftests/lib
LIBTEST_FLAGS	= $(GDA_CPPFLAGS) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) $(TEST_DEBUG)
LIBTEST_DEPS	= $(GDA_HEADERS) $(wildcard selftests/lib/*.h) selftests/lib/lib.mk
LIBTEST_NAMES	:= copy entry unwrap queue producers chunk waiter unordered schemes

TEST_NATIVE	+= $(LIBTEST_NAMES:%=$(LIBTEST_OUT)/%) $(LIBTEST_OUT)/producers-tsan \
		   $(LIBTEST_OUT)/device $(LIBTEST_OUT)/notify $(LIBTEST_OUT)/dmabuf \
		   $(LIBTEST_OUT)/words selftests/lib/compile.sh $(LIBTEST_OUT)/instructions
TEST_VM		+= $(LIBTEST_OUT)/device $(LIBTEST_OUT)/notify $(LIBTEST_OUT)/dmabuf \
		   $(LIBTEST_OUT)/words
BENCH		+= $(LIBTEST_OUT)/bench $(LIBTEST_OUT)/instructions

$(LIBTEST_NAMES:%=$(LIBTEST_OUT)/%) $(LIBTEST_OUT)/bench: $(LIBTEST_OUT)/%: selftests/lib/%.c \
		selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a $(LIBTEST_DEPS) \
		| $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_FLAGS) -pthread -o $@ $< selftests/lib/fake_nic.c $(LIB_OUT)/libgda.a

# gda_view_init(), what it says its errors with, and what waits call.
LIBTEST_VIEW	:= $(addprefix lib/core/,view.c dialect.c efa.c size.c last_error.c error.c wait.c waiter.c ring.c waited.c)

$(LIBTEST_OUT)/producers-tsan: selftests/lib/producers.c selftests/lib/fake_nic.c selftests/lib/no_reasons.c \
		$(LIBTEST_VIEW) $(LIBTEST_DEPS) | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_FLAGS) -fsanitize=thread -pthread -o $@ $(filter %.c,$^)

$(LIBTEST_OUT)/instructions: selftests/lib/instructions.sh selftests/lib/callgrind.sh $(LIBTEST_OUT)/bench
	install -m 755 $< $@

TEST_NATIVE	+= $(LIBTEST_OUT)/efa/instructions
BENCH		+= $(LIBTEST_OUT)/efa/instructions

$(LIBTEST_OUT)/efa/bench: selftests/lib/bench_efa.c $(LIB_OUT)/libgda.a $(LIBTEST_DEPS)
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_FLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

$(LIBTEST_OUT)/efa/instructions: selftests/lib/instructions_efa.sh selftests/lib/callgrind.sh $(LIBTEST_OUT)/efa/bench
	install -m 755 $< $@

$(addprefix $(LIBTEST_OUT)/,device notify dmabuf words): $(LIBTEST_OUT)/%: \
		selftests/lib/%.c $(LIB_OUT)/libgda.a $(LIBTEST_DEPS) \
		| $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_FLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

# On demand, where there is a GPU (make check-gpu).
$(LIBTEST_OUT)/gpu: selftests/lib/gpu.cu selftests/lib/fake_nic.c $(LIBTEST_VIEW) \
		$(LIBTEST_DEPS) $(GPU_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(LIBTEST_FLAGS) -c -o $@-nic.o selftests/lib/fake_nic.c
	$(CC) $(LIBTEST_FLAGS) -r -o $@-view.o $(LIBTEST_VIEW)
	$(NVCC) $(NVCC_FLAGS) -o $@ $< $@-nic.o $@-view.o -lpthread
