# SPDX-License-Identifier: MIT
#
# One suite, two devices. The tests in selftests/inproc run on whatever gda_open(NULL)
# opens: the in-process device here, the kernel's in the guest. Here also under the
# sanitizers; and so does every kernel selftest that does not need the kernel.

INPROC_OUT	:= $(BUILD)/selftests/inproc
INPROC_TESTS	:= data errors threads cq rnr signal shared_cq record explain explain_causes waited efa efa_rules \
		   efa_guess counters
INPROC_FLAGS	= $(LIB_CPPFLAGS) $(HAVE_pmix) -isystem $(BUILD)/kselftest $(GDA_CFLAGS) \
		  $(CFLAGS) $(TEST_DEBUG) -pthread
INPROC_DEPS	= selftests/inproc/inproc.mk lib/lib.mk

# Kernel selftests, and what of them needs the kernel ("-T" leaves out, "-t" picks).
INPROC_RAW	:= basic keys range ring wqe imm peer handle limits idle wait efa
INPROC_RAW_peer	:= -T killed
INPROC_RAW_handle := -T device_names
INPROC_RAW_limits := -t O11_cqs_and_qps -t O11_mrs
INPROC_RAW_idle	:= -T costs_nothing -T polled_while_exported -T failed_export_is_not_polled \
		   -T rnr_delay_costs_nothing
# The worker polls there, though seldom.
INPROC_RAW_wait	:= -T S11_costs_no_visits
INPROC_SLOW	:= limits idle

TEST_NATIVE	+= $(foreach v,plain asan tsan,$(INPROC_TESTS:%=$(INPROC_OUT)/$v/%)) \
		   $(INPROC_RAW:%=$(INPROC_OUT)/plain/kernel-%) \
		   $(patsubst %,$(INPROC_OUT)/asan/kernel-%,$(filter-out $(INPROC_SLOW),$(INPROC_RAW))) \
		   $(foreach t,fork keys fault gives_way,$(INPROC_OUT)/plain/$t) \
		   $(foreach t,keys fault,$(INPROC_OUT)/asan/$t) \
		   $(foreach v,plain asan tsan,$(foreach t,help help_ranks rings order,$(INPROC_OUT)/$v/$t)) \
		   $(INPROC_OUT)/tsan-program/signal
BENCH		+= $(INPROC_OUT)/plain/bench
BENCH_NATIVE	+= $(INPROC_OUT)/plain/bench
TEST_VM		+= $(INPROC_TESTS:%=$(INPROC_OUT)/plain/%)

TEST_NATIVE	+= $(INPROC_OUT)/shared_cq.sh
BENCH		+= $(INPROC_OUT)/shared_cq.sh

$(INPROC_OUT)/shared_cq.sh: selftests/inproc/shared_cq.sh $(INPROC_OUT)/plain/shared_cq
	install -m 755 $< $@

# --- the library, once per variant ---

# What the optimizer does with the fast path is for the plain variant: compiling the instrumented
# one with -O2 takes twice as long. Warnings are that variant's as well: with -O1 the compiler
# guesses wrong about what is initialized.
INPROC_SAN_ALL	:= -O1 -w
# With every call of the fast path inlined, as its headers demand, a program took up to a minute to
# compile under this one.
INPROC_SAN_asan	:= $(INPROC_SAN_ALL) -Dalways_inline=unused -fsanitize=address,undefined \
		   -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# The engine's fences order memory that no lock guards; the detector cannot use them.
INPROC_SAN_tsan	:= $(INPROC_SAN_ALL) -fsanitize=thread -Wno-tsan
INPROC_LIBSRC_asan = $(LIB_SRC) $(COMM_SRC) $(SHMEM_SRC) $(GIN_SRC) $(ASYNC_SRC) $(DPA_SRC) $(INPROC_SRC)
INPROC_LIBSRC_tsan = $(INPROC_LIBSRC_asan)

# A library whose posters and executors speak the dialect of selftests/dialect, too, see below.
INPROC_FIRST_phase := -Iselftests/dialect -DPH_FATAL=1
INPROC_SAN_phase := -DGDA_WQE_TEST=200U -Iselftests/dialect
INPROC_LIBSRC_phase = $(INPROC_LIBSRC_asan) selftests/dialect/phase.c selftests/dialect/choose.c

# This file exports inline functions under their own names, so there they are inlined.
$(INPROC_OUT)/%/obj/lib/core/fastpath.o: INPROC_INLINE := -Ualways_inline

define INPROC_LIBRARY
$(INPROC_OUT)/$1/obj/%.o: %.c $$(INPROC_DEPS)
	@mkdir -p $$(@D)
	$$(CC) $(INPROC_FIRST_$1) $$(INPROC_FLAGS) $(LIB_SPEAKS) $(INPROC_SAN_$1) $$(INPROC_INLINE) -c -o $$@ $$<

$(INPROC_OUT)/$1/libgda.a: $$(patsubst %.c,$(INPROC_OUT)/$1/obj/%.o,$$(INPROC_LIBSRC_$1))
	rm -f $$@
	$$(AR) qcs $$@ $$^
endef
$(foreach v,asan tsan phase,$(eval $(call INPROC_LIBRARY,$v))$(eval $(call lib_optional,$(INPROC_OUT)/$v/obj)))

# Programs that speak efa, with the library as it is installed.
INPROC_SAN_efa	:= -DGDA_WQE_EFA

INPROC_LIB_plain := $(LIB_OUT)/libgda.a
INPROC_LIB_efa	:= $(LIB_OUT)/libgda.a
INPROC_LIB_asan	:= $(INPROC_OUT)/asan/libgda.a
INPROC_LIB_tsan	:= $(INPROC_OUT)/tsan/libgda.a
INPROC_LIB_phase := $(INPROC_OUT)/phase/libgda.a

# --- programs, once per variant, of any suite ---

# $(call suite_programs,SUITE,VARIANTS,NAMES,WITH): build/selftests/SUITE/VARIANT/NAME of
# selftests/SUITE/NAME.c and a variant of the library; and of flags and sources: WITH,
# SUITE_WITH_<suite>_<variant>, SUITE_WITH_<suite>_<name>.
suite_with	= $4 $(SUITE_WITH_$1_$2) $(SUITE_WITH_$1_$3)

define suite_program
$(BUILD)/selftests/$1/$2/$3: selftests/$1/$3.c $(filter %.c,$(suite_with)) $(INPROC_LIB_$2) \
		$$(INPROC_DEPS) selftests/$1/$1.mk | $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $(INPROC_FIRST_$2) $$(INPROC_FLAGS) $(filter-out %.c,$(suite_with)) $(INPROC_SAN_$2) -o $$@ \
		$$(filter %.c,$$^) $(INPROC_LIB_$2)

endef
suite_programs	= $(foreach v,$2,$(foreach t,$3,$(call suite_program,$1,$v,$t,$4)))

# --- the suite ---

INPROC_EXTRA_tsan := selftests/inproc/tsan.c
SUITE_WITH_inproc_tsan = $(INPROC_EXTRA_tsan)
SUITE_WITH_inproc_tsan-program = $(INPROC_EXTRA_tsan)

# A program under ThreadSanitizer with the library as it is installed.
INPROC_SAN_tsan-program := $(INPROC_SAN_ALL) -fsanitize=thread
INPROC_LIB_tsan-program := $(LIB_OUT)/libgda.a

$(eval $(call suite_programs,inproc,plain asan tsan,$(INPROC_TESTS) help help_ranks rings order))
$(eval $(call suite_programs,inproc,plain,fork keys fault gives_way bench))
$(eval $(call suite_programs,inproc,asan,keys fault))
$(eval $(call suite_programs,inproc,tsan-program,signal))

# --- other orders of requests ---

# Programs under GDA_ORDER: in the plain order through engine/order.c, and those that hold whatever
# is chosen. Not data, whose model is that of the plain order, and not what reads the recorder,
# which has an event more for each request.
ORDER_OUT	:= $(BUILD)/selftests/order
ORDER_CHOSEN	:= $(addprefix inproc/plain/,errors cq rnr signal rings help fault efa efa_rules counters) gin/plain/semantics \
		   shmem/plain/calls async/plain/copy async/plain/random dpa/plain/calls
ORDER_PLAIN	:= inproc/plain/data $(ORDER_CHOSEN)
TEST_NATIVE	+= $(ORDER_PLAIN:%=$(ORDER_OUT)/plain/%) $(ORDER_CHOSEN:%=$(ORDER_OUT)/random/%)

define ORDER_TEST
$(ORDER_OUT)/$1/$3: $(BUILD)/selftests/$3
	@mkdir -p $$(@D)
	@printf '#!/bin/sh\nGDA_DEVICE=inproc GDA_ORDER=$2 exec $$<\n' >$$@ && chmod +x $$@

endef
$(eval $(foreach t,$(ORDER_PLAIN),$(call ORDER_TEST,plain,plain,$t)))
$(eval $(foreach t,$(ORDER_CHOSEN),$(call ORDER_TEST,random,random:20261127,$t)))

# --- queues without order ---

# Programs of the front ends that speak efa, on queues of that dialect: in the order of posting, and
# in any (GDA_ORDER).
EFA_OUT		:= $(BUILD)/selftests/efa
EFA_PROGRAMS	:= $(addprefix gin/efa/,semantics verbs histories epochs) shmem/efa/calls \
		   $(addprefix async/efa/,copy rows peers random)
TEST_NATIVE	+= $(foreach o,plain random,$(EFA_PROGRAMS:%=$(EFA_OUT)/$o/%))

# Those of gin again, with strong signals by epochs.
EFA_EPOCHS	:= $(addprefix gin/efa/,semantics verbs histories)
TEST_NATIVE	+= $(EFA_EPOCHS:%=$(EFA_OUT)/epochs/%)

# In a guest on the kernel's device; suites of the kernel's selftests that can (selftests/kernel/efa.txt)
# shorter than on mlx5, unless `make soak` or another says how long.
EFA_GUEST	:= gin/efa/semantics shmem/efa/calls async/efa/peers
EFA_KERNEL	:= $(addprefix kernel/,$(shell awk '$$2 == "run" { print $$1 }' selftests/kernel/efa.txt))
EFA_SHORT	:= GDA_STRESS=$$$${GDA_STRESS:-0.1}
TEST_VM		+= $(addprefix $(EFA_OUT)/soft0/,$(EFA_GUEST) $(EFA_KERNEL))

define EFA_TEST
$(EFA_OUT)/$1/$3: $(BUILD)/selftests/$3
	@mkdir -p $$(@D)
	@printf '#!/bin/sh\nGDA_DIALECT=efa $2 exec $$<\n' >$$@ && chmod +x $$@

endef
$(eval $(foreach t,$(EFA_PROGRAMS),$(call EFA_TEST,plain,GDA_DEVICE=inproc GDA_ORDER=plain,$t)))
$(eval $(foreach t,$(EFA_PROGRAMS),$(call EFA_TEST,random,GDA_DEVICE=inproc GDA_ORDER=random:20261128,$t)))
$(eval $(foreach t,$(EFA_EPOCHS),$(call EFA_TEST,epochs,GIN_EPOCHS=1 GDA_DEVICE=inproc GDA_ORDER=random:20261129,$t)))
$(eval $(foreach t,$(EFA_GUEST),$(call EFA_TEST,soft0,,$t)))
$(eval $(foreach t,$(EFA_KERNEL),$(call EFA_TEST,soft0,$(EFA_SHORT),$t)))

# --- the kernel's selftests, their system calls served by lib/device/inproc ---

INPROC_RAW_OBJ	:= $(addprefix kernel/,util.o nl.o object.o post.o requests.o efa_queue.o post_efa.o) inproc/syscall_shim.o
INPROC_RAW_WRAP	:= -Wl,--wrap=open,--wrap=close,--wrap=ioctl \
		   -Wl,--wrap=t_objects_read,--wrap=t_objects_settle

# Objects that all of them share, once per variant.
define INPROC_RAW_SHARED
$(INPROC_OUT)/$1/raw/%.o: selftests/%.c selftests/inproc/inproc.mk lib/lib.mk
	@mkdir -p $$(@D)
	$$(CC) -D_GNU_SOURCE= $$(INPROC_FLAGS) $(INPROC_SAN_$1) -c -o $$@ $$<
endef
$(foreach v,plain asan,$(eval $(call INPROC_RAW_SHARED,$v)))

define INPROC_RAW_TEST
$(INPROC_OUT)/$1/kernel-$2.bin: selftests/kernel/$2.c $(INPROC_RAW_OBJ:%=$(INPROC_OUT)/$1/raw/%) \
		$(INPROC_LIB_$1) selftests/inproc/inproc.mk | $$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) -D_GNU_SOURCE= $$(INPROC_FLAGS) $(INPROC_SAN_$1) -o $$@ $$(filter %.c %.o,$$^) \
		$$(INPROC_RAW_WRAP) $(INPROC_LIB_$1)

$(INPROC_OUT)/$1/kernel-$2: $(INPROC_OUT)/$1/kernel-$2.bin
	printf '#!/bin/sh\nexec "$$$$0.bin" %s\n' '$(INPROC_RAW_$2)' >$$@
	chmod +x $$@
endef
$(foreach v,plain asan,$(foreach t,$(INPROC_RAW),$(eval $(call INPROC_RAW_TEST,$v,$t))))

# --- a dialect that only tests have, on the in-process device ---

# Its table of dialects is found first, and linked in place of the library's.
define INPROC_DIALECT
$(INPROC_OUT)/$1/dialect: selftests/dialect/inproc.c selftests/dialect/phase.c \
		engine/dialect/dialect.c $(INPROC_LIB_$1) $(filter %.c,$(INPROC_EXTRA_$1)) \
		$$(INPROC_DEPS) $$(wildcard selftests/dialect/*.h) | \
		$$(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) -Iselftests/dialect -Iselftests/inproc $$(INPROC_FLAGS) $(INPROC_SAN_$1) -o $$@ \
		$$(filter %.c %.a,$$^)
TEST_NATIVE += $(INPROC_OUT)/$1/dialect
endef
$(foreach v,plain asan tsan,$(eval $(call INPROC_DIALECT,$v)))

# The suite, with the dialect beside mlx5: queues speak the one and the other in turn.
# Not cq, rnr, keys: they post entries of mlx5 by hand, as inproc.c above does of this dialect.
INPROC_PHASE	:= data errors threads signal shared_cq help
$(eval $(call suite_programs,inproc,phase,$(INPROC_PHASE)))
TEST_NATIVE	+= $(INPROC_PHASE:%=$(INPROC_OUT)/phase/%)
