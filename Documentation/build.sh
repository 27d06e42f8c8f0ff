#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# build.sh html|man - make the documentation below build/
#
# A warning of Sphinx is an error.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONDONTWRITEBYTECODE=1
case ${1-} in
html)
	python3 Documentation/plots.py Documentation/data build/docs/plots
	sphinx-build -W --keep-going -q -j auto -d build/docs/doctrees -b html \
		Documentation build/docs/html
	touch build/docs/html/index.html ;;
man)
	python3 Documentation/man.py build/man ;;
*)
	echo "usage: build.sh html|man" >&2
	exit 2 ;;
esac
