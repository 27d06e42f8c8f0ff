#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# calls.py - the Python module: what it puts arrives, what fails says why, nothing is left.
# By calls.sh. Speaks KTAP. $GDA_SIZES: lines "NAME BYTES" of the structures, from C.

import array
import ctypes
import errno
import os
import threading
import traceback

import gda

TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


def pair(ctx, **attr):
    a, b = ctx.qp(**attr), ctx.qp(**attr)
    a.connect(b.address)
    b.connect(a.address)
    return a, b


def fails(number, fn, *words):
    try:
        fn()
    except gda.Error as e:
        assert e.errno == number, f"errno {e.errno}, not {number}: {e}"
        for word in words:
            assert word in str(e), f"no '{word}' in '{e}'"
        return
    raise AssertionError(f"it did not fail with {errno.errorcode[number]}")


def raises(kind, fn):
    try:
        fn()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


@test
def fourteen_bytes():
    with gda.Context("inproc") as one, gda.Context("inproc") as two:
        a, b = one.qp(), two.qp()
        a.connect(b.address)
        b.connect(a.address)
        to = bytearray(14)
        here = one.register(bytearray(b"hello, remote\0"), 0)
        there = two.register(to, gda.LOCAL_WRITE | gda.REMOTE_WRITE)
        ticket = a.put(here.at(), there.at(), 14)
        a.wait(ticket, 60)
        assert a.test(ticket)
        assert to == b"hello, remote\0", to


@test
def buffer_and_pointer():
    with gda.Context("inproc") as ctx:
        a, _ = pair(ctx)
        words = array.array("Q", range(8))
        room = (ctypes.c_uint8 * 64)()
        here = ctx.register(memoryview(words))
        there = ctx.register(ctypes.addressof(room), gda.ALL, 64)
        a.put(here.at(8), there.at(16), 40)
        a.quiet(60)
        assert bytes(room) == bytes(16) + words.tobytes()[8:48] + bytes(8)
        a.wait(a.get(here.at(), there.at(16), 16), 60)
        assert list(words[:3]) == [1, 2, 2], words


@test
def atomics_and_values():
    with gda.Context("inproc") as ctx:
        a, _ = pair(ctx)
        words, old = array.array("Q", [5, 7]), array.array("Q", [0, 0])
        there, here = ctx.register(words), ctx.register(old)
        a.fetch_add(here.at(), there.at(), 3)
        a.compare_swap(here.at(8), there.at(8), 7, 1 << 63)
        a.quiet(60)
        assert list(old) == [5, 7] and list(words) == [8, 1 << 63]
        a.put_value(there.at(), (1 << 64) - 2)
        a.nop(gda.DEFER)
        a.flush()
        a.quiet(60)
        assert words[0] == (1 << 64) - 2


@test
def many_threads():
    with gda.Context("inproc") as ctx:
        a, _ = pair(ctx)
        words, old = array.array("Q", [0]), array.array("Q", [0] * 4)
        there, here = ctx.register(words), ctx.register(old)

        def adds(i):
            for _ in range(50):
                a.wait(a.fetch_add(here.at(8 * i), there.at(), 1), 60)

        threads = [threading.Thread(target=adds, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert words[0] == 200, words


@test
def errors_say_why():
    fails(errno.ENOENT, lambda: gda.Context("no such device"), "gda_open")
    with gda.Context("inproc") as ctx:
        fails(errno.EINVAL, lambda: ctx.qp(depth=17), "17")
        a, _ = pair(ctx)
        here, there = ctx.register(bytearray(64)), ctx.register(bytearray(64), 0)
        fails(errno.EIO, lambda: a.wait(a.put(here.at(), there.at(), 8), 60), ": ", ", ")
        fails(errno.ECANCELED, lambda: a.wait(a.nop(), 60))
        c = ctx.qp()
        fails(errno.ETIMEDOUT, lambda: c.wait(c.nop(), 0.01))


@test
def what_is_no_memory():
    with gda.Context("inproc") as ctx:
        raises(TypeError, lambda: ctx.register(b"constant"))
        raises(TypeError, lambda: ctx.register(4096))
        raises(TypeError, lambda: ctx.register(memoryview(bytearray(8))[::2]))
        raises(ValueError, lambda: ctx.register(bytearray(8), gda.ALL, 9))
        raises(ValueError, lambda: ctx.register(bytearray(8)).at(9))
        raises(ValueError, lambda: ctx.qp().connect(b"short"))


@test
def memory_stays_where_it_is():
    with gda.Context("inproc") as ctx:
        buf = bytearray(64)
        mr = ctx.register(buf)
        raises(BufferError, lambda: buf.extend(bytes(4096)))
        mr.deregister()
        mr.deregister()
        buf.extend(bytes(4096))


@test
def closed_is_closed():
    ctx = gda.Context("inproc")
    a, _ = pair(ctx)
    mr = ctx.register(bytearray(8))
    ctx.close()
    ctx.close()
    for fn in (a.nop, lambda: a.address, ctx.qp, lambda: ctx.register(bytearray(8)), mr.__enter__):
        raises(ValueError, fn)


@test
def structures_are_those_of_c():
    sizes = dict(line.split() for line in os.environ["GDA_SIZES"].splitlines())
    mine = {"gda_qp_attr": gda._QpAttr, "gda_address": gda._Address, "gda_error": gda._QueueError}
    assert len(sizes) == len(mine) + 1
    for name, kind in mine.items():
        assert ctypes.sizeof(kind) == int(sizes[name]), name
    assert "%d.%d.%d" % gda.version() == sizes["version"], gda.version()


print(f"1..{len(TESTS)}")
bad = 0
for n, fn in enumerate(TESTS, 1):
    try:
        fn()
        print(f"ok {n} {fn.__name__}", flush=True)
    except Exception:
        bad += 1
        print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()), end="")
        print(f"not ok {n} {fn.__name__}", flush=True)
raise SystemExit(bad > 0)
