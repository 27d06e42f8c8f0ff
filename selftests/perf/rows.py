#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# rows.py - a short run of gda-perf gives every row that it should, and each has either
# a figure that can be, or a reason why there is none. How fast anything is, is not
# looked at. Speaks KTAP. On what gda_open() finds: the in-process device here, the
# kernel's in the guest.

import json
import os
import subprocess
import sys

PERF = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), "../../tools/gda-perf")
SLOW = int(os.environ.get("GDA_SLOW", "1"))
QUICK = ["--runs", "2", "--ms", "2", "--idle", "70"]
# A kernel may be built without it.
BPF = os.path.exists("/proc/sys/kernel/unprivileged_bpf_disabled")
SIZES = [8, 64, 512, 4096, 16384, 65536, 1048576, 4194304]

EXPECTED = {("lat", name, size) for name in ("put_seen", "put_completed") for size in SIZES}
EXPECTED |= {("lat", name, 8) for name in
             ("get_completed", "fetch_add", "put_seen_two", "put_ping_pong", "gin_put_signal",
              "verbs_write", "verbs_fetch_add")}
EXPECTED |= {("rate", name, 8) for name in
             ("put", "put_idle_qps", "put_batch", "put_inline", "fetch_add", "put_two",
              "gin_put_signal", "gin_put_signal_batch", "verbs_write", "verbs_write_list")}
EXPECTED |= {("bw", name, size) for name in ("put", "memcpy_user", "memcpy_kernel")
             for size in SIZES}
EXPECTED |= {("bw", "put_two", 65536), ("bw", "verbs_write", 65536)}

results = []


def test(name):
    def run(body):
        try:
            why = body()
        except Exception as error:  # any of them is a finding
            why = f"{type(error).__name__}: {error}"
        if why:
            print("#", "\n# ".join(str(why).splitlines()))
        results.append(not why)
        print("not ok" if why else "ok", len(results), name, flush=True)
    return run


def perf(*args):
    return subprocess.run([PERF, *args], capture_output=True, text=True, check=False,
                          timeout=180 * SLOW)


def key(row):
    return row["test"], row["row"], row["bytes"]


def may_be_missing(row, device):
    """an RDMA device is set up by nobody here; BPF needs rights; one process cannot be two."""
    name = row["row"]
    return (name.startswith("verbs_") or
            (name.endswith("_two") and device == "inproc") or
            (name == "memcpy_kernel" and (device == "inproc" or not BPF)))


def unsound(row):
    if not row["runs"]:
        return None if row.get("missing") and row["median"] is None else "no reason given"
    numbers = [row["least"], row["median"], row["most"]]
    if any(n is None or n <= 0 for n in numbers) or numbers != sorted(numbers):
        return f"least, median, most: {numbers}"
    if row["test"] == "lat":
        numbers = [row[p] for p in ("p50", "p90", "p99", "p99.9")]
        known = [n for n in numbers if n is not None]
        if known != sorted(known) or row["p50"] != row["median"]:
            return f"percentiles {numbers}"
    return None


print("1..8")
ran = perf("--json", *QUICK)
try:
    report = json.loads(ran.stdout)
except ValueError:
    print("#", ran.stderr.replace("\n", "\n# "))
    print("Bail out! gda-perf --json gives no JSON")
    sys.exit(1)


@test("every row is there, once")
def _():
    keys = [key(r) for r in report["rows"]]
    wrong = sorted(set(keys) ^ EXPECTED)
    return wrong or (len(keys) != len(set(keys)) and "twice")


@test("every figure can be, or there is a reason")
def _():
    return "\n".join(f"{key(r)}: {unsound(r)}" for r in report["rows"] if unsound(r))


@test("nothing of ours is missing")
def _():
    return "\n".join(f"{key(r)}: {r['missing']}" for r in report["rows"]
                     if not r["runs"] and not may_be_missing(r, report["device"]))


@test("says who ran where, and the bars")
def _():
    if not report["threads"] or not report["kernel"] or report["cpus"] < 1:
        return report
    bars = report["bars"]
    return len(bars) != 5 and bars


@test("the tables have all of it")
def _():
    out = perf(*QUICK).stdout
    begins = ("put", "get", "gin", "fetch", "memcpy", "raw verbs")
    lines = [x for x in out.splitlines() if x.startswith(begins)]
    return len(lines) != len(EXPECTED) and out


@test("subcommands and sizes choose")
def _():
    rows = json.loads(perf("--json", "--no-peers", *QUICK, "--sizes", "24,96", "bw").stdout)["rows"]
    wanted = {("bw", "put", 24), ("bw", "put", 96), ("bw", "put_two", 65536)}
    return {key(r) for r in rows} != wanted and rows


@test("shared processors: every row of a setting")
def _():
    rows = json.loads(perf("--json", "--runs", "2", "--ms", "5", "shared", "quiet").stdout)
    wanted = {("quiet", name) for name in
              ("ping_pong", "gin_put_signal", "gin_barrier", "dpa_launch")}
    return ({(r["setting"], r["row"]) for r in rows} != wanted or
            any(r["bare_ns"] <= 0 or r["gda_ns"] <= 0 for r in rows)) and rows


@test("what it does not know is refused; a bar not measured is not met")
def _():
    for args in (["fast"], ["--sizes", "7"], ["--runs", "0"], ["--nothing"], ["shared", "idle"]):
        if perf(*args).returncode != 2:
            return args
    return perf("--check", "--no-peers", *QUICK, "rate").returncode != 3 and "--check"


sys.exit(not all(results))
