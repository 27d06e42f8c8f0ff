#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# bench.py - what a put and its wait cost from Python, in process. By bench.sh.

import statistics
import time

import gda

with gda.Context("inproc") as ctx:
    a, b = ctx.qp(), ctx.qp()
    a.connect(b.address)
    b.connect(a.address)
    here, there = ctx.register(bytearray(8)), ctx.register(bytearray(8))
    took = []
    for _ in range(2000):
        start = time.perf_counter_ns()
        a.wait(a.put(here.at(), there.at(), 8), 60)
        took.append(time.perf_counter_ns() - start)
print(f"python: a put of 8 bytes and its wait: {statistics.median(took) / 1000:.1f} us (median of 2000)")
