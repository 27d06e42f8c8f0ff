#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# counts.py - figures that prose repeats are those of the tables they were counted in
#
# And the table of environment variables has each one that the library and the tools read, and the
# table of reasons each function that gives one. Prints a line for each that is not so.

import json
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
REASONS = """gda_last_error gda_explain gda_error gda_gin_query_error gda_comm_failed
             gda_async_session.refused gda_dpa_error gda_strerror""".split()
# Of other projects, what a launcher sets for its ranks, and the loader's own.
THEIRS = {"PMIX_NAMESPACE", "PMIX_RANK", "LD_LIBRARY_PATH"}


def text(path):
    return (TOP / path).read_text(encoding="utf-8")


def rows():
    """The rows of the bench of GPUs, and how many reach their bar."""
    data = json.loads(text("Documentation/data/gda-bench-gpu.json"))["rows"]
    want = f"{sum(r['met'] for r in data)} of {len(data)} rows"
    found = re.findall(r"\d+ of \d+ rows", text("README.md"))
    if found != [want]:
        yield f"README.md: {', '.join(found) or 'no count'}; Documentation/data says {want}"


def variables():
    read = set()
    for folder in ("lib", "tools"):
        for path in sorted((TOP / folder).rglob("*.[ch]")):
            read |= set(re.findall(r'getenv\("(\w+)"\)', path.read_text(encoding="utf-8")))
    table = text("Documentation/environment.rst")
    for name in sorted(read - THEIRS):
        if f"``{name}``" not in table:
            yield f"Documentation/environment.rst: {name} is not in the table"
    for name in sorted(set(re.findall(r"^``(GDA_\w+)``", table, re.M)) - read):
        if not any(name in p.read_text(encoding="utf-8", errors="replace")
                   for folder in ("lib", "tools", "selftests") for p in (TOP / folder).rglob("*")
                   if p.is_file() and p.suffix != ".pyc"):
            yield f"Documentation/environment.rst: nothing reads {name}"


def reasons():
    page = text("Documentation/library.rst")
    table = page[page.index(".. _reasons:"):page.index(".. kernel-doc::")]
    for name in REASONS:
        if f"``{name}" not in table:
            yield f"Documentation/library.rst: {name} is not in the table of reasons"


def main():
    bad = [line for check in (rows, variables, reasons) for line in check()]
    print("\n".join(bad), end="\n" if bad else "")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
