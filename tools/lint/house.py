#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# house.py [--show] - what the tree says twice, and names outside their place
#
# Each figure has a most that it may be, which only goes down. --show prints the figures, the
# files and the lines behind them.
#
# Lines of lib/inproc that stand in kmod/gda_core too are counted twice. "same lines" counts
# each line alone: `return 0;`, `u32 handle;` and the functions that the engine asks of any host
# are among them, and of directories that share nothing with gda_core it counts 4 to 8 %. "same
# lines in runs" counts those with at least two more before or behind them, in one order: text
# that was written twice.

import glob
import re
import subprocess
import sys

SHOW = "--show" in sys.argv
# The files of a dialect, and the bench that has NICs of its own.
MLX5 = re.compile(r"mlx5[^/]*$|/gda_dialects\.h$|^tools/gda-bench-gpu/|^tools/lint/")
MOST = {"mlx5 files": 5, "__CUDA_ARCH__ outside barrier.h": 0, "same lines, percent": 16.5,
        "same lines in runs, percent": 2}
RUN = 3


def tracked(*paths):
    out = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True)
    return out.stdout.split()


def naming(pattern, files):
    found = {}
    for name in files:
        with open(name, encoding="utf-8", errors="replace") as f:
            n = len(re.findall(pattern, f.read(), re.I))
        if n:
            found[name] = n
    return found


def lines(files):
    """Lines that say something, without comments and without the name of the host."""
    out = []
    for name in files:
        with open(name, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for line in text.split("\n"):
            line = re.sub(r"\s+", " ", line.strip())
            line = re.sub(r"gda_inproc_", "gda_", line, flags=re.I)
            if len(re.sub(r"\W", "", line)) >= 6 and not line.startswith("#include"):
                out.append((name, line))
    return out


def runs(text):
    return {tuple(text[i:i + RUN]) for i in range(len(text) - RUN + 1)}


def same():
    kernel = [x for _, x in lines(sorted(glob.glob("kmod/gda_core/*.[ch]") +
                                         glob.glob("kmod/gda_core/os/*.c") +
                                         glob.glob("kmod/gda_core/executor/**/*.c",
                                                   recursive=True)))]
    inproc = lines(sorted(glob.glob("lib/inproc/*.[ch]")))
    known = set(kernel)
    both = [x for x in inproc if x[1] in known]
    known = runs(kernel)
    text = [x for _, x in inproc]
    copied = set()
    for i in range(len(text) - RUN + 1):
        if tuple(text[i:i + RUN]) in known:
            copied.update(range(i, i + RUN))
    return (100.0 * len(both) / len(inproc), 100.0 * len(copied) / len(inproc), both,
            [inproc[i] for i in sorted(copied)])


def main():
    mlx5 = naming("mlx5", [f for f in tracked("kmod", "lib", "uapi", "tools", "examples")
                           if not MLX5.search(f)])
    arch = naming("__CUDA_ARCH__", [f for f in tracked("lib", "uapi", "examples")
                                    if not f.endswith("/barrier.h")])
    percent, in_runs, both, copied = same()
    figures = {"mlx5 files": len(mlx5), "__CUDA_ARCH__ outside barrier.h": sum(arch.values()),
               "same lines, percent": percent, "same lines in runs, percent": in_runs}
    for what, figure in figures.items():
        if figure > MOST[what]:
            print(f"house: {what}: {figure:.4g}, {MOST[what]} are allowed (house.py --show)")
        elif SHOW:
            print(f"{what}: {figure:.4g} of {MOST[what]}")
    if SHOW:
        for name, n in {**mlx5, **arch}.items():
            print(f"  {name}: {n}")
        for name, line in both:
            print(f"  {name}: {line}")
        print("in runs:")
        for name, line in copied:
            print(f"  {name}: {line}")


main()
