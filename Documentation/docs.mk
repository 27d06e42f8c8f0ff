# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Documentation: HTML and manual pages. Included by the top Makefile.

DOCS_HTML	:= $(BUILD)/docs/html/index.html
DOCS_MAN	:= $(BUILD)/man/man7/gda.7
DOCS_TARGETS	+= $(DOCS_HTML) $(DOCS_MAN)

$(DOCS_HTML): $(wildcard Documentation/*.rst Documentation/tutorial/*.rst Documentation/data/* \
		Documentation/pictures/* examples/*.c examples/tutorial/* uapi/gda/*.h \
		lib/include/gda/*.h lib/include/gda/*/*.h \
		kmod/include/gda/*.h kmod/gda_core/gda_private.h engine/*.h engine/dialect/*.h) \
		Documentation/conf.py Documentation/manpages.py Documentation/static/gda.css \
		$(wildcard Documentation/man/*) Documentation/plots.py Documentation/build.sh
	Documentation/build.sh html

$(DOCS_MAN): $(wildcard Documentation/man/* uapi/gda/*.h lib/include/gda/*.h \
		lib/include/gda/*/*.h examples/tutorial/* examples/*.c examples/async/*.c) lib/lib.mk \
		Documentation/man.py
	Documentation/build.sh man
