# SPDX-License-Identifier: MIT
#
# The examples. Linked with the static library and without lazy binding, so that
# they run from the build folder and the window of the demo begins with all bound.

EXAMPLE_OUT	:= $(BUILD)/examples
EXAMPLE_FLAGS	= $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS)
EXAMPLE_DEMO	:= wire window report

EXAMPLES	+= $(EXAMPLE_OUT)/put $(EXAMPLE_OUT)/efa-put-value $(EXAMPLE_OUT)/gda-send $(EXAMPLE_OUT)/gda-recv

$(EXAMPLE_OUT)/%.o: examples/%.c examples/examples.mk
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -c -o $@ $<

$(EXAMPLE_OUT)/put $(EXAMPLE_OUT)/efa-put-value: $(EXAMPLE_OUT)/%: $(EXAMPLE_OUT)/%.o $(LIB_OUT)/libgda.a
	$(CC) $(EXAMPLE_FLAGS) -Wl,-z,now -o $@ $^

$(EXAMPLE_OUT)/gda-send $(EXAMPLE_OUT)/gda-recv: $(EXAMPLE_OUT)/%: $(EXAMPLE_OUT)/%.o \
		$(EXAMPLE_DEMO:%=$(EXAMPLE_OUT)/%.o) $(LIB_OUT)/libgda.a
	$(CC) $(EXAMPLE_FLAGS) -Wl,-z,now -o $@ $^

# What starts the ranks of an example.
EXAMPLE_RANKS	= examples/ranks.c examples/ranks.h $(LIB_OUT)/libgda.a $(GDA_HEADERS) examples/examples.mk

# Windows and signals: ranks as threads, or as processes by gda-run.
EXAMPLE_GIN	:= allgather allreduce halo alltoall dispatch
EXAMPLES	+= $(EXAMPLE_GIN:%=$(EXAMPLE_OUT)/gin-%)

$(EXAMPLE_GIN:%=$(EXAMPLE_OUT)/gin-%): $(EXAMPLE_OUT)/gin-%: examples/gin-%.c \
		examples/gin-ranks.c examples/gin-ranks.h $(EXAMPLE_RANKS)
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -pthread -o $@ $< examples/gin-ranks.c examples/ranks.c \
		$(LIB_OUT)/libgda.a

# Asynchronous copies: within a rank, and of ranks as threads or as processes by gda-run.
EXAMPLE_ASYNC	:= simple_get_peer batch_get put_notify tiles
EXAMPLES	+= $(EXAMPLE_OUT)/async-simple_get $(EXAMPLE_ASYNC:%=$(EXAMPLE_OUT)/async-%)

$(EXAMPLE_OUT)/async-simple_get: examples/async/simple_get.c $(LIB_OUT)/libgda.a $(GDA_HEADERS) \
		examples/examples.mk
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

$(EXAMPLE_ASYNC:%=$(EXAMPLE_OUT)/async-%): $(EXAMPLE_OUT)/async-%: examples/async/%.c \
		examples/async/ranks.c examples/async/ranks.h $(EXAMPLE_RANKS)
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -pthread -o $@ $< examples/async/ranks.c examples/ranks.c \
		$(LIB_OUT)/libgda.a

# A symmetric heap: ranks are processes by gda-run.
EXAMPLE_SHMEM	:= shmem-ring shmem-dispatch
EXAMPLES	+= $(EXAMPLE_SHMEM:%=$(EXAMPLE_OUT)/%)

$(EXAMPLE_SHMEM:%=$(EXAMPLE_OUT)/%): $(EXAMPLE_OUT)/%: examples/%.c $(LIB_OUT)/libgda.a $(GDA_HEADERS) \
		examples/examples.mk
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

# Tasks that start on events: ranks as threads, or as processes by gda-run.
EXAMPLES	+= $(EXAMPLE_OUT)/dpa-alltoall

$(EXAMPLE_OUT)/dpa-alltoall: examples/dpa-alltoall.c $(EXAMPLE_RANKS)
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -pthread -o $@ $< examples/ranks.c $(LIB_OUT)/libgda.a

# For GPUs, where there is a compiler for them.
EXAMPLE_GPU	:= halo shmem-dispatch-gpu gin-allreduce-gpu tiles-gpu
EXAMPLES	+= $(if $(HAVE_nvcc),$(EXAMPLE_GPU:%=$(EXAMPLE_OUT)/%))
EXAMPLE_NVFLAGS	= -std=c++17 -O2 -gencode arch=compute_75,code=sm_75 \
		  -gencode arch=compute_90,code=sm_90

$(EXAMPLE_GPU:%=$(EXAMPLE_OUT)/%): $(EXAMPLE_OUT)/%: examples/%.cu examples/gpu.cuh $(LIB_OUT)/libgda.a \
		$(GDA_HEADERS) $(wildcard lib/include/gda/gpu/*.h) $(OPTIONAL_OUT)/nvcc examples/examples.mk
	@mkdir -p $(@D)
	$(HAVE_nvcc) $(EXAMPLE_NVFLAGS) $(GDA_CPPFLAGS) -o $@ $< $(LIB_OUT)/libgda.a -ldl \
		-lpthread
