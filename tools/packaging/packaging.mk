# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Packages. `make check` makes none.

.PHONY: deb
deb: ## build: the Debian packages, in build/deb
	@$(deps) deb
	@tools/packaging/deb.sh
