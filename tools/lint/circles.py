#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# circles.py [--show] [FOLDER...] - files of a folder that use each other's symbols in a circle
#
# A file of which another uses a function or a variable lies below it. Where two use each other, or
# several go round, nobody can read the one without the others. Reads the objects of `make lib`, or
# in the folders named (build folders of the modules, for example). Prints a line for each folder
# that has more files in circles than it may, and with --show what makes the circles of all.

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
LIB = TOP / "build/lib"
# The most files in circles.
MOST = {"lib/core": 0, "lib/device/copier": 0, "lib/device/inproc": 0, "lib/gpu": 0}


def uses(objects):
    """Which file uses which other, and by what symbols."""
    home, wanted = {}, {}
    for path in objects:
        out = subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout
        symbols = [line.split()[:2] for line in out.splitlines()]
        home.update({s: path.stem for s, kind in symbols if kind in "TDBRVW"})
        wanted[path.stem] = {s for s, kind in symbols if kind == "U"}
    found = {}
    for name, symbols in wanted.items():
        found[name] = defaultdict(list)
        for s in sorted(symbols):
            if home.get(s, name) != name:
                found[name][home[s]].append(s)
    return found


def reach(graph, start):
    """All that can be reached from @start by at least one step."""
    seen, todo = set(), list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += graph[name]
    return seen


def show(graph, among):
    for name in sorted(among):
        for other in sorted(set(graph[name]) & among):
            print(f"  {name}.c uses of {other}.c: {' '.join(graph[name][other])}")


def main():
    named = [Path(a) for a in sys.argv[1:] if a != "--show"]
    folders = named or sorted({p.parent for p in LIB.rglob("*.o")})
    for folder in folders:
        part = str(folder.relative_to(LIB)) if not named else str(folder)
        objects = [p for p in folder.glob("*.o") if not p.name.endswith(".mod.o")]
        if not named:  # of a source that went the object may still be there
            objects = [p for p in objects if (TOP / part / p.stem).with_suffix(".c").exists()]
        graph = uses(sorted(objects))
        among = {name for name in graph if name in reach(graph, name)}
        if "--show" in sys.argv or named:
            print(f"{part}: {len(among)} of {len(graph)} files are in circles")
            show(graph, among)
        elif len(among) > MOST.get(part, len(among)):
            print(f"{part}: {len(among)} files are in circles, {MOST[part]} may be "
                  f"(circles.py --show): {' '.join(sorted(among))}")


main()
