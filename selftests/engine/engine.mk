# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Native tests of the engine, with the address and undefined behaviour sanitizers;
# and its benchmark, without.

BUILD		?= build

ETEST_OUT	:= $(BUILD)/selftests/engine
ETEST_DIR	:= selftests/engine
ETEST_NAMES	:= bytes decode doorbell access error cq model fetch imm atomic async_copy flight flight_steps wait order send send_error send_model recv decode_list order_send unreliable datagram efa efa_fetch
ETEST_FLAGS	= $(DEPFLAGS) -std=gnu11 -O2 $(TEST_DEBUG) -Wall -Wextra -Werror -Ilib/host -Iuapi \
		   -Iengine -Iengine/dialect -Ikmod/include -I$(ETEST_DIR) -isystem $(BUILD)/kselftest
ETEST_SANITIZE	:= -fsanitize=address,undefined -fno-sanitize-recover=undefined \
		   -fno-omit-frame-pointer
ETEST_HEADERS	:= $(wildcard uapi/gda/*.h lib/host/*.h engine/*.h engine/dialect/*.h kmod/include/gda/*.h \
		   $(ETEST_DIR)/*.h) selftests/engine/engine.mk
ETEST_SRC	:= $(wildcard engine/*.c engine/dialect/*.c)
ETEST_OBJ	:= $(patsubst engine/%.c,$(ETEST_OUT)/obj/engine/%.o,$(ETEST_SRC)) \
		   $(ETEST_OUT)/obj/host.o $(ETEST_OUT)/obj/host_rq.o

TEST_NATIVE	+= $(ETEST_NAMES:%=$(ETEST_OUT)/%)
# 10^9 flips
SOAK_NATIVE	+= $(ETEST_OUT)/efa_fetch $(ETEST_OUT)/efa

BENCH		+= $(ETEST_OUT)/bench-instructions
BENCH_NATIVE	+= $(ETEST_OUT)/bench-instructions

# ETEST_COVERAGE and ETEST_LIBS come from coverage.sh.
$(ETEST_OUT)/obj/engine/%.o: engine/%.c selftests/engine/engine.mk
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) $(ETEST_SANITIZE) $(ETEST_COVERAGE) -c -o $@ $<

$(ETEST_OUT)/obj/host.o $(ETEST_OUT)/obj/host_rq.o: $(ETEST_OUT)/obj/%.o: $(ETEST_DIR)/%.c selftests/engine/engine.mk
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) $(ETEST_SANITIZE) -c -o $@ $<

# rdma-core's view of the bytes is a unit of its own: its names clash with ours.
$(ETEST_OUT)/obj/mlx5dv.o: $(ETEST_DIR)/mlx5dv.c $(ETEST_DIR)/mlx5dv.h $(OPTIONAL_OUT)/verbs \
		selftests/engine/engine.mk
	@mkdir -p $(@D)
	$(CC) $(if $(filter infiniband/verbs.h,$(HAVE_verbs)),-DGDA_VERBS) $(ETEST_FLAGS) $(ETEST_SANITIZE) -c -o $@ $<

$(ETEST_OUT)/bytes: $(ETEST_OUT)/obj/mlx5dv.o

$(ETEST_NAMES:%=$(ETEST_OUT)/%): $(ETEST_OUT)/%: $(ETEST_DIR)/%.c $(ETEST_OBJ) \
		selftests/engine/engine.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) $(ETEST_SANITIZE) -pthread -o $@ $< $(filter %.o,$^) $(ETEST_LIBS)

# The same tests with every queue visited through order.c, and those of them that hold whatever is
# chosen. What drives a flight by itself has no order.
ETEST_PLAIN	:= $(filter-out flight flight_steps order order_send,$(ETEST_NAMES)) record
ETEST_CHOSEN	:= $(filter-out model send_model,$(ETEST_PLAIN))
# ... or what a test counts are not steps.
ETEST_SPLIT	:= atomic doorbell decode unreliable efa
TEST_NATIVE	+= $(ETEST_PLAIN:%=$(ETEST_OUT)/plain/%) $(ETEST_CHOSEN:%=$(ETEST_OUT)/chosen/%) \
		   $(ETEST_SPLIT:%=$(ETEST_OUT)/split/%)

$(ETEST_PLAIN:%=$(ETEST_OUT)/plain/%): $(ETEST_OUT)/plain/%: $(ETEST_OUT)/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nTH_ORDER=plain exec $<\n' >$@ && chmod +x $@

$(ETEST_CHOSEN:%=$(ETEST_OUT)/chosen/%): $(ETEST_OUT)/chosen/%: $(ETEST_OUT)/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nTH_ORDER=20261127 exec $<\n' >$@ && chmod +x $@

$(ETEST_SPLIT:%=$(ETEST_OUT)/split/%): $(ETEST_OUT)/split/%: $(ETEST_OUT)/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nTH_ORDER=split:20261128 exec $<\n' >$@ && chmod +x $@

# The library's decoder of entries, beside the engine.
TEST_NATIVE	+= $(ETEST_OUT)/record

$(ETEST_OUT)/record: $(ETEST_DIR)/record.c lib/device/inproc/entry.c $(ETEST_OBJ) selftests/engine/engine.mk | \
		$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) -Ilib/include -Ilib/core -O2 $(ETEST_SANITIZE) -o $@ $(filter %.c %.o,$^)

# Rings of records: a race is what this is about, so it has no sanitizer, which would slow it.
TEST_NATIVE	+= $(ETEST_OUT)/record_ring

$(ETEST_OUT)/record_ring: $(ETEST_DIR)/record_ring.c engine/control/record.c \
		engine/control/record.h $(ETEST_HEADERS) | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iengine/control $(ETEST_FLAGS) -pthread -o $@ $(filter %.c,$^)

# Counters in memory of the caller, with the control calls that create and attach them.
TEST_NATIVE	+= $(ETEST_OUT)/counter

$(ETEST_OUT)/counter: $(ETEST_DIR)/counter.c engine/control/counters.c engine/control/qp_refs.c \
		$(wildcard engine/control/*.h) $(ETEST_OBJ) selftests/engine/engine.mk | \
		$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iengine/control $(ETEST_FLAGS) $(ETEST_SANITIZE) -pthread -o $@ $(filter %.c %.o,$^)

# Of the control calls, portable as the engine.
TEST_NATIVE	+= $(ETEST_OUT)/sweep

$(ETEST_OUT)/sweep: $(ETEST_DIR)/sweep.c engine/control/sweep.c selftests/engine/engine.mk | \
		$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iengine/control $(ETEST_FLAGS) $(ETEST_SANITIZE) -o $@ $(filter %.c,$^)

# For coverage.sh.
.PHONY: list-engine
list-engine:
	@echo $(ETEST_NAMES)

$(ETEST_OUT)/bench: $(ETEST_DIR)/bench.c $(ETEST_DIR)/host.c $(ETEST_SRC) $(ETEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) -o $@ $(filter %.c,$^)

$(ETEST_OUT)/bench-instructions: $(ETEST_DIR)/bench.sh $(ETEST_OUT)/bench
	@printf '#!/bin/sh\nexec $< $(ETEST_OUT)/bench\n' >$@ && chmod +x $@

# The same engine without the tests of the switch for recording: what they cost.
UNRECORDED	:= $(ETEST_OUT)/unrecorded-engine
TEST_NATIVE	+= $(ETEST_OUT)/unrecorded

$(UNRECORDED)/bench: $(ETEST_DIR)/bench.c $(ETEST_DIR)/host.c $(ETEST_SRC) $(ETEST_HEADERS)
	@rm -rf $(@D)
	@mkdir -p $(@D)
	@cp -r engine/*.[ch] engine/dialect $(@D)
	@test $$(grep -c 'if (unlikely(q->record))' $(@D)/visit.h) = 2
	@sed -i 's/unlikely(q->record)/false/' $(@D)/visit.h
	$(CC) -I$(@D) $(ETEST_FLAGS) -o $@ $(ETEST_DIR)/bench.c $(ETEST_DIR)/host.c \
		$(ETEST_SRC:engine/%=$(@D)/%)

$(ETEST_OUT)/unrecorded: $(ETEST_DIR)/unrecorded.sh $(ETEST_DIR)/bench.sh $(ETEST_OUT)/bench \
		$(UNRECORDED)/bench
	@printf '#!/bin/sh\nexec $< $(ETEST_OUT)/bench $(UNRECORDED)/bench\n' >$@ && chmod +x $@

# A dialect that only this test has: its table of dialects is found first.
DIALECT_OUT	:= $(BUILD)/selftests/dialect
TEST_NATIVE	+= $(DIALECT_OUT)/model

$(DIALECT_OUT)/model: selftests/dialect/model.c selftests/dialect/phase.c $(ETEST_DIR)/host.c \
		$(ETEST_SRC) $(ETEST_HEADERS) $(wildcard selftests/dialect/*.h) | \
		$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -Iselftests/dialect $(ETEST_FLAGS) $(ETEST_SANITIZE) -o $@ $(filter %.c,$^)

# Every tape of the litmus tests. The sanitizers watch the engine elsewhere.
TEST_NATIVE	+= $(ETEST_OUT)/litmus

.PHONY: litmus-orders
litmus-orders: $(ETEST_OUT)/litmus ## test: what a queue may do in any order, and that it does each
	@$(ETEST_OUT)/litmus

$(ETEST_OUT)/litmus: $(ETEST_DIR)/litmus.c $(ETEST_DIR)/litmus_tests.c $(ETEST_DIR)/host.c $(ETEST_SRC) \
		$(ETEST_HEADERS) | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(ETEST_FLAGS) -o $@ $(filter %.c,$^)
