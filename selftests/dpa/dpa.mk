# SPDX-License-Identifier: MIT
#
# gda/dpa.h. On the in-process device here, also under the sanitizers; in a guest on the
# kernel's. The variants of the library, and the rule, are inproc.mk's.

DPA_OUT		:= $(BUILD)/selftests/dpa
DPA_TESTS	:= calls launch rdma fatal process fork model
# How many random programs; the sanitizers are slow, and look for something else.
SUITE_WITH_dpa_plain	:= -DMODEL_SEQUENCES=1000000 -DMODEL_GRAPHS=100000 -DMODEL_PROCESSES=4 \
		   -DPROCESS_CONTEXTS=1000
SUITE_WITH_dpa_asan	:= -DMODEL_SEQUENCES=20000 -DMODEL_GRAPHS=1000 -DPROCESS_CONTEXTS=24
SUITE_WITH_dpa_tsan	:= $(SUITE_WITH_dpa_asan)
SUITE_WITH_dpa_phase	:= $(SUITE_WITH_dpa_asan)

# A detector of races in one process does not see the order that another one makes.
TEST_NATIVE	+= $(foreach v,plain asan,$(DPA_TESTS:%=$(DPA_OUT)/$v/%)) \
		   $(foreach v,tsan phase,$(patsubst %,$(DPA_OUT)/$v/%,$(filter-out process fork,$(DPA_TESTS))))
TEST_VM		+= $(patsubst %,$(DPA_OUT)/plain/%,$(filter-out fork,$(DPA_TESTS)))

$(eval $(call suite_programs,dpa,plain asan tsan phase,$(DPA_TESTS)))

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
$(eval $(call suite_programs,dpa,plain,bench))

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
