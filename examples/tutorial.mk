# SPDX-License-Identifier: MIT
#
# The programs of Documentation/tutorial, which shows them as they are.
# selftests/tutorial runs them.

TUTORIAL_OUT	:= $(BUILD)/examples/tutorial
TUTORIAL	:= hello put processes signal sleep errors threads fork calls

EXAMPLES	+= $(TUTORIAL:%=$(TUTORIAL_OUT)/%) $(TUTORIAL_OUT)/gpu $(TUTORIAL_OUT)/verbs

$(TUTORIAL:%=$(TUTORIAL_OUT)/%): $(TUTORIAL_OUT)/%: examples/tutorial/%.c \
		examples/tutorial/tutorial.h $(LIB_OUT)/libgda.a $(GDA_HEADERS) examples/tutorial.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $< $(LIB_OUT)/libgda.a

EXAMPLES	+= $(TUTORIAL_OUT)/shmem

$(TUTORIAL_OUT)/shmem: examples/tutorial/shmem.c $(OSH_HEADERS) $(OSH_BIN) \
		$(LIB_OUT)/libgda-shmem.so examples/tutorial.mk
	@mkdir -p $(@D)
	$(OSH_OUT)/bin/oshcc $(CFLAGS) -o $@ $<

$(TUTORIAL_OUT)/gpu: examples/tutorial/gpu.cu $(LIB_OUT)/libgda.a $(GDA_HEADERS) \
		$(OPTIONAL_OUT)/nvcc examples/tutorial.mk
	@mkdir -p $(@D)
ifneq ($(HAVE_nvcc),)
	$(HAVE_nvcc) -std=c++17 -O2 -gencode arch=compute_75,code=sm_75 \
		-gencode arch=compute_90,code=sm_90 $(GDA_CPPFLAGS) -o $@ $< \
		$(LIB_OUT)/libgda.a -ldl -lpthread
else
	printf '#!/bin/sh\necho "nvcc was not here when this was built"\nexit 4\n' >$@ && chmod +x $@
endif

# Nothing of GDA's library.
$(TUTORIAL_OUT)/verbs: examples/tutorial/verbs.c $(OPTIONAL_OUT)/verbs examples/tutorial.mk
	@mkdir -p $(@D)
ifneq ($(VERBS),)
	$(CC) $(GDA_CFLAGS) $(CFLAGS) -o $@ $< -libverbs
else
	printf '#!/bin/sh\necho "libibverbs was not here when this was built"\nexit 4\n' >$@ && chmod +x $@
endif
