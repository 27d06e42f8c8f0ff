# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Other machines, in user emulation. `make check` has none of it.

.PHONY: check-arch
check-arch: ## test: the library for arm64, riscv64, s390x, i386 and musl, in user emulation; ARCH=s390x: for one
	@$(deps) arch
	@$(scripts)/check-arch.sh $(ARCH)

# Emulation of arm64 on x86 orders as x86 does: what the compiler made of the fast path is looked at.
.PHONY: check-litmus
check-litmus: ## test: order on arm64: every execution that the architecture allows, by herd7
	@$(deps) litmus
	@selftests/litmus/litmus.sh
