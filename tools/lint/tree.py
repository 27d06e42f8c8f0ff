#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# tree.py [--write] - the tree of folders in Documentation/architecture.rst is the tree
#
# Prints a line for each folder that is missing there, is gone, or of which nothing is said. With
# --write it draws the tree anew; what was said of a folder stays.

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "Documentation/architecture.rst"
# The drawing is the indented block behind this line.
MARK = ".. drawn by tools/lint/tree.py --write; the words are kept\n\n::\n\n"
ROOTS = "engine kmod uapi lib tools examples selftests Documentation debian".split()
# How many levels are drawn.
DEPTH = {"selftests": 2, "tools": 2, "debian": 1, "Documentation": 2, "uapi": 1}
COLUMN = 28


def folders():
    """Every folder that is drawn, parents before children, in the order of ROOTS."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    found = set()
    for name in names.splitlines():
        if (TOP / name).is_file():
            parts = name.split("/")[:-1]
            found |= {tuple(parts[:n]) for n in range(1, len(parts) + 1)}
    drawn = [f for f in found if f[0] in ROOTS and len(f) <= DEPTH.get(f[0], 3)]
    return sorted(drawn, key=lambda f: (ROOTS.index(f[0]), f))


def draw(words):
    for folder in folders():
        name = "    " * len(folder) + folder[-1] + "/"
        yield f"{name:{COLUMN}}{words.get(folder, '')}".rstrip()


def read(block):
    """What is said of each folder."""
    words, at = {}, []
    for line in block.splitlines():
        indent, name, said = re.fullmatch(r"( +)(\S+)/ *(.*)", line).groups()
        at = at[:len(indent) // 4 - 1] + [name]
        words[tuple(at)] = said
    return words


def main():
    page = PAGE.read_text(encoding="utf-8")
    head, mark, rest = page.partition(MARK)
    block = re.match(r"(?: +\S.*\n)*", rest).group() if mark else ""
    words = read(block)
    new = "\n".join(draw(words)) + "\n"
    if "--write" in sys.argv:
        PAGE.write_text(head + mark + new + rest[len(block):], encoding="utf-8")
        return
    for folder in folders():
        if not words.get(folder):
            print(f"{PAGE.name}: nothing is said of {'/'.join(folder)} (tools/lint/tree.py --write)")
    for folder in sorted(set(words) - set(folders())):
        print(f"{PAGE.name}: there is no {'/'.join(folder)} (tools/lint/tree.py --write)")
    if not mark or set(words) == set(folders()) and new != block:
        print(f"{PAGE.name}: the tree is drawn in another way (tools/lint/tree.py --write)")


main()
