#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# parameters.py [--show] - functions that take too many parameters
#
# A function takes six at most. How many of the tree's own take more is counted for headers and for
# .c files, and either figure has a most that it may be, which only goes down. Calls of the API keep
# what they take, and are not counted: those that are exported, and those with kernel-doc of their
# name, which the public headers have. --show prints the functions behind the figures.

import re
import subprocess
import sys
from pathlib import Path

FEW = 6
MOST = {"headers": 9, ".c files": 6}

# Comments; and attributes, whose parentheses are none of parameters.
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|__attribute__\(\(.*?\)\)", re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
DOCUMENTED = re.compile(r"^/\*\*\n \* (\w+)(?:\(\))? -", re.M)
EXPORTED = re.compile(r"^GDA_(?:EXPORT|OSH_PUBLIC)\b[^;{}()]*?(\w+)\(", re.M)
# From the margin to the brace; a parameter that is a function has parentheses of its own.
DEFINITION = re.compile(r"^[A-Za-z_][^;{}()=]*?(\w+)\(((?:[^(){};]|\([^(){};]*\))*)\)[^;{}()]*\{",
                        re.M)


def blank(match):
    """Keep the lines, so that the numbers stay right."""
    return re.sub(r"[^\n]", " ", match.group(0))


def taken(parameters):
    while "(" in parameters:
        parameters = re.sub(r"\([^()]*\)", "", parameters)
    return parameters.count(",") + 1


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "kmod", "engine",
                            "uapi", "lib", "tools", "examples"], capture_output=True, text=True)
    texts = {f: Path(f).read_text(encoding="utf-8") for f in sorted(set(names.stdout.split()))
             if f.endswith((".c", ".h", ".cu", ".cuh")) and Path(f).is_file()}
    public, found = set(), {kind: [] for kind in MOST}
    for text in texts.values():
        public |= set(DOCUMENTED.findall(text)) | set(EXPORTED.findall(text))
    for name, text in texts.items():
        code = PREPROCESSOR.sub(blank, COMMENT.sub(blank, text))
        for m in DEFINITION.finditer(code):
            n = taken(m.group(2))
            if n > FEW and m.group(1) not in public:
                line = code.count("\n", 0, m.start()) + 1
                found[".c files" if name.endswith((".c", ".cu")) else "headers"].append(
                    f"{name}:{line}: {m.group(1)}() takes {n} parameters")
    for kind, lines in found.items():
        if "--show" in sys.argv:
            print(f"{kind}: {len(lines)} of {MOST[kind]}", *lines, sep="\n  ")
        elif len(lines) > MOST[kind]:
            print(f"parameters.py: {len(lines)} functions of {kind} take more than {FEW} "
                  f"parameters, {MOST[kind]} may", *lines, sep="\n")


main()
