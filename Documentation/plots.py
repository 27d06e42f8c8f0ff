#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# plots.py DATA OUT - plots and tables, in OUT, of the measurements in DATA
#
# Of gda-perf.json it makes latency.svg, rate.svg, bandwidth.svg and tables.rst, which
# performance.rst includes; of gda-bench-gpu.json gpu.svg and gpu.rst, which gpu.rst includes. To
# publish other figures, replace the data:
#
#   make perf PERF="--json --ms 150" >Documentation/data/gda-perf.json
#   build/tools/gda-bench-gpu --json >Documentation/data/gda-bench-gpu.json

import json
import math
import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 30, 16, 64
# Colours that are told apart with any kind of colour vision (Okabe and Ito).
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]

# A dash alone would be an empty list.
NONE = "\\-"

TITLES = {
    ("lat", "put_seen_two"): "put, seen by another process",
    ("lat", "put_seen"): "put, seen in the target's memory",
    ("lat", "put_completed"): "put, completion seen",
    ("lat", "put_ping_pong"): "put, half a trip of two threads",
    ("lat", "get_completed"): "get, completion seen",
    ("lat", "fetch_add"): "fetch-add, completion seen",
    ("lat", "rxe_write"): "rxe, ib_write_lat (half a round trip)",
    ("lat", "rxe_atomic"): "rxe, ib_atomic_lat",
    ("lat", "verbs_write"): "raw verbs: write, completion seen",
    ("lat", "verbs_fetch_add"): "raw verbs: fetch-add, completion seen",
    ("rate", "verbs_write"): "raw verbs: write",
    ("rate", "verbs_write_list"): "raw verbs: write, 16 a post",
    ("bw", "verbs_write"): "raw verbs: write",
    ("rate", "put_two"): "put to another process",
    ("rate", "put"): "put",
    ("rate", "put_idle_qps"): "put, idle QPs beside it",
    ("rate", "put_batch"): "put, 32 a doorbell",
    ("rate", "put_inline"): "put, inline",
    ("rate", "fetch_add"): "fetch-add",
    ("rate", "rxe_write"): "rxe, ib_write_bw",
    ("rate", "rxe_write_list"): "rxe, ib_write_bw, 16 a post",
    ("bw", "put_two"): "put to another process",
    ("bw", "put"): "put",
    ("bw", "memcpy_user"): "memcpy, user space",
    ("bw", "memcpy_kernel"): "memcpy, kernel",
    ("bw", "rxe_write"): "rxe, ib_write_bw",
}


def size(n):
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if n >> shift and not n % (1 << shift):
            return f"{n >> shift} {unit}"
    return f"{n} B"


def text(x, y, words, anchor="middle", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>'
            f"{escape(words)}</text>")


def svg(name, body, height=HEIGHT):
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
         f'font-family="sans-serif" font-size="12" role="img">',
         f"<title>{escape(name)}</title>",
         f'<rect width="{WIDTH}" height="{height}" fill="white"/>'] + body + ["</svg>", ""])


class Axes:
    """Two logarithmic axes: bytes, and a figure."""

    def __init__(self, sizes, figures):
        self.x0, self.x1 = math.log2(min(sizes)), math.log2(max(sizes))
        self.y0 = math.floor(math.log10(min(figures)))
        self.y1 = math.ceil(math.log10(max(figures)))

    def x(self, n):
        return LEFT + (math.log2(n) - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def y(self, v):
        part = (math.log10(v) - self.y0) / (self.y1 - self.y0)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def draw(self, sizes, unit):
        out = []
        for n in sizes:
            out.append(text(self.x(n), HEIGHT - BOTTOM + 18, size(n)))
        for power in range(self.y0, self.y1 + 1):
            y = self.y(10.0 ** power)
            out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
                       'stroke="#ddd"/>')
            out.append(text(LEFT - 8, y + 4, f"{10.0 ** power:g}", "end"))
        out.append(text(16, (HEIGHT - BOTTOM + TOP) / 2, unit, more=' transform="rotate(-90 16 '
                        f'{(HEIGHT - BOTTOM + TOP) / 2:.1f})"'))
        return out


def lines(name, series, unit):
    """Each of @series is (title, [(bytes, figure)]); one figure is a dot."""
    sizes = sorted({n for _, points in series for n, _ in points})
    axes = Axes(sizes, [v for _, points in series for _, v in points])
    out = axes.draw(sizes, unit)
    for i, (title, points) in enumerate(series):
        colour = COLOURS[i]
        path = " ".join(f"{axes.x(n):.1f},{axes.y(v):.1f}" for n, v in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{axes.x(n):.1f}" cy="{axes.y(v):.1f}" r="3.5" fill="{colour}"/>'
                for n, v in points]
        x = LEFT + (i % 3) * 215
        y = HEIGHT - 24 + (i // 3) * 16
        out.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        out.append(text(x + 16, y, title, "start"))
    return svg(name, out)


def bars(name, rows, unit):
    """Each of @rows is (title, figure, least, most)."""
    left, step = 210, 28
    most = max(row[3] for row in rows)
    height = TOP + step * len(rows) + 30
    out = []
    for i, (title, figure, low, high) in enumerate(rows):
        y = TOP + step * i
        scale = (WIDTH - left - 80) / most
        colour = COLOURS[1] if title.startswith("rxe") else COLOURS[0]
        out.append(text(left - 8, y + 15, title, "end"))
        out.append(f'<rect x="{left}" y="{y + 3}" width="{figure * scale:.1f}" height="18" '
                   f'fill="{colour}"/>')
        out.append(f'<line x1="{left + low * scale:.1f}" y1="{y + 12}" '
                   f'x2="{left + high * scale:.1f}" y2="{y + 12}" stroke="#333"/>')
        out.append(text(left + high * scale + 6, y + 16, f"{figure:.3g}", "start"))
    out.append(text(left, height - 8, f"{unit}; the thin line: least to most of the runs",
                    "start"))
    return svg(name, out, height)


def points(data, test, row, column):
    return [(r["bytes"], r[column]) for r in data["rows"]
            if (r["test"], r["row"]) == (test, row) and r[column]]


def figure(v):
    """As many digits as mean something; as gda-perf prints it."""
    if v is None:
        return NONE
    return f"{v:.{3 if v < 10 else 2 if v < 100 else 1 if v < 1000 else 0}f}"


def rst_table(head, rows):
    wide = [max(len(x) for x in column) for column in zip(head, *rows)]
    rule = "  ".join("=" * w for w in wide)
    cells = ["  ".join(x.ljust(w) for x, w in zip(row, wide)).rstrip() for row in [head] + rows]
    return "\n".join([rule, cells[0], rule] + cells[1:] + [rule, ""])


def table(data, test, title, columns):
    return rst_table([title, "bytes"] + columns, [
        [TITLES.get((test, r["row"]), r["row"]), str(r["bytes"])] + [figure(r[c]) for c in columns]
        for r in data["rows"] if r["test"] == test])


def bar_table(data):
    return rst_table(["bar", "asked", "measured", "verdict"], [
        [b["bar"], ("at least " if "least" in b else "at most ") +
         figure(b.get("least", b.get("most"))), figure(b["measured"]),
         "met" if b["met"] else "missed"] for b in data["bars"]])


def tables(data):
    out = [f"Linux {data['kernel']}, device {data['device']}, {data['cpus']} CPUs, "
           f"{data['runs']} runs of {data['ms']} ms each, in turns; {data['idle_qps']} idle QPs.",
           ""]
    out += [f"* {thread}" for thread in data["threads"]] + [""]
    out += [table(data, "lat", "latency, us", ["p50", "p90", "p99", "p99.9", "max"]),
            table(data, "rate", "messages, million/s", ["median", "least", "most"]),
            table(data, "bw", "bandwidth, GB/s", ["median", "least", "most"])]
    if data["bars"]:
        out.append(bar_table(data))
    return "\n".join(out)


def gpu_ratio(r, value):
    """How many times better than the peer; less is better where cycles are counted."""
    return r["peer_now"] / value if r["unit"] == "cycles" else value / r["peer_now"]


# What is measured, by the number that a row begins with.
GPU_KINDS = {"1": "a thread puts", "2": "a warp puts", "3": "warps put", "4": "put and signal",
             "5": "wait", "6": "slowest wait", "7": "many a doorbell", "8": "gda/gin.h",
             "9": "gda/shmem.h"}


def gpu_words(row):
    """"1 exclusive lazy" for who has not read the table: "a thread puts: exclusive lazy"."""
    number, _, rest = row.partition(" ")
    return f"{GPU_KINDS[number]}: {rest}"


def gpu_plot(rows):
    rows = [r for r in rows if r["peer_now"]]
    left, step = 250, 17
    height = TOP + step * len(rows) + 44
    most = math.log10(max(gpu_ratio(r, r["ours"]) for r in rows)) + 0.15
    low = math.log10(0.8)

    def x(ratio):
        return left + (math.log10(ratio) - low) / (most - low) * (WIDTH - left - RIGHT)

    out = []
    for ratio in (1, 2, 5, 10, 20, 50, 100):
        if math.log10(ratio) < most:
            out.append(f'<line x1="{x(ratio):.1f}" y1="{TOP}" x2="{x(ratio):.1f}" '
                       f'y2="{height - 44}" stroke="#ddd"/>')
            out.append(text(x(ratio), height - 30, f"{ratio}"))
    for i, r in enumerate(rows):
        y = TOP + step * i
        ours, bar = gpu_ratio(r, r["ours"]), gpu_ratio(r, r["bar"])
        out.append(text(left - 8, y + 12, gpu_words(r["row"]), "end", ' font-size="10"'))
        out.append(f'<rect x="{x(1):.1f}" y="{y + 3}" width="{x(ours) - x(1):.1f}" height="11" '
                   f'fill="{COLOURS[0] if ours >= bar else COLOURS[1]}"/>')
        out.append(f'<line x1="{x(bar):.1f}" y1="{y + 1}" x2="{x(bar):.1f}" y2="{y + 16}" '
                   'stroke="black" stroke-width="2"/>')
    words = ["How many times as fast as the fastest other project (1: as fast); longer is better.",
             "Black line: our goal. Blue: goal reached. Orange: goal missed."]
    for i, line in enumerate(words):
        out.append(text(left, height - 17 + 12 * i, line, "start", ' font-size="10"'))
    return svg("GDA's posts by GPU threads, compared with the fastest other project", out, height)


def gpu_figure(v):
    return NONE if not v else f"{v:.0f}" if v >= 1000 else f"{v:.4g}"


def gpu_reached(r):
    return r["ours"] <= r["bar"] if r["unit"] == "cycles" else r["ours"] >= r["bar"]


def gpu_row(r):
    peer = f"{r['peer']} {gpu_figure(r['peer_now'])}" if r["peer_now"] else NONE
    ours = gpu_figure(r["ours"])
    verdict = "ok" if r["met"] else "below"
    if gpu_reached(r) and not r["met"]:
        unfair = 0 < r["slowest"] <= 0.9
        verdict = f"ok, but slowest {r['slowest']}" if unfair else "ok, but not beside its row"
    return [r["row"], gpu_figure(r["floor"]), peer, gpu_figure(r["unchecked_now"]),
            gpu_figure(r["bar"]), ours if gpu_reached(r) else f"**{ours}**",
            f"{gpu_figure(r['min'])} .. {gpu_figure(r['max'])}", verdict]


def gpu_table(rows):
    head = ["row", "floor", "peer", "unchecked", "bar", "ours", "min .. max", "bar met"]
    return rst_table(head, [gpu_row(r) for r in rows])


def main():
    folder = Path(sys.argv[1])
    data = json.loads((folder / "gda-perf.json").read_text(encoding="utf-8"))
    gpu = json.loads((folder / "gda-bench-gpu.json").read_text(encoding="utf-8"))["rows"]
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    files = {
        "latency.svg": lines("Latency of puts by size", [
            ("put, seen: median", points(data, "lat", "put_seen", "p50")),
            ("put, completed: median", points(data, "lat", "put_completed", "p50")),
            ("put, seen: 99 %", points(data, "lat", "put_seen", "p99")),
            ("by another process: median", points(data, "lat", "put_seen_two", "p50")),
            ("rxe, ib_write_lat: median", points(data, "lat", "rxe_write", "p50")),
        ], "us"),
        "rate.svg": bars("Messages of 8 bytes per second", [
            (TITLES.get(("rate", r["row"]), r["row"]), r["median"], r["least"], r["most"])
            for r in data["rows"] if r["test"] == "rate" and r["median"]], "million/s"),
        "bandwidth.svg": lines("Bandwidth by size", [
            ("put", points(data, "bw", "put", "median")),
            ("memcpy, user space", points(data, "bw", "memcpy_user", "median")),
            ("memcpy, kernel", points(data, "bw", "memcpy_kernel", "median")),
            ("put to another process", points(data, "bw", "put_two", "median")),
            ("rxe, ib_write_bw", points(data, "bw", "rxe_write", "median")),
        ], "GB/s"),
        "tables.rst": tables(data),
        "gpu.svg": gpu_plot(gpu),
        "gpu.rst": gpu_table(gpu),
    }
    for name, content in files.items():
        (out / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
