# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Packages. `make check` makes none.

.PHONY: deb
deb: ## build: the Debian packages, in build/deb
	@$(deps) deb
	@tools/packaging/deb.sh

.PHONY: rpm
rpm: ## build: the RPM packages, in build/rpm
	@$(deps) rpm
	@tools/packaging/rpm.sh
