#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# house.py [--show] - what the tree says twice, and names outside their place
#
# Each figure has a most that it may be, which only goes down. --show prints the figures, the
# files and the lines behind them.
#
# Lines of lib/device/inproc that stand in kmod/gda_core too are counted in three ways:
#
#   same lines            each line alone, `return 0;` and `continue;` too. Of folders that share
#                         nothing with gda_core (OTHERS) this counts 4 to 9 %, so a third to a
#                         half of the figure is C and not GDA
#   same lines that say something
#                         each line alone, but neither counted nor compared are lines that only
#                         leave, jump, name a place to jump to, or declare a variable without a
#                         value (BARE): of OTHERS this leaves less than 1 %. The figure that the
#                         design wants at 8 at most
#   same lines in runs    those with at least two more before or behind them, in one order: text
#                         that was written twice

import glob
import re
import subprocess
import sys

SHOW = "--show" in sys.argv
# return of nothing, a number, an errno or a variable; goto, continue, break; a label; a brace;
# a declaration
BARE = re.compile(r"(return( -?\w+)?;|goto \w+;|continue;|break;|\w+:|\} else \{|do \{|struct \{|"
                  r"(const )?(struct \w+|u\d+|int|bool|size_t|unsigned int) \*?\w+;)$")
OTHERS = ("comm", "gpu", "frontend/gin", "frontend/openshmem", "frontend/shmem", "device/verbs")
# Headers that define load, store and fence for CPU and GPU: of queues, and of mapped memory.
ARCH = "/barrier.h", "/shmem_direct.h", "/shmem_copy.h"
# The files of a dialect, and the bench that has NICs of its own.
MLX5 = re.compile(r"mlx5[^/]*$|/gda_dialects\.h$|^tools/gda-bench-gpu/|^kmod/gda_rdma/|^tools/lint/")
# ... in code: not its number, which is asked for and offered. gda/wqe.h is the switch.
MLX5_USED = re.compile(r"\bgda_mlx5_\w+|\bGDA_MLX5_\w+|<gda/(?:wqe/)?mlx5(?:_cqe)?\.h>")
MOST = {"mlx5 files": 5, "uses of mlx5 outside of it": 0, "__CUDA_ARCH__ outside ARCH": 0, "same lines, percent": 17,
        "same lines that say something, percent": 8, "same lines in runs, percent": 2}
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


def used(name):
    """What a file calls and includes of the dialect mlx5, comments left out."""
    with open(name, encoding="utf-8", errors="replace") as f:
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S)
    return [f"{name}: {m}" for m in MLX5_USED.findall(code)]


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


def kernel():
    return lines(sorted(glob.glob("kmod/gda_core/**/*.[ch]", recursive=True)))


def library(folder):
    return lines(sorted(glob.glob(f"lib/{folder}/*.[ch]")))


def both(text, known):
    """The lines of @text that stand in @known too, and which part they are."""
    found = [x for x in text if x[1] in known]
    return 100.0 * len(found) / len(text), found


def saying(text):
    return [x for x in text if not BARE.match(x[1])]


def same_runs(text, known):
    known = runs([x for _, x in known])
    lone = [x for _, x in text]
    copied = set()
    for i in range(len(lone) - RUN + 1):
        if tuple(lone[i:i + RUN]) in known:
            copied.update(range(i, i + RUN))
    return 100.0 * len(copied) / len(text), [text[i] for i in sorted(copied)]


def main():
    mlx5 = naming("mlx5", [f for f in tracked("kmod", "engine", "lib", "uapi", "tools", "examples")
                           if not MLX5.search(f)])
    uses = [u for f in tracked("kmod", "engine", "lib") if f.endswith((".c", ".h"))
            and not MLX5.search(f) and f != "lib/include/gda/wqe.h" for u in used(f)]
    arch = naming("__CUDA_ARCH__", [f for f in tracked("lib", "uapi", "examples")
                                    if not f.endswith(ARCH)])
    core = kernel()
    known = {x for _, x in core}
    inproc = library("device/inproc") + library("device/copier")
    plain, _ = both(inproc, known)
    percent, twice = both(saying(inproc), known)
    in_runs, copied = same_runs(inproc, core)
    figures = {"mlx5 files": len(mlx5), "uses of mlx5 outside of it": len(uses), "__CUDA_ARCH__ outside ARCH": sum(arch.values()),
               "same lines, percent": plain, "same lines that say something, percent": percent,
               "same lines in runs, percent": in_runs}
    for what, figure in figures.items():
        if figure > MOST[what]:
            print(f"house: {what}: {figure:.4g}, {MOST[what]} are allowed (house.py --show)")
        elif SHOW:
            print(f"{what}: {figure:.4g} of {MOST[what]}")
    if SHOW:
        for folder in OTHERS:
            text = library(folder)
            print(f"  lib/{folder} for comparison: same lines, percent: {both(text, known)[0]:.4g}, "
                  f"that say something: {both(saying(text), known)[0]:.4g}")
        for name, n in {**mlx5, **arch}.items():
            print(f"  {name}: {n}")
        for name, line in twice:
            print(f"  {name}: {line}")
        print("in runs:")
        for name, line in copied:
            print(f"  {name}: {line}")


main()
