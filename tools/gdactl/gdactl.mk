# SPDX-License-Identifier: MIT
#
# gdactl. With the static library, so that it runs from the build folder. Where libnl is not
# there it has the command "doctor" alone.

GDACTL_OUT	:= $(BUILD)/tools/gdactl
GDACTL_NL_SRC	:= $(addprefix tools/gdactl/,commands.c fields.c limits.c link.c monitor.c process.c record.c \
		   rows.c show.c top.c why.c wqe.c)
GDACTL_SRC	:= $(sort $(filter-out $(if $(HAVE_nl),tools/gdactl/no_netlink.c,$(GDACTL_NL_SRC)), \
		   $(wildcard tools/gdactl/*.c)))
GDACTL_LIBS	:= $(filter -l% -L%,$(HAVE_nl))
GDACTL_CPPFLAGS	:= $(filter-out $(GDACTL_LIBS),$(HAVE_nl))
TOOLS		+= $(GDACTL_OUT)
# Without libnl there is nothing for them to test.
TEST_VM		+= $(if $(HAVE_nl),$(addprefix $(BUILD)/selftests/tools/,gdactl gdactl_monitor gdactl_port ynl))

$(GDACTL_OUT): $(GDACTL_SRC) $(wildcard tools/gdactl/*.h) $(GDA_HEADERS) $(LIB_OUT)/libgda.a \
		$(OPTIONAL_OUT)/nl tools/gdactl/gdactl.mk
	@mkdir -p $(@D)
	$(CC) $(GDA_CPPFLAGS) -Ilib/core $(GDACTL_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -pthread -o $@ \
		$(GDACTL_SRC) $(LIB_OUT)/libgda.a $(GDACTL_LIBS)
