# SPDX-License-Identifier: MIT
#
# OpenSHMEM: natively PEs are processes that map each other's memory, in a guest they
# reach each other by queue.

OSHTEST_OUT	:= $(BUILD)/selftests/shmem
OSHTEST_DEPS	:= $(LIB_OUT)/libgda-shmem.so $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a \
		   $(OSH_BIN) $(BUILD)/tools/gda-run

TEST_NATIVE	+= $(addprefix $(OSHTEST_OUT)/,every examples programs lost split fork small shmem4py)
TEST_VM		+= $(addprefix $(OSHTEST_OUT)/,every programs lost shmem4py)

# Scripts that find the tree from where they are in build.
$(OSHTEST_OUT)/examples: $(wildcard examples/shmem/*.c)
$(addprefix $(OSHTEST_OUT)/,every examples programs lost split fork small shmem4py): $(OSHTEST_OUT)/%: selftests/shmem/%.sh \
		$(OSHTEST_DEPS) selftests/shmem/openshmem.mk
	@mkdir -p $(@D)
	sed 's|/\.\./\.\."|/../../.."|' $< >$@
	chmod 755 $@

# Each function, with the library as it is installed and with one under the sanitizer.
OSHTEST_SRC	:= $(sort $(wildcard selftests/shmem/every*.c))
OSHTEST_FLAGS	= $(OSH_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -O1 $(TEST_DEBUG)
OSHTEST_LIB_plain := -L$(LIB_OUT) -Wl,-rpath,$(abspath $(LIB_OUT)) -lgda-shmem
OSHTEST_LIB_asan := $(OSHTEST_OUT)/asan/libgda-shmem.a $(INPROC_LIB_asan)
OSHTEST_NEED_plain := $(LIB_OUT)/libgda-shmem.so
OSHTEST_NEED_asan := $(OSHTEST_LIB_asan)
# Queues of two dialects, see selftests/inproc/inproc.mk.
OSHTEST_LIB_phase := $(OSHTEST_OUT)/phase/libgda-shmem.a $(INPROC_LIB_phase)
OSHTEST_NEED_phase := $(OSHTEST_LIB_phase)

define OSHTEST_LIBRARY
$(OSHTEST_OUT)/$1/obj/%.o: lib/frontend/openshmem/%.c $(GDA_HEADERS) $(OSH_HEADERS) \
		selftests/shmem/openshmem.mk
	@mkdir -p $$(@D)
	$$(CC) $$(OSHTEST_FLAGS) $(INPROC_SAN_$1) -c -o $$@ $$<

$(OSHTEST_OUT)/$1/libgda-shmem.a: $(OSH_SRC:lib/frontend/openshmem/%.c=$(OSHTEST_OUT)/$1/obj/%.o)
	rm -f $$@
	$$(AR) qcs $$@ $$^
endef
$(foreach v,asan phase,$(eval $(call OSHTEST_LIBRARY,$v)))

define OSHTEST_VARIANT
$(OSHTEST_OUT)/$1/obj/%.o: selftests/shmem/%.c selftests/shmem/every.h $(OSH_HEADERS) \
		selftests/shmem/openshmem.mk
	@mkdir -p $$(@D)
	$$(CC) $$(OSHTEST_FLAGS) $(INPROC_SAN_$1) -c -o $$@ $$<

$(OSHTEST_OUT)/$1/every: $(OSHTEST_SRC:selftests/shmem/%.c=$(OSHTEST_OUT)/$1/obj/%.o) \
		$(OSHTEST_NEED_$1)
	$$(CC) $$(CFLAGS) $(INPROC_SAN_$1) -pthread -o $$@ $$(filter %.o,$$^) $(OSHTEST_LIB_$1)

$(OSHTEST_OUT)/$1/end: $(OSHTEST_OUT)/$1/obj/end.o $(OSHTEST_NEED_$1)
	$$(CC) $$(CFLAGS) $(INPROC_SAN_$1) -pthread -o $$@ $$< $(OSHTEST_LIB_$1)
endef
$(foreach v,plain asan phase,$(eval $(call OSHTEST_VARIANT,$v)))

$(OSHTEST_OUT)/every: $(OSHTEST_OUT)/plain/every $(OSHTEST_OUT)/asan/every $(OSHTEST_OUT)/phase/every \
		$(OSHTEST_OUT)/plain/end $(OSHTEST_OUT)/asan/end

# Programs in the manner of others, and the examples, as their users build them.
OSHTEST_WARN	:= -O2 -Wall -Wextra -Werror
OSHTEST_PROGRAMS := generic shared last_word broadcasts pipeline transpose threads teams
OSHTEST_MORE	:= lost split fork small
OSHTEST_EXAMPLES := alltoall put_signal ring stencil

$(OSHTEST_PROGRAMS:%=$(OSHTEST_OUT)/bin/%): $(OSHTEST_OUT)/bin/%: selftests/shmem/programs/%.c \
		selftests/shmem/programs/generic.h $(OSH_HEADERS) $(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc $(OSHTEST_WARN) -pthread -o $@ $<

$(OSHTEST_OUT)/bin/generic_cxx: selftests/shmem/programs/generic_cxx.cpp \
		selftests/shmem/programs/generic.h $(OSH_HEADERS) $(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshc++ $(OSHTEST_WARN) -o $@ $<

$(OSHTEST_MORE:%=$(OSHTEST_OUT)/bin/%): $(OSHTEST_OUT)/bin/%: selftests/shmem/%.c $(OSH_HEADERS) \
		$(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc $(OSHTEST_WARN) -pthread -o $@ $<

$(OSHTEST_EXAMPLES:%=$(OSHTEST_OUT)/bin/%): $(OSHTEST_OUT)/bin/%: examples/shmem/%.c $(OSH_HEADERS) \
		$(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc $(OSHTEST_WARN) -o $@ $<

$(OSHTEST_OUT)/programs: $(addprefix $(BUILD)/examples/,shmem-ring shmem-dispatch) \
		$(addprefix $(OSHTEST_OUT)/bin/,$(OSHTEST_PROGRAMS) generic_cxx $(OSHTEST_EXAMPLES))
$(OSHTEST_OUT)/lost: $(OSHTEST_OUT)/bin/lost
$(OSHTEST_OUT)/split: $(OSHTEST_OUT)/bin/split
$(OSHTEST_OUT)/small: $(addprefix $(OSHTEST_OUT)/bin/,small shared)
$(OSHTEST_OUT)/fork: $(addprefix $(OSHTEST_OUT)/bin/,fork fork_static fork_archive)
$(OSHTEST_OUT)/bin/fork: selftests/comm/children.h

# Without a library to load; and with libgda's alone in the program, whose variables are then among
# its own. The linker warns of dlopen(3) in a static program.
$(OSHTEST_OUT)/bin/fork_static: selftests/shmem/fork.c selftests/comm/children.h $(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc $(OSHTEST_WARN) -static -pthread -o $@ $< 2>$@.warnings

$(OSHTEST_OUT)/bin/fork_archive: selftests/shmem/fork.c selftests/comm/children.h $(OSH_HEADERS) $(OSHTEST_DEPS)
	@mkdir -p $(@D)
	$(CC) $(OSH_CPPFLAGS) $(OSHTEST_WARN) -pthread -o $@ $< $(LIB_OUT)/libgda-shmem.a $(LIB_OUT)/libgda.a

# Guests have no network: what they run is built before they start.
$(OSHTEST_OUT)/py/tried: selftests/shmem/shmem4py.sh $(OSH_HEADERS) $(OSHTEST_DEPS) \
		$(OPTIONAL_OUT)/numpy
	@mkdir -p $(@D)
	selftests/shmem/shmem4py.sh --build
	touch $@

$(OSHTEST_OUT)/shmem4py: $(OSHTEST_OUT)/py/tried
