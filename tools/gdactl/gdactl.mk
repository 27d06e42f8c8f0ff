# SPDX-License-Identifier: MIT
#
# gdactl. With the static library, so that it runs from the build folder.

GDACTL_OUT	:= $(BUILD)/tools/gdactl
GDACTL_SRC	:= $(sort $(wildcard tools/gdactl/*.c))
TOOLS		+= $(GDACTL_OUT)

$(GDACTL_OUT): $(GDACTL_SRC) tools/gdactl/doctor.h $(GDA_HEADERS) $(LIB_OUT)/libgda.a \
		tools/gdactl/gdactl.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) -pthread -o $@ $(GDACTL_SRC) \
		$(LIB_OUT)/libgda.a
