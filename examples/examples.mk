# SPDX-License-Identifier: MIT
#
# The examples. Linked with the static library and without lazy binding, so that
# they run from the build folder and the window of the demo begins with all bound.

EXAMPLE_OUT	:= $(BUILD)/examples
EXAMPLE_FLAGS	= $(GDA_CPPFLAGS) $(GDA_CFLAGS) $(CFLAGS)
EXAMPLE_DEMO	:= wire window report

EXAMPLES	+= $(EXAMPLE_OUT)/put $(EXAMPLE_OUT)/gda-send $(EXAMPLE_OUT)/gda-recv

$(EXAMPLE_OUT)/%.o: examples/%.c examples/demo.h $(GDA_HEADERS) examples/examples.mk
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_FLAGS) -c -o $@ $<

$(EXAMPLE_OUT)/put: $(EXAMPLE_OUT)/put.o $(LIB_OUT)/libgda.a
	$(CC) $(EXAMPLE_FLAGS) -Wl,-z,now -o $@ $^

$(EXAMPLE_OUT)/gda-send $(EXAMPLE_OUT)/gda-recv: $(EXAMPLE_OUT)/%: $(EXAMPLE_OUT)/%.o \
		$(EXAMPLE_DEMO:%=$(EXAMPLE_OUT)/%.o) $(LIB_OUT)/libgda.a
	$(CC) $(EXAMPLE_FLAGS) -Wl,-z,now -o $@ $^
