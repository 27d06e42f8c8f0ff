# SPDX-License-Identifier: MIT
#
# OpenSHMEM: the library on libgda, its compiler wrappers and launcher. In build/shmem they
# are as they are installed, with the paths of this tree.

OSH_SONAME	:= libgda-shmem.so.1
OSH_OUT		:= $(BUILD)/shmem
OSH_INCLUDE	:= lib/frontend/openshmem/include
OSH_CPPFLAGS	:= $(GDA_CPPFLAGS) -I$(OSH_INCLUDE) -Ilib/frontend/openshmem
OSH_HEADERS	:= $(wildcard lib/frontend/openshmem/*.h $(OSH_INCLUDE)/*.h $(OSH_INCLUDE)/*/*.h)
OSH_SRC		:= $(sort $(wildcard lib/frontend/openshmem/*.c))
OSH_OBJ		:= $(OSH_SRC:%.c=$(LIB_OUT)/%.o)
OSH_BIN		:= $(addprefix $(OSH_OUT)/bin/,oshcc oshc++ oshrun)

LIB_TARGETS	+= $(LIB_OUT)/libgda-shmem.so $(LIB_OUT)/libgda-shmem.a
TOOLS		+= $(OSH_BIN)

$(OSH_OBJ): $(LIB_OUT)/%.o: %.c lib/lib.mk lib/frontend/openshmem/openshmem.mk
	@mkdir -p $(@D)
	$(CC) $(OSH_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

# libgda lies beside it, wherever that is.
$(LIB_OUT)/$(OSH_SONAME): $(OSH_OBJ) $(LIB_OUT)/libgda.so
	$(CC) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,$(OSH_SONAME) \
		-Wl,-z,defs -Wl,-z,nodelete $(ORIGIN_RPATH) -o $@ $(OSH_OBJ) \
		-L$(LIB_OUT) -lgda

$(LIB_OUT)/libgda-shmem.so: $(LIB_OUT)/$(OSH_SONAME)
	ln -sf $(OSH_SONAME) $@

$(LIB_OUT)/libgda-shmem.a: $(OSH_OBJ)
	rm -f $@
	$(AR) rcs $@ $(OSH_OBJ)

# As install.sh does for the place that it installs to.
$(OSH_OUT)/bin/oshcc: compiler := cc
$(OSH_OUT)/bin/oshcc: variable := OSHCC_CC
$(OSH_OUT)/bin/oshc++: compiler := c++
$(OSH_OUT)/bin/oshc++: variable := OSHCXX_CXX
$(OSH_OUT)/bin/oshcc $(OSH_OUT)/bin/oshc++: lib/frontend/openshmem/oshcc.in lib/frontend/openshmem/openshmem.mk
	@mkdir -p $(@D)
	sed -e 's|@NAME@|$(@F)|; s|@COMPILER@|$(compiler)|; s|@VARIABLE@|$(variable)|' \
		-e 's|@COMMAND@|$${$(variable):-$(compiler)}|' \
		-e 's|@INCLUDE@|$(CURDIR)/$(OSH_INCLUDE)|; s|@LIBDIR@|$(abspath $(LIB_OUT))|' \
		$< >$@
	chmod 755 $@

$(OSH_OUT)/bin/oshrun: lib/frontend/openshmem/oshrun.in lib/frontend/openshmem/openshmem.mk
	@mkdir -p $(@D)
	sed -e 's|@BINDIR@|$(abspath $(BUILD)/tools)|' $< >$@
	chmod 755 $@
