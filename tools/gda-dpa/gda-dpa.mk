# SPDX-License-Identifier: MIT
#
# gda-dpa, which libgda starts. It lies beside libgda.so and is linked with that, so that the
# programs it loads find the library there.

GDA_DPA_OUT	:= $(LIB_OUT)/gda-dpa
TOOLS		+= $(GDA_DPA_OUT)

$(GDA_DPA_OUT): tools/gda-dpa/main.c $(LIB_OUT)/libgda.so tools/gda-dpa/gda-dpa.mk
	$(CC) $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< -L$(LIB_OUT) -lgda $(ORIGIN_RPATH)
