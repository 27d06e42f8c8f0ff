# SPDX-License-Identifier: MIT
#
# gda-run. With the static library, so that it runs from the build folder.

GDA_RUN_OUT	:= $(BUILD)/tools/gda-run
GDA_RUN_SRC	:= $(sort $(wildcard tools/gda-run/*.c))
TOOLS		+= $(GDA_RUN_OUT)

$(GDA_RUN_OUT): $(GDA_RUN_SRC) $(wildcard tools/gda-run/*.h) $(GDA_HEADERS) \
		$(COMM_HEADERS) $(LIB_OUT)/libgda.a tools/gda-run/run.mk
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(GDA_RUN_SRC) \
		$(LIB_OUT)/libgda.a
