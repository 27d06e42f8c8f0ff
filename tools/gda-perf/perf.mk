# SPDX-License-Identifier: MIT
#
# gda-perf. With the static library, so that it runs from the build folder.

PERF_OUT	:= $(BUILD)/tools/gda-perf
PERF_SRC	:= $(sort $(wildcard tools/gda-perf/*.c))
TOOLS		+= $(PERF_OUT)
PERF_FLAGS	= $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread

$(PERF_OUT): $(PERF_SRC) tools/gda-perf/perf.h $(GDA_HEADERS) $(LIB_OUT)/libgda.a \
		tools/gda-perf/perf.mk
	@mkdir -p $(@D)
	$(CC) $(PERF_FLAGS) -o $@ $(PERF_SRC) $(LIB_OUT)/libgda.a -lm
