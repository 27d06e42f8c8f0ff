# SPDX-License-Identifier: MIT
#
# gda-perf. With the static library, so that it runs from the build folder.

PERF_OUT	:= $(BUILD)/tools/gda-perf
# libibverbs is for the rows of raw verbs only.
PERF_IBVERBS	:= $(if $(filter infiniband/verbs.h,$(HAVE_verbs)),-libverbs)
PERF_SRC	:= $(sort $(filter-out $(if $(PERF_IBVERBS),%/no_verbs.c,%/verbs.c %/rc.c), \
	$(wildcard tools/gda-perf/*.c)))
TOOLS		+= $(PERF_OUT)
PERF_FLAGS	= $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread

$(PERF_OUT): $(PERF_SRC) $(wildcard tools/gda-perf/*.h) $(GDA_HEADERS) $(LIB_OUT)/libgda.a \
		$(OPTIONAL_OUT)/verbs tools/gda-perf/perf.mk
	@mkdir -p $(@D)
	$(CC) $(PERF_FLAGS) $(LDFLAGS) -o $@ $(PERF_SRC) $(LIB_OUT)/libgda.a $(PERF_IBVERBS) -lm

# On demand, for it needs nvcc; gda-perf --gpu runs it.
$(PERF_OUT)-gpu: tools/gda-perf/gpu.cu tools/gda-perf/gpu_signal.cuh $(GDA_HEADERS) $(wildcard lib/include/gda/gpu/*.h) \
		$(LIB_OUT)/libgda.a $(OPTIONAL_OUT)/nvcc tools/gda-perf/perf.mk
	@mkdir -p $(@D)
	$(NVCC) $(subst c++17,c++20,$(NVCC_FLAGS)) -o $@ $< $(LIB_OUT)/libgda.a -ldl -lpthread

.PHONY: perf-gpu
perf-gpu: $(PERF_OUT) $(PERF_OUT)-gpu ## measure: measure puts by a GPU through inproc (where there is one)
	@$(PERF_OUT) --gpu || [ $$? = 4 ]
