#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# bench.sh - what a put and its wait cost from Python, in process

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if ! command -v python3 >/dev/null; then
	echo "python3 is missing: no times of the Python module"
	exit
fi
GDA_LIBRARY=$PWD/${BUILD:-build}/lib/libgda.so.2 PYTHONPATH=lib/binding/python PYTHONDONTWRITEBYTECODE=1 \
	exec python3 selftests/python/bench.py
