# SPDX-License-Identifier: MIT
#
# gda/dpa.h. On the in-process device here, also under the sanitizers; in a guest on the
# kernel's. The libraries under the sanitizers are made by inproc.mk.

DPA_OUT		:= $(BUILD)/selftests/dpa
DPA_TESTS	:= calls launch rdma fatal process fork model
DPA_LIB_plain	:= $(LIB_OUT)/libgda.a
DPA_LIB_asan	:= $(BUILD)/selftests/inproc/asan/libgda.a
DPA_LIB_tsan	:= $(BUILD)/selftests/inproc/tsan/libgda.a
DPA_LIB_phase	:= $(BUILD)/selftests/inproc/phase/libgda.a
# How many random programs; the sanitizers are slow, and look for something else.
DPA_FLAGS_plain	:= -DMODEL_SEQUENCES=1000000 -DMODEL_GRAPHS=100000 -DMODEL_PROCESSES=4 \
		   -DPROCESS_CONTEXTS=1000
DPA_FLAGS_asan	:= -DMODEL_SEQUENCES=20000 -DMODEL_GRAPHS=1000 -DPROCESS_CONTEXTS=24
DPA_FLAGS_tsan	:= $(DPA_FLAGS_asan)
DPA_FLAGS_phase	:= $(DPA_FLAGS_asan)

# A detector of races in one process does not see the order that another one makes.
TEST_NATIVE	+= $(foreach v,plain asan,$(DPA_TESTS:%=$(DPA_OUT)/$v/%)) \
		   $(foreach v,tsan phase,$(patsubst %,$(DPA_OUT)/$v/%,$(filter-out process fork,$(DPA_TESTS))))
TEST_VM		+= $(patsubst %,$(DPA_OUT)/plain/%,$(filter-out fork,$(DPA_TESTS)))

define DPA_TEST
$(DPA_OUT)/$1/$2: selftests/dpa/$2.c selftests/dpa/dpa.h selftests/dpa/paths.h selftests/comm/children.h \
		selftests/dpa/tasks.h $(GDA_HEADERS) $(DPA_HEADERS) $(DPA_LIB_$1) selftests/dpa/dpa.mk | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $$(@D)
	$$(CC) $$(INPROC_FLAGS) $(DPA_FLAGS_$1) $$(INPROC_SAN_$1) -o $$@ $$< $(DPA_LIB_$1)
endef
$(foreach v,plain asan tsan phase,$(foreach t,$(DPA_TESTS),$(eval $(call DPA_TEST,$v,$t))))

# Tasks for a process of their own; the library is gda-dpa's.
$(foreach v,plain asan tsan,$(DPA_OUT)/$v/process $(DPA_OUT)/$v/fork) $(DPA_OUT)/plain/bench: \
		$(DPA_OUT)/tasks.so $(LIB_OUT)/gda-dpa

$(DPA_OUT)/tasks.so: selftests/dpa/tasks.c selftests/dpa/tasks.h $(GDA_HEADERS) selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

# The example, with ranks as threads; in a guest also as processes.
TEST_NATIVE	+= $(DPA_OUT)/examples.sh
TEST_VM		+= $(DPA_OUT)/examples.sh

$(DPA_OUT)/examples.sh: selftests/dpa/examples.sh $(BUILD)/tools/gda-run \
		$(BUILD)/examples/dpa-alltoall
	@mkdir -p $(@D)
	install -m 755 $< $@

BENCH		+= $(DPA_OUT)/plain/bench
PERF_dpa	:= $(DPA_OUT)/plain/bench
$(eval $(call DPA_TEST,plain,bench))

# Files that are planted where the library might look for its own (P10).
SEARCH_PLANTS	:= libcuda.so.1 libibverbs.so.1 librdmacm.so.1 libpmix.so.2 libnl-3.so.200 libgda.so.2
SEARCH_FLAGS	:= $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS)
SEARCH_SRC	:= selftests/dpa/search.c
TEST_NATIVE	+= $(DPA_OUT)/search_paths.sh

$(SEARCH_PLANTS:%=$(DPA_OUT)/plants/%): selftests/dpa/planted.c selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

$(DPA_OUT)/plants/gda-dpa: selftests/dpa/planted.c selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -DPLANTED_PROGRAM -o $@ $<

$(DPA_OUT)/search/archive: $(SEARCH_SRC) $(LIB_OUT)/libgda.a selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(SEARCH_FLAGS) -pthread -o $@ $(SEARCH_SRC) $(LIB_OUT)/libgda.a

$(DPA_OUT)/search/runpath: $(SEARCH_SRC) $(LIB_OUT)/libgda.a selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(SEARCH_FLAGS) -pthread -Wl,-rpath,. -o $@ $(SEARCH_SRC) $(LIB_OUT)/libgda.a

# The linker warns of dlopen(3), which works where the program runs on what it was built on.
$(DPA_OUT)/search/static: $(SEARCH_SRC) $(LIB_OUT)/libgda.a selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	@$(CC) $(SEARCH_FLAGS) -static -pthread -o $@ $(SEARCH_SRC) $(LIB_OUT)/libgda.a 2>$@.log || { cat $@.log; exit 1; }

$(DPA_OUT)/search/shared: $(SEARCH_SRC) $(LIB_OUT)/libgda.so selftests/dpa/dpa.mk
	@mkdir -p $(@D)
	$(CC) $(SEARCH_FLAGS) -o $@ $(SEARCH_SRC) -L$(LIB_OUT) -lgda -Wl,-rpath,'$$ORIGIN/../../../lib'

$(DPA_OUT)/search_paths.sh: selftests/dpa/search_paths.sh $(DPA_OUT)/tasks.so $(LIB_OUT)/gda-dpa \
		$(addprefix $(DPA_OUT)/plants/,$(SEARCH_PLANTS) gda-dpa) \
		$(addprefix $(DPA_OUT)/search/,archive runpath static shared)
	@mkdir -p $(@D)
	install -m 755 $< $@
