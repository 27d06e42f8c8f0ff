# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Everything is built below build/; tests of the modules run in a guest. Parts of
# the tree add to the lists here by fragments, each in the folder that it describes:
#
#   LIB_TARGETS   the library's files        EXAMPLES     programs for the demo
#   TEST_NATIVE   test programs, run here    TEST_VM      ... run in the guest
#   TEST_PAIR     ... run in both of two guests at once
#   SOAK_NATIVE   long forms, run here by `make soak`
#   BENCH         programs for `make bench`  DOCS_TARGETS what `make docs` makes
#   TOOLS         programs that are installed
#   CLEAN_FILES   to be removed, if they lie outside of build/
#
# A test program speaks KTAP (tools/scripts/run-tests.sh).

KVER	?=
KVERS	:= $(or $(KVER),6.12 6.1)
GUEST	:= $(firstword $(KVERS))
BUILD	:= build
# CROSS=arm64: for that processor, in a folder of its own, with the libraries of the tree that is the
# root of its guests.
CROSS	?=
ifeq ($(CROSS),arm64)
BUILD	:= build/arm64
CROSS_TREE := $(shell tools/vm/gda-tree path debian12-arm64)
CROSS_LIBS := $(CROSS_TREE)/usr/lib/aarch64-linux-gnu
CC	:= aarch64-linux-gnu-gcc -idirafter $(CROSS_TREE)/usr/include -L$(CROSS_LIBS) -Wl,-rpath-link,$(CROSS_LIBS)
AR	:= aarch64-linux-gnu-ar
PKG_CONFIG := PKG_CONFIG_LIBDIR=$(CROSS_LIBS)/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(CROSS_TREE) pkg-config
# The compilers that oshcc and oshc++ call; and none for GPUs.
export OSHCC_CC := $(CC)
export OSHCXX_CXX := aarch64-linux-gnu-g++
override GDA_WITHOUT += nvcc
endif
CFLAGS	?= -std=gnu11 -O2 -g -Wall -Wextra -Werror
# What $(CC) compiles for: x86_64, aarch64, ...
GDA_MACHINE	:= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
# Of test programs, behind CFLAGS: lines for a backtrace, no variables for a debugger, which took
# a quarter of the time to compile them. TEST_DEBUG=-g: with them.
TEST_DEBUG	?= -g1
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib

LIB_TARGETS	:=
TEST_NATIVE	:=
TEST_VM		:=
TEST_PAIR	:=
SOAK_NATIVE	:=
EXAMPLES	:=
TOOLS		:=
BENCH		:=
DOCS_TARGETS	:=
CLEAN_FILES	:=

.DEFAULT_GOAL	:= help
.DELETE_ON_ERROR:

include tools/optional.mk
include lib/lib.mk $(wildcard lib/*/*/*.mk)
# The library's variants, with which suites are linked.
include selftests/inproc/inproc.mk
include $(filter-out $(MAKEFILE_LIST),$(sort $(wildcard selftests/*.mk selftests/*/*.mk)))
include $(wildcard examples/*.mk tools/*/*.mk Documentation/*.mk)

# A line tells what the compiler makes, as the kernel's build does; V=1 shows the commands.
ifeq ($(V)$(findstring s,$(firstword -$(MAKEFLAGS))),)
.SILENT:
cc		:= $(CC)
override CC	 = $(if $@,$(info $()  CC      $(@:$(BUILD)/%=%)))$(cc)
unexport CC
endif

# The headers that each object was made of, as the compilers wrote them down (DEPFLAGS).
built	:= $(wildcard $(addprefix $(BUILD)/,lib examples selftests tools))
-include $(if $(built),$(shell find $(built) -name '*.d'))

scripts	:= tools/scripts
step	:= $(scripts)/step.sh
deps	:= $(scripts)/deps.sh
# Parallel, whatever make was called with; quiet but for errors.
submake	:= $(MAKE) --no-print-directory -s -j $(shell nproc)
vm	 = tools/vm/gda-vm -k $(GUEST)
comma	:= ,
check	 = GDA_PAIR_KVERS=$(firstword $(KVERS))$(comma)$(lastword $(KVERS)) $(scripts)/check.sh

.PHONY: help
help: ## start: this list
	@echo 'usage: make TARGET [KVER=6.12|6.1|newest|6.12-arm64] [W=1] [C=2] [V=1]'
	@for g in start build test measure; do \
		echo; echo "$$g:"; \
		sed -n "s/^\([a-z-]*\):.*## $$g: \(.*\)/  \1\t\2/p" $(MAKEFILE_LIST) | \
			expand -t 18; \
	done

.PHONY: demo
demo: ## start: stream a file between two processes, in a guest, and prove it
	@$(deps) demo
	@$(step) 'modules for $(GUEST)' $(scripts)/modules.sh $(GUEST)
	@$(step) 'library and demo' $(submake) lib examples
	@$(vm) tools/vm/demo.sh

.PHONY: check
check: ## test: build and run every test, here and in guests; PROGRAMS="revoke idle": those, GDA_JOBS=1: one place at a time
	@$(check) native $(KVERS) pair

.PHONY: check-native
check-native: ## test: the tests that need no guest
	@$(check) native

.PHONY: check-vm
check-vm: ## test: the tests in guests (KVER=6.1 for one of them)
	@$(check) $(KVERS)

.PHONY: check-both
check-both: ## test: the same, but every program of guests on both kernels, whatever selftests/kvers says
	@GDA_BOTH=1 $(check) native $(KVERS) pair

.PHONY: check-newest
check-newest: ## test: the tests in a guest on the newest kernel of Debian's backports
	@$(deps) newest
	@$(check) newest

.PHONY: check-arm64
check-arm64: ## test: the tests in a guest on arm64, Linux 6.12, cross-built (KVER=6.12-arm64-16k: pages of 16 KiB)
	@$(check) $(or $(KVER),6.12-arm64)

.PHONY: check-pair
check-pair: ## test: the tests in a pair of guests that a network connects
	@$(check) pair

.PHONY: soak
soak: ## test: the tests that repeat steps, ten times as often, in guests; PROGRAMS="revoke idle" STRESS=N: others
	@STRESS='$(STRESS)' $(scripts)/soak.sh $(KVERS:%=-k %) $(PROGRAMS)

.PHONY: shell
shell: ## start: a shell in a guest with the modules loaded
	@$(deps) demo
	@$(step) 'modules for $(GUEST)' $(scripts)/modules.sh $(GUEST)
	@$(vm) -i -t 86400 tools/vm/shell.sh

.PHONY: modules
modules: $(KVERS:%=modules-%) ## build: the kernel modules, for 6.12 and 6.1
modules-%:
	@$(scripts)/modules.sh $* $(if $(W),W=$(W)) $(if $(C),C=$(C))

.PHONY: lib
lib: $(LIB_TARGETS) ## build: the library

.PHONY: examples
examples: $(EXAMPLES) ## start: the examples

.PHONY: tools
tools: $(TOOLS) ## build: the tools

.PHONY: tests
tests: $(TEST_NATIVE) $(TEST_VM) $(TEST_PAIR) ## build: the test programs, without running them

# For check.sh.
.PHONY: tests-guests
tests-guests: $(TEST_VM) $(TEST_PAIR)

.PHONY: tests-vm
tests-vm: $(TEST_VM)

.PHONY: bench
bench: $(BENCH) ## measure: instructions of posts and of the engine, counted here; times of inproc
	@for b in $(BENCH); do $$b || exit; done

.PHONY: perf
perf: ## measure: gda-perf in a guest, beside memcpy and raw verbs on rdma_rxe; PERF="--json bw": arguments, PERF=dpa, PERF=async: times of these
	@$(deps) perf
	@$(step) 'modules for $(GUEST)' $(scripts)/modules.sh $(GUEST)
	@$(step) 'library and gda-perf' $(submake) lib tools $(PERF_$(firstword $(PERF)))
	@$(vm) tools/vm/perf.sh $(PERF)

.PHONY: perf-rdma
perf-rdma: ## measure: gda-perf over ib: and verbs: on rdma_rxe in a guest, beside raw verbs, and their bars; CLOCK=real: by the clock, on an idle machine
	@$(deps) perf
	@$(step) 'modules for $(GUEST)' $(scripts)/modules.sh $(GUEST)
	@$(step) 'library and gda-perf' $(submake) lib tools
	@$(vm) $(if $(filter real,$(CLOCK)),,-c) -t 3600 tools/vm/perf-rdma.sh $(PERF)

.PHONY: perf-rdma-device
perf-rdma-device: ## measure: perftest as it is on gda0 and on rxe0 of one guest, quiet and busy, and the bars; PERF="--json 5": five runs
	@$(deps) perf
	@$(step) 'modules for $(GUEST)' $(scripts)/modules.sh $(GUEST)
	@$(vm) -t 3600 tools/vm/perf-rdma-device.sh $(PERF)

.PHONY: perf-shmem
perf-shmem: ## measure: OpenSHMEM calls beside Debian's Open MPI; PERF="--json busy": quiet, busy, twice
	@$(deps) perf-shmem
	@$(step) 'library and tools' $(submake) lib tools
	@$(scripts)/perf-shmem.sh $(PERF)

.PHONY: attacks
attacks: ## test: results for each attack, of the last check, check-debug and check-kcsan of all programs
	@$(scripts)/attacks.py

.PHONY: planted
planted: ## test: plant bugs on purpose; the tests must find them (KVER=6.12-arm64: those of arm64)
	@$(deps) $(if $(filter %-arm64,$(KVER)),arm64,check)
	@$(submake) $(if $(filter %-arm64,$(KVER)),CROSS=arm64 tests-vm,tests)
	@$(scripts)/planted.sh

.PHONY: coverage
coverage: ## test: lines and branches that tests reach: of the engine, of the modules
	@$(deps) check
	@selftests/engine/coverage.sh
	@tools/debug/check.sh coverage $(TESTS)

.PHONY: lint
lint: ## test: the static checks
	@$(deps) lint
	@tools/lint/lint.sh

.PHONY: format
format: ## test: changed lines that clang-format would lay out in another way, a report; REV=HEAD~1: since then
	@$(deps) lint
	@tools/lint/format.sh $(or $(REV),HEAD~1)

.PHONY: docs
docs: ## build: the documentation
	@$(deps) docs
	@$(submake) $(DOCS_TARGETS) list-docs

.PHONY: install
install: lib tools ## build: install modules, library, headers, tools, manual into DESTDIR, PREFIX; KREL=none: no modules
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' BUILD='$(BUILD)' \
		KREL='$(KREL)' tools/packaging/install.sh

.PHONY: uninstall
uninstall: ## build: remove the files of `make install` from DESTDIR and PREFIX
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' tools/packaging/uninstall.sh

.PHONY: clean
clean: ## build: remove what was built, but not the unpacked kernels
	@find $(BUILD) -mindepth 1 -maxdepth 1 ! -name kernel ! -name kselftest \
		-exec rm -rf {} + 2>/dev/null; rm -rf $(CLEAN_FILES)

.PHONY: distclean
distclean: ## build: remove all that was built or unpacked
	@rm -rf $(BUILD) $(CLEAN_FILES)

$(BUILD)/kselftest/kselftest_harness.h:
	@mkdir -p $(@D)
	@dir=$$(tools/lint/linux-source.sh) && cp $$dir/kselftest.h $$dir/kselftest_harness.h $(@D)
	@# 30 s for a test: a virtual machine that is stopped for a while loses as much
	@sed -i 's/\(TEST_TIMEOUT_DEFAULT\) 30$$/\1 100/' $@

# For check.sh.
.PHONY: list-native list-vm list-pair list-soak list-docs
list-native:
	@echo $(TEST_NATIVE)
list-vm:
	@echo $(TEST_VM)
list-pair:
	@echo $(TEST_PAIR)
list-soak:
	@echo $(SOAK_NATIVE)
list-docs:
	@echo $(DOCS_TARGETS)
