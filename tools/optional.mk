# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Parts that a package decides, which may be installed or removed between two runs of make
# (Documentation/running.rst has the table). tools/scripts/optional.sh is asked in each run, and
# HAVE_part is its answer, or empty. A file $(OPTIONAL_OUT)/part holds the answer that the last build
# had: it is written only when the answer has changed, and whatever the answer decides has it as a
# prerequisite, so that this is built again, and nothing else. A list of targets alone needs no such
# file.
#
#   GDA_WITHOUT="pmix nl"   build and test as if these parts were not here
#
# Included before all other fragments.

GDA_WITHOUT	?=
OPTIONAL	:= pmix verbs nl nvcc mpirun numpy m32
OPTIONAL_OUT	:= $(BUILD)/optional
PKG_CONFIG	?= pkg-config

optional_comma	:= ,
optional_unknown := $(filter-out $(OPTIONAL),$(subst $(optional_comma), ,$(GDA_WITHOUT)))
ifneq ($(optional_unknown),)
$(error GDA_WITHOUT: no optional part is called $(optional_unknown): name some of $(OPTIONAL))
endif
# Names that did the same for one package each: a build that did not heed them would be another one.
$(foreach v,VERBS GDACTL_NL PERF_IBVERBS,$(if $(filter command,$(origin $v)),\
	$(error $v= is gone: build with GDA_WITHOUT="verbs" or "nl")))

optional	= $(shell CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' GDA_WITHOUT='$(GDA_WITHOUT)' \
		  tools/scripts/optional.sh $1)
HAVE_pmix	:= $(call optional,pmix)
HAVE_verbs	:= $(call optional,verbs)
HAVE_nl		:= $(call optional,nl)
HAVE_nvcc	:= $(call optional,nvcc)
HAVE_numpy	:= $(call optional,numpy)
HAVE_m32	:= $(call optional,m32)

# call optional_file,NAME,ANSWER: the rule of its file.
optional_differ	= $(subst x$1,,x$2)$(subst x$2,,x$1)
define optional_file
$(OPTIONAL_OUT)/$1: $(if $(call optional_differ,$(strip $2),$(file <$(OPTIONAL_OUT)/$1)),optional-changed)
	@mkdir -p $$(@D)
	@printf '%s' '$(strip $2)' >$$@
endef
$(foreach p,pmix verbs nl nvcc numpy,$(eval $(call optional_file,$p,$(HAVE_$p))))

.PHONY: optional-changed
