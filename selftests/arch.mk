# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Other machines, in user emulation. `make check` has none of it.

.PHONY: check-arch
check-arch: ## test: the library for arm64, riscv64, s390x, i386 and musl, in user emulation; ARCH=s390x: for one
	@$(deps) arch
	@$(scripts)/check-arch.sh $(ARCH)
