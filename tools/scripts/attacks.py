#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# attacks.py [--json] - what the last runs of the tests said of each attack
#
# It reads the last `make check`, `make check-debug` and `make check-kcsan` of all programs; for
# a whole table run these three. Those of `make check-newest` and `make check-arm64` count, too, if
# they were run. A run of some programs (PROGRAMS=, TESTS=) does not count: it leaves its logs in
# build/log/part, of which --logs build/log/part shows a table.
#
#   --logs DIR      what run-tests.sh left                  [build/log]
#   --rows FILE     the attacks                             [selftests/attacks.txt]
#
# A row of the table is an attack. Below it are the tests that have its id in their names (an id
# with an underscore, as in E_12_slots, is that of a feature and no row), how many passed on each
# kernel (a test may have variants, and be in several programs), the last figures that they
# printed, and why they were skipped. O9 is all programs of 32 bits; O10 the kernel's log, of which
# every program in a guest is a test.
#
# A program that failed as a whole, or never ended, fails each row of which it has a test
# anywhere. Fails if a row has a failure, has no test, or is skipped wherever it ran, if a
# test is skipped without a reason, and if a run or any program did not come to its end.

import argparse
import json
import os
import re
import shutil
import sys
import textwrap
import time

TOP = os.path.relpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
ID = re.compile(r"[MSKOEPQX]\d+$")
RESULT = re.compile(r"\s*(not )?ok \d+ (?:- )?(\S+)[^#]*(?:# *(SKIP|TODO|XFAIL)\b *(.*))?")
# Lines of the harness, or expected messages of the kernel: they are no figures.
NOISE = re.compile(r"#\s*(RUN|OK|FAIL|SKIP|PASSED|FAILED|Starting|Totals|dmesg)\b|.*GDA_SEED=")
ORDER = ("6.12", "6.1", "debug", "kcsan", "native")	# whose figures are shown first


class Cell:
    """What a test came to in one place."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.figures, self.reasons = [], []

    def add(self, verdict, figures=(), reason=""):
        setattr(self, verdict, getattr(self, verdict) + 1)
        if figures:
            self.figures.append(figures)
        if reason and reason not in self.reasons:
            self.reasons.append(reason)

    def text(self):
        if self.failed:
            return f"{self.failed} bad"
        return str(self.passed) if self.passed else "skip"


def read(path):
    """The lines of a file, if there is one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def flat(program):
    return program.replace("/", "_")


class Run:
    """A folder of run-tests.sh's."""

    def __init__(self, place, folder):
        self.place, self.folder = place, folder
        self.programs = {}	# name: why it failed as a whole
        self.ended = False
        self.when = 0
        path = os.path.join(folder, "results")
        if not os.path.exists(path):
            return
        self.when = os.path.getmtime(path)
        for line in read(path):
            name, _, _, _, why = line.split("\t")
            if name == "total":
                self.ended = True
            else:
                self.programs[name] = why
        # That under which the guest died has a log and no result.
        known = {flat(name) for name in self.programs}
        for log in os.listdir(folder):
            name = log[:-len(".log")]
            if log.endswith(".log") and name not in known:
                self.programs[name.replace("_", "/", 1)] = "no result"

    def log(self, program):
        return read(os.path.join(self.folder, flat(program) + ".log"))


def runs(logs):
    """
    Of each place in order: the kernels' are folders vm-KVER, vm-KVER/NAME of another start
    of that kernel, and of each guest pair/N, debug/N and kcsan/N. KVER may be "newest", and
    end with -arm64 or -arm64-16k; these come behind those of this processor.
    """
    vms = sorted((d for d in os.listdir(logs) if d.startswith("vm-")),
                 key=lambda d: ("arm64" in d, "newest" in d, [int(n) for n in re.findall(r"\d+", d)]))
    found = [("native", "native")]
    for d in vms:
        inner = sorted(n for n in os.listdir(os.path.join(logs, d))
                       if os.path.isdir(os.path.join(logs, d, n)))
        found += [(d[len("vm-"):], f) for f in [d] + [f"{d}/{n}" for n in inner]]
    for d in ("pair", "debug", "kcsan"):
        if os.path.isdir(os.path.join(logs, d)):
            found += [(d, f"{d}/{n}") for n in sorted(os.listdir(os.path.join(logs, d))) if n.isdigit()]
    return [Run(place, os.path.join(logs, d)) for place, d in found
            if os.path.isdir(os.path.join(logs, d))]


def results(lines):
    """Name, verdict, reason and figures of each test that a program's output tells of."""
    figures = []
    for line in lines:
        match = RESULT.match(line)
        if match:
            bad, name, skip, reason = match.groups()
            verdict = "skipped" if skip else "failed" if bad else "passed"
            yield name, verdict, (reason or "").strip(), figures
            figures = []
        elif line.startswith("#") and re.search(r"\d", line) and not NOISE.match(line):
            line = re.sub(r"^# *(\S+:\d+:\w+:)?", "", line)
            figures.append(re.sub(r"\s+", " ", line).strip())


def title(program, name):
    """A test without its variant; of one that has no fixture, with its program."""
    part = name.split(".")
    if len(part) < 2 or part[0] == "global":
        part[0:len(part) - 1] = [re.split("[/-]", program)[-1]]
    return f"{part[0]}.{part[-1]}"


class Table:
    def __init__(self, all_runs):
        self.rows = {}		# id: {test: {place: Cell}}
        self.programs = {}	# (id, test): programs
        self.has = {}		# program, flat: ids
        self.bad = []		# what failed as a whole
        self.places = list(dict.fromkeys(r.place for r in all_runs))
        for run in all_runs:
            for program in run.programs:
                self.read(run, program)
        for run in all_runs:
            self.whole(run)

    def add(self, row, test, place, program, *what):
        self.rows.setdefault(row, {}).setdefault(test, {}).setdefault(place, Cell()).add(*what)
        names = self.programs.setdefault((row, test), [])
        if program not in names:
            names.append(program)

    def read(self, run, program):
        has = self.has.setdefault(flat(program), set())
        if program.startswith("kernel32/"):
            has.add("O9")
        for name, verdict, reason, figures in results(run.log(program)):
            ids = {p for p in re.split(r"[._]", name) if ID.match(p)}
            if verdict == "skipped" and not reason:
                verdict, reason = "failed", "skipped without a reason"
            for i in ids:
                self.add(i, title(program, name), run.place, program, verdict, figures, reason)
            if program.startswith("kernel32/") and "O9" not in ids:
                self.add("O9", program, run.place, program, verdict, (), reason)
            has |= ids

    def whole(self, run):
        """What programs came to as a whole, and the run; the kernel's log."""
        guest = run.place != "native"
        for program, why in run.programs.items():
            for i in self.has[flat(program)] if why else ():
                self.add(i, program, run.place, program, "failed", (), why)
            if why:
                self.bad.append(f"{run.place}: {program}: {why}")
            noisy = "the kernel complained" in why
            if guest:
                self.add("O10", "every program", run.place, program,
                         "failed" if noisy else "passed", (), f"{program}: {why}" if noisy else "")
        reports = os.path.join(run.folder, "..", "reports")
        if run.place in ("debug", "kcsan") and os.path.exists(reports) and os.path.getsize(reports):
            self.add("O10", "reports", run.place, run.place, "failed", (),
                     f"see {os.path.normpath(reports)}")
        if not run.ended:
            self.bad.append(f"{run.place}: the run did not end, see {run.folder}")
            if guest:
                self.add("O10", "every program", run.place, run.place, "failed", (), "the run did not end")

    def result(self, row, applies):
        cells = [c for places in self.rows.get(row, {}).values() for c in places.values()]
        if applies != "yes":
            return "n/a"
        if not cells:
            return "NO TEST"
        if any(c.failed for c in cells):
            return "FAILED"
        return "ok" if any(c.passed for c in cells) else "SKIPPED"


def spread(texts):
    """One text for those that differ in numbers: their least and most."""
    split = [re.split(r"(\d+(?:\.\d+)?)", re.sub(r"^\w+: ", "", t)) for t in texts]
    if len({tuple(s[::2]) for s in split}) > 1:
        return None
    out = list(split[0])
    for i in range(1, len(out), 2):
        numbers = sorted((s[i] for s in split), key=float)
        out[i] = numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]}..{numbers[-1]}"
    return "".join(out)


def figures(places):
    """Those of the first place that has some; of several variants, what they have in common."""
    for place in [p for p in ORDER if p in places] + [p for p in places if p not in ORDER]:
        got = places[place].figures
        if len(got) == 1:
            return got[0]
        if got:
            text = spread([f[-1] for f in got])
            return [f"{len(got)} times: {text}"] if text else got[-1]
    return []


def remarks(places):
    out = {}
    for place, cell in places.items():
        for reason in cell.reasons:
            out.setdefault(reason, []).append(place)
    return [f"{' '.join(where)}: {reason}" for reason, where in out.items()]


def sums(tests, place):
    cells = [places[place] for places in tests.values() if place in places]
    total = Cell()
    for c in cells:
        total.passed += c.passed
        total.failed += c.failed
    return total.text() if cells else "-"


def print_table(table, attacks):
    width = max(100, shutil.get_terminal_size((140, 0)).columns)
    # As wide as the name of a place, and a cell of six.
    wide = {p: max(8, len(p) + 2) for p in table.places}
    head = f"{'row':<5}{'test':<44}" + "".join(f"{p:>{wide[p]}}" for p in table.places) + "  "
    print(f"{head}{'result':<9}figure")
    for row, applies, name in attacks:
        tests = table.rows.get(row, {})
        cells = "".join(f"{sums(tests, p):>{wide[p]}}" for p in table.places)
        name += f" ({applies})" if applies != "yes" else ""
        print(f"\n{row:<5}{name:<44}{cells}  {table.result(row, applies)}")
        for test, places in sorted(tests.items()):
            texts = figures(places) + remarks(places)
            cells = "".join(f"{places[p].text() if p in places else '-':>{wide[p]}}"
                            for p in table.places)
            lines = [w for t in texts for w in
                     textwrap.wrap(t, width - len(head) - 9, subsequent_indent="  ")]
            worst = "FAILED" if any(c.failed for c in places.values()) else \
                "ok" if any(c.passed for c in places.values()) else "skipped"
            if len(test) > 43:
                print(f"     {test}")
                test = ""
            print(f"     {test:<44}{cells}  {worst:<9}{lines[0] if lines else ''}".rstrip())
            for line in lines[1:]:
                print(" " * (len(head) + 9) + line)


def to_json(table, attacks):
    out = []
    for row, applies, name in attacks:
        tests = table.rows.get(row, {})
        entry = {"row": row, "result": table.result(row, applies), "attack": name}
        if applies != "yes":
            entry["missing"] = applies
        entry.update({p: sums(tests, p) for p in table.places})
        entry["tests"] = [{"test": t, "programs": table.programs[row, t],
                           "places": {p: vars(c) for p, c in places.items()}}
                          for t, places in sorted(tests.items())]
        out.append(json.dumps(entry))
    print("[\n " + ",\n ".join(out) + "\n]")


def main():
    parser = argparse.ArgumentParser(prog="attacks.py")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--logs", default=os.path.join(TOP, "build", "log"))
    parser.add_argument("--rows", default=os.path.join(TOP, "selftests", "attacks.txt"))
    args = parser.parse_args()

    found = runs(args.logs) if os.path.isdir(args.logs) else []
    if not found:
        sys.exit("attacks.py: nothing to add up: run make check (of all programs) first")
    attacks = [line.split("\t") for line in read(args.rows) if line and line[0] != "#"]
    table = Table(found)
    stray = sorted(set(table.rows) - {a[0] for a in attacks})
    table.bad += [f"{row}: no such row; tests: {' '.join(table.rows[row])}" for row in stray]

    count = {}
    for row, applies, _ in attacks:
        result = table.result(row, applies)
        count[result] = count.get(result, 0) + 1
    if args.json:
        to_json(table, attacks)
    else:
        print_table(table, attacks)
        print(f"\n{count.get('ok', 0)} rows hold, {count.get('FAILED', 0)} failed, "
              f"{count.get('NO TEST', 0)} without a test, {count.get('SKIPPED', 0)} skipped, "
              f"{count.get('n/a', 0)} have nothing to attack yet")
        print("\n".join(time.strftime(f"{r.place:<{1 + max(6, len(r.place))}}ended %F %H:%M", time.localtime(r.when))
                        for r in found if r.ended))
    for line in table.bad:
        print(line, file=sys.stderr)
    return 1 if table.bad or set(count) - {"ok", "n/a"} else 0


sys.exit(main())
