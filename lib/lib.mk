# SPDX-License-Identifier: MIT
# libgda: shared and static library, pkg-config file. Included by the top Makefile.

BUILD		?= build
PREFIX		?= /usr/local
LIBDIR		?= $(PREFIX)/lib
LIB_VERSION	:= $(shell tools/scripts/version.sh)
LIB_SONAME	:= libgda.so.2
LIB_OUT		:= $(BUILD)/lib
# What is linked with libgda has it beside itself; packages have it where the linker looks.
ORIGIN_RPATH	?= -Wl,-rpath,'$$ORIGIN'

# Flags that everything in user space here is compiled with. Cookies of regions are offsets above
# 2 GiB, also in programs of 32 bits; in 64 bits the flag would only rename open(2), which tests wrap.
GDA_CPPFLAGS	:= -Iuapi -Ilib/include $(if $(filter 4,$(shell echo __SIZEOF_LONG__ | \
		   $(CC) -E -P -x c - 2>/dev/null)),-D_FILE_OFFSET_BITS=64)
# The compiler leaves beside each object of which headers it was made (the Makefile reads it).
DEPFLAGS	= -MMD -MP -MT $@
GDA_CFLAGS	= $(DEPFLAGS) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wundef -Wpointer-arith \
		   -Wwrite-strings -Wstrict-prototypes -Wvla
GDA_HEADERS	:= $(wildcard uapi/gda/*.h lib/include/gda/*.h lib/include/gda/gin/*.h \
			      lib/include/gda/wqe/*.h lib/src/*.h)

LIB_SRC		:= $(sort $(wildcard lib/src/*.c))
LIB_OBJ		:= $(LIB_SRC:lib/src/%.c=$(LIB_OUT)/%.o)

# The in-process device, with the kernel's engine, and GPUs, which it copies with.
INPROC_CPPFLAGS	:= $(GDA_CPPFLAGS) -Ilib/os -Ilib/src -Ilib/inproc -Ikmod/gda_core/engine \
		   -Ikmod/gda_core/control -Ikmod/include
INPROC_SRC	:= $(sort $(wildcard lib/inproc/*.c lib/cuda/*.c kmod/gda_core/engine/*.c \
		   kmod/gda_core/control/*.c))
INPROC_HEADERS	:= $(wildcard lib/inproc/*.h lib/cuda/*.h lib/verbs/*.h lib/os/*.h \
		   kmod/gda_core/engine/*.h kmod/gda_core/control/*.h kmod/include/gda/*.h)
# RDMA devices. The libraries are loaded at run time; their headers, if they are here, say how.
VERBS		:= $(filter rdma/rdma_cma.h,$(HAVE_verbs))
VERBS_ABSENT	:= lib/verbs/absent.c
VERBS_SRC	:= $(if $(VERBS),$(sort $(filter-out $(VERBS_ABSENT),$(wildcard lib/verbs/*.c))),$(VERBS_ABSENT))
INPROC_SRC	+= $(VERBS_SRC)
LIB_OBJ		+= $(INPROC_SRC:%.c=$(LIB_OUT)/%.o)

# Ranks. PMIx is loaded at run time; its header, if it is here, says how.
COMM_CPPFLAGS	:= $(GDA_CPPFLAGS) -Ilib/src -Ilib/comm $(HAVE_pmix)
COMM_SRC	:= $(sort $(wildcard lib/comm/*.c))
COMM_HEADERS	:= $(wildcard lib/comm/*.h)
LIB_OBJ		+= $(COMM_SRC:%.c=$(LIB_OUT)/%.o)

# Symmetric heaps.
SHMEM_CPPFLAGS	:= $(GDA_CPPFLAGS) -Ilib/src -Ilib/shmem -Ilib/cuda
SHMEM_SRC	:= $(sort $(wildcard lib/shmem/*.c))
SHMEM_HEADERS	:= $(wildcard lib/shmem/*.h)
LIB_OBJ		+= $(SHMEM_SRC:%.c=$(LIB_OUT)/%.o)

# Windows and signals.
GIN_SRC		:= $(sort $(wildcard lib/gin/*.c))
LIB_OBJ		+= $(GIN_SRC:%.c=$(LIB_OUT)/%.o)

# Asynchronous copies.
ASYNC_SRC	:= $(sort $(wildcard lib/async/*.c))
LIB_OBJ		+= $(ASYNC_SRC:%.c=$(LIB_OUT)/%.o)

# Tasks that start on events.
DPA_SRC		:= $(sort $(wildcard lib/dpa/*.c))
DPA_HEADERS	:= $(wildcard lib/dpa/*.h)
LIB_OBJ		+= $(DPA_SRC:%.c=$(LIB_OUT)/%.o)

LIB_TARGETS	+= $(LIB_OUT)/libgda.so $(LIB_OUT)/libgda.a $(LIB_OUT)/gda.pc

# What an optional part decides of a library whose objects are in $1 (tools/optional.mk): a change
# makes new objects, and these the library.
define lib_optional
$1/lib/comm/pmix.o: $(OPTIONAL_OUT)/pmix
$(VERBS_SRC:%.c=$1/%.o): $(OPTIONAL_OUT)/verbs
endef
$(eval $(call lib_optional,$(LIB_OUT)))

$(LIB_OUT)/%.o: lib/src/%.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(INPROC_SRC:%.c=$(LIB_OUT)/%.o): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(INPROC_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(COMM_SRC:%.c=$(LIB_OUT)/%.o): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(COMM_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(SHMEM_SRC:%.c=$(LIB_OUT)/%.o): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(SHMEM_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(GIN_SRC:%.c=$(LIB_OUT)/%.o) $(ASYNC_SRC:%.c=$(LIB_OUT)/%.o): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Ilib/src -Ilib/cuda $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(DPA_SRC:%.c=$(LIB_OUT)/%.o): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Ilib/src -Ilib/dpa -Ilib/cuda $(DPA_LIBDIR) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

# Where gda-dpa will be installed is built in; `make install` with another LIBDIR builds it again.
$(LIB_OUT)/lib/dpa/path.o: DPA_LIBDIR = -DGDA_LIBDIR='"$(LIBDIR)"'
$(LIB_OUT)/lib/dpa/path.o: $(LIB_OUT)/libdir

$(LIB_OUT)/libdir: $(if $(call optional_differ,$(LIBDIR),$(file <$(LIB_OUT)/libdir)),optional-changed)
	@mkdir -p $(@D)
	@printf '%s' '$(LIBDIR)' >$@

$(LIB_OUT)/$(LIB_SONAME): $(LIB_OBJ) lib/libgda.map
	$(CC) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,$(LIB_SONAME) \
		-Wl,-z,defs -Wl,-z,nodelete \
		-Wl,--version-script=lib/libgda.map -o $@ $(LIB_OBJ)

$(LIB_OUT)/libgda.so: $(LIB_OUT)/$(LIB_SONAME)
	ln -sf $(LIB_SONAME) $@

# Versions of symbols by .symver are lost with -flto.
$(LIB_OUT)/compat.o: override CFLAGS += -fno-lto

# Old symbols are for programs that are linked already, not for an archive.
$(LIB_OUT)/libgda.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $(filter-out $(LIB_OUT)/compat.o,$(LIB_OBJ))

$(LIB_OUT)/gda.pc: lib/gda.pc.in lib/lib.mk
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(LIB_VERSION)|' $< > $@
