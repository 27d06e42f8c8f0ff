# SPDX-License-Identifier: MIT
#
# The RMA plugin for NCCL. NCCL loads it by NCCL_RMA_PLUGIN; nothing of NCCL's is needed to
# build it.

NCCL_SO		:= libnccl-rma-gda.so
NCCL_SRC	:= $(sort $(wildcard lib/binding/nccl/*.c))
NCCL_OBJ	:= $(NCCL_SRC:%.c=$(LIB_OUT)/%.o)

LIB_TARGETS	+= $(LIB_OUT)/$(NCCL_SO)

$(NCCL_OBJ): $(LIB_OUT)/%.o: %.c lib/lib.mk lib/binding/nccl/nccl.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Ilib/binding/nccl $(GDA_CFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden \
		-c -o $@ $<

# libgda lies beside it, wherever that is.
$(LIB_OUT)/$(NCCL_SO): $(NCCL_OBJ) $(LIB_OUT)/libgda.so
	$(CC) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -shared -pthread -Wl,-soname,$(NCCL_SO) \
		-Wl,-z,defs -Wl,-z,nodelete $(ORIGIN_RPATH) -o $@ $(NCCL_OBJ) \
		-L$(LIB_OUT) -lgda -ldl
