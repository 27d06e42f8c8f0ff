# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The binary interface, and what is installed: scripts; and programs and libraries of
# different ages, by the headers of the last release, or of today if there was none, and by headers
# that have grown.

ABI_OUT		:= $(BUILD)/selftests/abi
ABI_RELEASED	:= $(ABI_OUT)/released/gda/gda.h
ABI_FLAGS	= -isystem $(BUILD)/kselftest $(GDA_CFLAGS) $(CFLAGS) $(TEST_DEBUG) -pthread
ABI_LINK	= -Wl,-rpath,$(abspath $(1)) -L$(1) -lgda

TEST_NATIVE	+= selftests/abi/abi.sh selftests/abi/install.sh selftests/abi/layout.sh \
		   $(ABI_OUT)/old-program $(ABI_OUT)/old-program-new-library \
		   $(ABI_OUT)/new-program-old-library $(ABI_OUT)/lengths
TEST_VM		+= selftests/abi/policy.sh

$(eval $(call optional_file,release,$(shell selftests/abi/release.sh tag)))

$(ABI_RELEASED): selftests/abi/release.sh $(GDA_HEADERS) $(OPTIONAL_OUT)/release
	selftests/abi/release.sh headers $(ABI_OUT)/released

$(ABI_OUT)/grown/gda/gda.h: selftests/abi/grow.sh $(GDA_HEADERS)
	selftests/abi/grow.sh $(ABI_OUT)/grown

$(ABI_OUT)/library/libgda.so: $(ABI_OUT)/grown/gda/gda.h $(LIB_SRC) $(INPROC_SRC) \
		$(COMM_SRC) $(SHMEM_SRC) $(GIN_SRC) $(ASYNC_SRC) $(DPA_SRC) $(DPA_HEADERS) \
		$(INPROC_HEADERS) $(COMM_HEADERS) \
		$(SHMEM_HEADERS) lib/libgda.map $(OPTIONAL_OUT)/pmix $(OPTIONAL_OUT)/verbs
	@mkdir -p $(@D)
	$(CC) -I$(ABI_OUT)/grown $(LIB_CPPFLAGS) $(LIB_SPEAKS) $(HAVE_pmix) \
		-Ilib/gpu -Ilib/frontend/dpa $(GDA_CFLAGS) $(CFLAGS) -O1 $(TEST_DEBUG) -fPIC -fvisibility=hidden \
		-shared -pthread -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=lib/libgda.map -o $@ $(LIB_SRC) $(INPROC_SRC) \
		$(COMM_SRC) $(SHMEM_SRC) $(GIN_SRC) $(ASYNC_SRC) $(DPA_SRC)
	ln -sf libgda.so $(@D)/$(LIB_SONAME)

$(ABI_OUT)/old-program: selftests/abi/sizes.c $(ABI_RELEASED) $(LIB_OUT)/libgda.so \
		| $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) -I$(ABI_OUT)/released $(ABI_FLAGS) -o $@ $< $(call ABI_LINK,$(LIB_OUT))

$(ABI_OUT)/old-program-new-library: selftests/abi/sizes.c $(ABI_RELEASED) \
		$(ABI_OUT)/library/libgda.so | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) -I$(ABI_OUT)/released $(ABI_FLAGS) -o $@ $< $(call ABI_LINK,$(ABI_OUT)/library)

$(ABI_OUT)/new-program-old-library: selftests/abi/sizes.c $(ABI_OUT)/grown/gda/gda.h \
		$(LIB_OUT)/libgda.so | $(BUILD)/kselftest/kselftest_harness.h
	$(CC) -DGROWN -I$(ABI_OUT)/grown $(ABI_FLAGS) -o $@ $< $(call ABI_LINK,$(LIB_OUT))

$(ABI_OUT)/lengths: selftests/abi/lengths.c selftests/lib/fake_nic.c selftests/lib/fake_nic.h \
		$(GDA_HEADERS) $(LIB_OUT)/libgda.so | $(BUILD)/kselftest/kselftest_harness.h
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(ABI_FLAGS) -o $@ $< selftests/lib/fake_nic.c \
		$(call ABI_LINK,$(LIB_OUT))
