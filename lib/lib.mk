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
			      lib/include/gda/wqe/*.h lib/core/*.h)

# Of all that is in libgda. A file includes by the folder's own name first; which folder may include
# what of which other is tools/lint/include-direction.sh's.
LIB_CPPFLAGS	:= $(GDA_CPPFLAGS) -Ilib/core -Ilib/host -Ilib/device/inproc -Ilib/device/copier -Ilib/gpu \
		   -Ilib/comm $(addprefix -Ilib/frontend/,shmem gin async dpa) \
		   -Iengine -Iengine/dialect -Iengine/control -Ikmod/include -Iengine/fabric -Ilib/device/verbs

# The dialects of posters that the library is compiled with, beside the first; see gda/wqe.h.
LIB_SPEAKS	:= -DGDA_WQE_EFA

# Contexts, queues and memory of any device.
LIB_SRC		:= $(sort $(wildcard lib/core/*.c lib/device/kernel/*.c))
# The in-process device, with the kernel's engine, and GPUs, which it copies with.
INPROC_SRC	:= $(sort $(wildcard lib/device/inproc/*.c lib/device/copier/*.c lib/gpu/*.c \
		   engine/*.c engine/dialect/*.c engine/control/*.c))
INPROC_HEADERS	:= $(wildcard lib/device/*/*.h lib/gpu/*.h lib/host/*.h engine/*.h engine/*/*.h \
		   kmod/include/gda/*.h)
# RDMA devices. The libraries are loaded at run time; their headers, if they are here, say how.
VERBS		:= $(filter rdma/rdma_cma.h,$(HAVE_verbs))
VERBS_ABSENT	:= lib/device/verbs/absent.c
VERBS_SRC	:= $(if $(VERBS),$(sort $(filter-out $(VERBS_ABSENT),$(wildcard lib/device/verbs/*.c engine/fabric/*.c))),$(VERBS_ABSENT))
INPROC_SRC	+= $(VERBS_SRC)
# Ranks. PMIx is loaded at run time; its header, if it is here, says how.
COMM_SRC	:= $(sort $(wildcard lib/comm/*.c))
COMM_HEADERS	:= $(wildcard lib/comm/*.h)
# Symmetric heaps; windows and signals; asynchronous copies; tasks that start on events.
SHMEM_SRC	:= $(sort $(wildcard lib/frontend/shmem/*.c))
SHMEM_HEADERS	:= $(wildcard lib/frontend/shmem/*.h)
GIN_SRC		:= $(sort $(wildcard lib/frontend/gin/*.c))
ASYNC_SRC	:= $(sort $(wildcard lib/frontend/async/*.c))
DPA_SRC		:= $(sort $(wildcard lib/frontend/dpa/*.c))
DPA_HEADERS	:= $(wildcard lib/frontend/dpa/*.h)

LIB_OBJ		:= $(patsubst %.c,$(LIB_OUT)/%.o,$(LIB_SRC) $(INPROC_SRC) $(COMM_SRC) $(SHMEM_SRC) \
		   $(GIN_SRC) $(ASYNC_SRC) $(DPA_SRC))

LIB_TARGETS	+= $(LIB_OUT)/libgda.so $(LIB_OUT)/libgda.a $(LIB_OUT)/gda.pc

# What an optional part decides of a library whose objects are in $1 (tools/optional.mk): a change
# makes new objects, and these the library.
define lib_optional
$1/lib/comm/pmix.o: $(OPTIONAL_OUT)/pmix
$(VERBS_SRC:%.c=$1/%.o): $(OPTIONAL_OUT)/verbs
endef
$(eval $(call lib_optional,$(LIB_OUT)))

# LIB_MORE: flags of one file.
$(LIB_OBJ): $(LIB_OUT)/%.o: %.c lib/lib.mk
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(LIB_SPEAKS) $(LIB_MORE) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(LIB_OUT)/lib/comm/pmix.o: LIB_MORE = $(HAVE_pmix)
# Where gda-dpa will be installed is built in; `make install` with another LIBDIR builds it again.
$(LIB_OUT)/lib/frontend/dpa/path.o: LIB_MORE = -DGDA_LIBDIR='"$(LIBDIR)"'
$(LIB_OUT)/lib/frontend/dpa/path.o: $(LIB_OUT)/libdir

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
$(LIB_OUT)/lib/core/compat.o: override CFLAGS += -fno-lto

# Old symbols are for programs that are linked already, not for an archive.
$(LIB_OUT)/libgda.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $(filter-out $(LIB_OUT)/lib/core/compat.o,$(LIB_OBJ))

$(LIB_OUT)/gda.pc: lib/gda.pc.in lib/lib.mk
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(LIB_VERSION)|' $< > $@
