#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# undocumented.py HEADER... - what is public, and kernel-doc has no word about
#
# kernel-doc complains about comments that are incomplete, not about those that are
# missing, and it does not see comments of one line. Public is: a function that is
# declared or exported inline, and, in headers of uapi and the library, a structure
# or an enumeration that is defined, and a macro of uapi (which must at least be
# named in one of the comments).

import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
FUNCTION = re.compile(
    r"^(?!static|typedef|GDA_HELPER|GDA_OTHER|GDA_SLOW|GDA_DEVICE|GDA_EFA_DEVICE|template|return|else)"
    r"[A-Za-z_][\w \t*]*?[ *](\w+)\s*\([^;{}]*\)\s*[;{]", re.M)
TYPE = re.compile(r"^(?:struct|enum|union) (\w+) \{", re.M)
# The numbers of the ioctls, which have their structures' comments; and words that
# compilers need.
EXEMPT = re.compile(r"gda_ioc_nr|GDA_UAPI_(INLINE|FORCE)")
MACRO = re.compile(r"^#define (GDA_\w+)[ \t]+\S", re.M)


def blank(match):
    """Keep the lines, so that the numbers stay right."""
    return re.sub(r"[^\n]", " ", match.group(0))


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check(path):
    text = open(path, encoding="utf-8").read()
    docs = "\n".join(c for c in COMMENT.findall(text) if c.startswith("/**\n"))
    for m in re.finditer(r"^[ \t]*/\*\* ", text, re.M):
        yield line_of(text, m), "a comment of one line is not seen by kernel-doc"
    code = COMMENT.sub(blank, text)
    bare = PREPROCESSOR.sub(blank, code)
    for m in FUNCTION.finditer(bare):
        if not re.search(rf"^ \* {m.group(1)}(\(\))? -", docs, re.M):
            yield line_of(bare, m), f"{m.group(1)}() has no kernel-doc"
    if not path.startswith(("uapi/", "lib/include/")):
        return
    for m in TYPE.finditer(bare):
        if EXEMPT.fullmatch(m.group(1)):
            continue
        if not re.search(rf"^ \* (struct|enum|union) {m.group(1)} -", docs, re.M):
            yield line_of(bare, m), f"{m.group(1)} has no kernel-doc"
    if not path.startswith("uapi/"):
        return
    for m in MACRO.finditer(code):
        if EXEMPT.fullmatch(m.group(1)):
            continue
        if not re.search(rf"\b{m.group(1)}\b", docs):
            yield line_of(code, m), f"{m.group(1)} is not described"


for name in sys.argv[1:]:
    for line, what in check(name):
        print(f"{name}:{line}: {what}")
