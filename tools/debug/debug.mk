# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The guest's tests under kernels that look for bugs. TESTS="name..." runs those only.

.PHONY: check-debug
check-debug: ## test: the tests under KASAN, lockdep, kmemleak, fault injection
	@tools/debug/check.sh debug $(TESTS)

.PHONY: check-kcsan
check-kcsan: ## test: the tests under KCSAN: data races
	@tools/debug/check.sh kcsan $(TESTS)
