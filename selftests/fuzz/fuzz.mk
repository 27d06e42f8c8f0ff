# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Fuzzers of what an untrusted program reaches: with clang's libFuzzer by `make fuzz`
# (FUZZ_RUNS, FUZZ_SECONDS); in `make check` their corpus is replayed.

BUILD		?= build

FUZZ_OUT	:= $(BUILD)/selftests/fuzz
FUZZ_TARGETS	:= decode efa engine keys uapi $(if $(VERBS),cm)
FUZZ_FLAGS	:= -std=gnu11 -O1 $(TEST_DEBUG) -Wall -Wextra -Werror -Ilib/host -Iuapi -Ilib/include -Ilib/core \
		   -Ilib/device/inproc -Ilib/device/copier -Ilib/device/verbs -Iengine -Iengine/dialect -Iengine/control -Iengine/fabric -Ikmod/include \
		   -Iselftests/engine -Iselftests/fuzz -pthread
FUZZ_SANITIZE	:= -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_HEADERS	:= $(wildcard uapi/gda/*.h lib/host/*.h lib/core/*.h lib/device/inproc/*.h lib/device/verbs/*.h lib/include/gda/*.h \
		   engine/*.h engine/dialect/*.h engine/control/*.h engine/fabric/*.h selftests/engine/*.h selftests/fuzz/*.h) selftests/fuzz/fuzz.mk
FUZZ_SRC_decode	:= $(wildcard engine/*.c engine/dialect/*.c) selftests/engine/host.c \
		   selftests/engine/host_rq.c
FUZZ_SRC_engine	:= $(FUZZ_SRC_decode)
FUZZ_SRC_efa	:= $(FUZZ_SRC_decode)
# The engine as its own tests have it, under the same sanitizers (engine.mk).
FUZZ_LIB_decode	= $(ETEST_OBJ)
FUZZ_LIB_engine	= $(ETEST_OBJ)
FUZZ_LIB_efa	= $(ETEST_OBJ)
FUZZ_LIB_uapi	:= $(BUILD)/selftests/inproc/asan/libgda.a
FUZZ_LIB_keys	:= $(FUZZ_LIB_uapi)
FUZZ_LIB_cm	:= $(FUZZ_LIB_uapi)
# Included by its target, to be called from within.
FUZZ_WITHIN_cm	:= lib/device/verbs/cm.c
FUZZ_RUNS	?= 1000000

TEST_NATIVE	+= $(FUZZ_TARGETS:%=$(FUZZ_OUT)/replay-%)

# Long, by `make soak`: a million inputs times $GDA_STRESS (10), with libFuzzer and the sanitizers.
SOAK_NATIVE	+= $(FUZZ_TARGETS:%=$(FUZZ_OUT)/soak-%)

$(FUZZ_OUT)/soak-%: selftests/fuzz/soak.sh $(FUZZ_OUT)/% $(FUZZ_OUT)/corpus/%.unpacked
	@printf '#!/bin/sh\nexec selftests/fuzz/soak.sh $* $(FUZZ_OUT)\n' >$@ && chmod +x $@

define FUZZ_TARGET
$(FUZZ_OUT)/$1.bin: selftests/fuzz/$1.c selftests/fuzz/replay.c $$(FUZZ_LIB_$1) $$(FUZZ_HEADERS)
	@mkdir -p $$(@D)
	$$(CC) $$(FUZZ_FLAGS) $$(FUZZ_SANITIZE) -o $$@ $$(filter-out $(FUZZ_WITHIN_$1),$$(filter %.c,$$^)) $$(FUZZ_LIB_$1)

$(FUZZ_OUT)/replay-$1: $(FUZZ_OUT)/$1.bin $(FUZZ_OUT)/corpus/$1.unpacked
	@printf '#!/bin/sh\nexec $$< $(FUZZ_OUT)/corpus/$1\n' >$$@ && chmod +x $$@

$(FUZZ_OUT)/$1: selftests/fuzz/$1.c $$(FUZZ_SRC_$1) $$(FUZZ_FROM_$1) $$(FUZZ_HEADERS)
	@mkdir -p $$(@D)
	clang $$(FUZZ_FLAGS) $$(LIB_CPPFLAGS) $$(LIB_SPEAKS) $$(HAVE_pmix) $$(FUZZ_SANITIZE) -fsanitize=fuzzer -o $$@ $$(filter-out $(FUZZ_WITHIN_$1),$$(filter %.c,$$^))
endef

$(FUZZ_OUT)/cm.bin $(FUZZ_OUT)/cm: $(FUZZ_WITHIN_cm)

# The library is built by clang, too, so that libFuzzer sees which way it went.
FUZZ_FROM_uapi	= $(LIB_SRC) $(INPROC_SRC) $(COMM_SRC) $(SHMEM_SRC) $(GIN_SRC) $(ASYNC_SRC) $(DPA_SRC)
FUZZ_FROM_keys	= $(FUZZ_FROM_uapi)
# The target includes that one.
FUZZ_FROM_cm	= $(filter-out $(FUZZ_WITHIN_cm),$(FUZZ_FROM_uapi))
$(foreach t,$(FUZZ_TARGETS),$(eval $(call FUZZ_TARGET,$t)))
$(addprefix $(FUZZ_OUT)/,uapi keys cm): $(OPTIONAL_OUT)/pmix $(OPTIONAL_OUT)/verbs

# The fuzzer of /dev/gda, which runs in the guest: its corpus is replayed, or with
# GDA_FUZZ="-s SECONDS ..." or "-n RUNS ..." it goes on from there (guest_main.c).
GUEST_FUZZ_SRC	:= $(addprefix selftests/,fuzz/guest_main.c fuzz/guest.c \
		   fuzz/guest_buffer.c kernel/util.c kernel/object.c kernel/post.c kernel/requests.c \
		   kernel/efa_queue.c kernel/post_efa.c kernel/nl.c)
TEST_VM		+= $(FUZZ_OUT)/replay-guest

$(FUZZ_OUT)/guest: $(GUEST_FUZZ_SRC) selftests/fuzz/guest.h selftests/fuzz/fuzz.h \
		$(wildcard selftests/kernel/*.h uapi/gda/*.h)
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE= -std=gnu11 -O2 -g -Wall -Wextra -Werror -pthread -Iuapi -Ilib/include -Iselftests \
		-o $@ $(filter %.c,$^)

$(FUZZ_OUT)/replay-guest: $(FUZZ_OUT)/guest $(FUZZ_OUT)/corpus/guest.unpacked
	@printf '#!/bin/sh\nexec $< $$GDA_FUZZ $(FUZZ_OUT)/corpus/guest\n' >$@ && chmod +x $@

# A corpus is an archive (pack.sh makes it), and loose what has a name for its bug.
define FUZZ_CORPUS
$(FUZZ_OUT)/corpus/$1.unpacked: selftests/fuzz/corpus/$1.tar.xz $(wildcard selftests/fuzz/corpus/$1/*)
	@rm -rf $(FUZZ_OUT)/corpus/$1 && mkdir -p $(FUZZ_OUT)/corpus/$1
	@tar -xJf $$< -C $(FUZZ_OUT)/corpus/$1
	@for f in $$(filter-out $$<,$$^); do cp $$$$f $(FUZZ_OUT)/corpus/$1/ || exit; done
	@touch $$@
endef
$(foreach t,$(FUZZ_TARGETS) guest,$(eval $(call FUZZ_CORPUS,$t)))

.PHONY: fuzz
fuzz: $(foreach t,$(or $(FUZZ),$(FUZZ_TARGETS)),$(FUZZ_OUT)/$t $(FUZZ_OUT)/corpus/$t.unpacked) ## test: fuzz the engine and the requests; FUZZ_RUNS=N, FUZZ="decode uapi"
	@for t in $(or $(FUZZ),$(FUZZ_TARGETS)); do mkdir -p $(FUZZ_OUT)/found/$$t && \
		$(FUZZ_OUT)/$$t -runs=$(FUZZ_RUNS) -max_len=1024 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix=$(FUZZ_OUT)/found/$$t- $(FUZZ_OUT)/found/$$t \
		$(FUZZ_OUT)/corpus/$$t || exit; done
