# SPDX-License-Identifier: MIT
#
# What a second dialect costs: the benches of suites that count instructions, with the dialect of
# this folder compiled in beside the first (inproc.mk), next to the same without it.

DIALECT_OUT	:= $(BUILD)/selftests/dialect
DIALECT_BENCH	:= lib gin shmem async
DIALECT_FLAGS	= $(INPROC_FIRST_phase) $(OSH_CPPFLAGS) -Iselftests/lib $(GDA_CFLAGS) $(CFLAGS) \
		  $(INPROC_SAN_phase)

TEST_NATIVE	+= $(DIALECT_OUT)/instructions
BENCH		+= $(DIALECT_OUT)/instructions

$(DIALECT_OUT)/obj/%.o: lib/frontend/openshmem/%.c $(GDA_HEADERS) $(OSH_HEADERS) \
		selftests/dialect/dialect.mk
	@mkdir -p $(@D)
	$(CC) $(DIALECT_FLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(DIALECT_BENCH:%=$(DIALECT_OUT)/%): $(DIALECT_OUT)/%: selftests/%/bench.c selftests/lib/fake_nic.c \
		selftests/dialect/choose.c $(OSH_SRC:lib/frontend/openshmem/%.c=$(DIALECT_OUT)/obj/%.o) \
		$(INPROC_LIB_phase) $(GDA_HEADERS) selftests/dialect/dialect.mk
	@mkdir -p $(@D)
	$(CC) $(DIALECT_FLAGS) -pthread -o $@ $(filter %.c %.o,$^) $(INPROC_LIB_phase)

$(DIALECT_OUT)/instructions: selftests/dialect/instructions.sh $(DIALECT_BENCH:%=$(DIALECT_OUT)/%) \
		$(DIALECT_BENCH:%=$(BUILD)/selftests/%/bench)
	install -m 755 $< $@
