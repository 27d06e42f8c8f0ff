# SPDX-License-Identifier: MIT
"""One-sided RDMA posted straight from user space: libgda for Python.

For control and for tests, not for rate: each call goes through ctypes. Only functions that the
library exports are used, so nothing is compiled.

    import gda

    with gda.Context() as ctx:
        a, b = ctx.qp(), ctx.qp()
        a.connect(b.address)
        b.connect(a.address)
        to = bytearray(14)
        here = ctx.register(bytearray(b"hello, remote\\0"), 0)
        there = ctx.register(to, gda.LOCAL_WRITE | gda.REMOTE_WRITE)
        a.wait(a.put(here.at(), there.at(), 14))

Memory is anything with a writable buffer (bytearray, array, memoryview, NumPy), or a pointer and
a length, as of a tensor: ctx.register(t.data_ptr(), access, t.nbytes). What is registered stays
so until deregister(), or until its context is closed.

What fails raises gda.Error, an OSError whose text says what to do.
"""
import ctypes as _c
import os as _os
import time as _time

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 1, 2, 4, 8
ALL = 15
EXCLUSIVE, DEFER, NOWAIT = 1, 2, 4

_SONAME = "libgda.so.2"


class Error(OSError):
    """A call of libgda that failed: errno, and one line of text."""


class _Address(_c.Structure):
    _fields_ = [("bytes", _c.c_uint8 * 32)]


class _QpAttr(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("flags", _c.c_uint32),
                ("sq_depth", _c.c_uint32), ("dialect", _c.c_uint32),
                ("timeout_ns", _c.c_uint64), ("cq", _c.c_void_p), ("recv_cq", _c.c_void_p),
                ("sent_counter", _c.c_void_p), ("recv_counter", _c.c_void_p),
                ("sq", _c.c_void_p), ("dbrec", _c.c_void_p), ("user_index", _c.c_uint32),
                ("rnr_retry", _c.c_uint32), ("min_rnr_timer", _c.c_uint32),
                ("reserved2", _c.c_uint32)]


class _QueueError(_c.Structure):
    _fields_ = [("size", _c.c_uint32), ("syndrome", _c.c_uint32), ("ticket", _c.c_int64),
                ("vendor", _c.c_uint32), ("reserved", _c.c_uint32)]


_P, _U32, _U64, _I64, _INT = _c.c_void_p, _c.c_uint32, _c.c_uint64, _c.c_int64, _c.c_int
_MOVE = (_P, _U64, _U32, _U64, _U32, _U64, _c.c_uint)

# Results and arguments of the functions that are used.
_CALLS = {
    "gda_open": (_INT, _c.c_char_p, _P), "gda_close": (None, _P),
    "gda_context_shutdown": (_INT, _P),
    "gda_qp_create": (_INT, _P, _P, _P), "gda_qp_destroy": (_INT, _P),
    "gda_qp_address": (_INT, _P, _P), "gda_qp_connect": (_INT, _P, _P),
    "gda_qp_view": (_P, _P),
    "gda_mr_reg": (_INT, _P, _P, _c.c_size_t, _U32, _U32, _P), "gda_mr_dereg": (_INT, _P),
    "gda_mr_key": (_U32, _P), "gda_mr_iova": (_U64, _P),
    "gda_put": (_I64, *_MOVE), "gda_get": (_I64, *_MOVE),
    "gda_put_value": (_I64, _P, _U64, _U32, _U64, _c.c_uint),
    "gda_fetch_add": (_I64, _P, _U64, _U32, _U64, _U32, _U64, _c.c_uint),
    "gda_compare_swap": (_I64, _P, _U64, _U32, _U64, _U32, _U64, _U64, _c.c_uint),
    "gda_nop": (_I64, _P, _c.c_uint), "gda_flush": (None, _P),
    "gda_test": (_INT, _P, _I64), "gda_wait": (_INT, _P, _I64, _U64),
    "gda_quiet": (_INT, _P, _U64), "gda_error": (_INT, _P, _P),
    "gda_strerror": (_c.c_char_p, _INT), "gda_last_error": (_c.c_char_p,),
    "gda_syndrome_name": (_c.c_char_p, _U32), "gda_vendor_name": (_c.c_char_p, _U32),
    "gda_version": (_U32,),
}


def _load():
    path = _os.environ.get("GDA_LIBRARY", _SONAME)
    try:
        lib = _c.CDLL(path)
    except OSError as e:
        raise ImportError(f"{e}: install libgda, or set GDA_LIBRARY to the path of {_SONAME}") from e
    for name, (result, *arguments) in _CALLS.items():
        call = getattr(lib, name)
        call.restype, call.argtypes = result, arguments
    return lib


_lib = _load()


def version():
    """The version of the library that runs, as (major, minor, patch)."""
    v = _lib.gda_version()
    return v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff


def _control(err):
    if err < 0:
        raise Error(-err, _lib.gda_last_error().decode() or _lib.gda_strerror(err).decode())
    return err


class Place:
    """Memory as a put names it: an address and a key. Send both to a peer as they are."""

    __slots__ = ("addr", "key")

    def __init__(self, addr, key):
        self.addr, self.key = addr, key

    def __iter__(self):
        return iter((self.addr, self.key))

    def __repr__(self):
        return f"Place({self.addr:#x}, {self.key:#x})"


class _Owned:
    """What a context has made: gone when it is destroyed or its context is closed."""

    _handle = None

    def _live(self):
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is gone")
        return self._handle

    def __enter__(self):
        self._live()
        return self

    def __exit__(self, *_):
        self.close()


class Memory(_Owned):
    """Registered memory."""

    def __init__(self, ctx, memory, access, length):
        # The export of the buffer is kept: a bytearray cannot be resized meanwhile.
        self._keep = None
        addr = memory
        if not isinstance(memory, int):
            view = memoryview(memory)
            if view.readonly:
                raise TypeError("the memory cannot be written to: copy it to a bytearray")
            if not view.contiguous:
                raise TypeError("the memory is not contiguous: copy it")
            if length is not None and not 0 <= length <= view.nbytes:
                raise ValueError(f"length {length} is not within the {view.nbytes} bytes")
            length = view.nbytes if length is None else length
            self._keep = (_c.c_char * view.nbytes).from_buffer(view)
            addr = _c.addressof(self._keep)
        elif length is None:
            raise TypeError("a pointer needs a length")
        handle = _P()
        _control(_lib.gda_mr_reg(ctx._live(), addr, length, access, 0, _c.byref(handle)))
        self._handle, self._ctx, self.length = handle, ctx, length
        self.addr, self.key = _lib.gda_mr_iova(handle), _lib.gda_mr_key(handle)
        ctx._made.append(self)

    def at(self, offset=0):
        """The place @offset bytes into it."""
        if not 0 <= offset <= self.length:
            raise ValueError(f"offset {offset} is not within the {self.length} bytes")
        return Place(self.addr + offset, self.key)

    def deregister(self):
        """Nothing touches the memory after this."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        self._ctx._made.remove(self)
        err = _lib.gda_mr_dereg(handle)
        self._keep = None
        _control(err)

    close = deregister


class Qp(_Owned):
    """A queue pair. Posts return a ticket, which is waited for or tested."""

    def __init__(self, ctx, depth, timeout):
        attr = _QpAttr(size=_c.sizeof(_QpAttr), sq_depth=depth, timeout_ns=int(timeout * 1e9))
        handle = _P()
        _control(_lib.gda_qp_create(ctx._live(), _c.byref(attr), _c.byref(handle)))
        self._handle, self._ctx = handle, ctx
        ctx._made.append(self)
        self._view = _lib.gda_qp_view(handle)

    def _posts(self):
        self._live()
        return self._view

    @property
    def address(self):
        """32 bytes, by which a peer connects to it."""
        addr = _Address()
        _control(_lib.gda_qp_address(self._live(), _c.byref(addr)))
        return bytes(addr.bytes)

    def connect(self, peer):
        """Connect to the QP of the address @peer; it connects to this one, too."""
        _control(_lib.gda_qp_connect(self._live(), _c.byref(_Address.from_buffer_copy(peer))))

    def _checked(self, result):
        if result >= 0:
            return result
        text = _lib.gda_strerror(result).decode()
        why = _QueueError(size=_c.sizeof(_QueueError))
        if _lib.gda_error(self._view, _c.byref(why)) == 1:
            text += ": " + _lib.gda_syndrome_name(why.syndrome).decode()
            text += ", " + _lib.gda_vendor_name(why.vendor).decode()
        raise Error(-result, text)

    def put(self, local, remote, length, flags=0):
        """Write @length bytes from the place @local to the place @remote."""
        return self._checked(_lib.gda_put(self._posts(), *local, *remote, length, flags))

    def get(self, local, remote, length, flags=0):
        """Read @length bytes from the place @remote into the place @local."""
        return self._checked(_lib.gda_get(self._posts(), *local, *remote, length, flags))

    def put_value(self, remote, value, flags=0):
        """Write the 8 bytes of an integer."""
        return self._checked(_lib.gda_put_value(self._posts(), *remote, value, flags))

    def fetch_add(self, local, remote, add, flags=0):
        """Add to 8 bytes at @remote; what they were comes to @local."""
        return self._checked(_lib.gda_fetch_add(self._posts(), *local, *remote, add, flags))

    def compare_swap(self, local, remote, compare, swap, flags=0):
        """Set 8 bytes at @remote to @swap if they are @compare; what they were comes to @local."""
        return self._checked(_lib.gda_compare_swap(self._posts(), *local, *remote, compare, swap,
                                                   flags))

    def nop(self, flags=0):
        """A post that moves nothing."""
        return self._checked(_lib.gda_nop(self._posts(), flags))

    def flush(self):
        """Ring for posts with DEFER."""
        _lib.gda_flush(self._posts())

    def test(self, ticket):
        """Is it done?"""
        return bool(self._checked(_lib.gda_test(self._posts(), ticket)))

    def wait(self, ticket, seconds=None):
        """Wait until it is done, for @seconds at most, or as long as the QP was created with."""
        self._checked(_lib.gda_wait(self._posts(), ticket, _deadline(seconds)))

    def quiet(self, seconds=None):
        """Wait until all that was posted is done."""
        self._checked(_lib.gda_quiet(self._posts(), _deadline(seconds)))

    def destroy(self):
        """Its peer goes into error."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        self._ctx._made.remove(self)
        _control(_lib.gda_qp_destroy(handle))

    close = destroy


def _deadline(seconds):
    return 0 if seconds is None else _time.monotonic_ns() + max(1, int(seconds * 1e9))


class Context(_Owned):
    """An open device: "inproc", "soft0", "ib:DEVICE", "verbs:DEVICE", or what GDA_DEVICE names."""

    def __init__(self, device=None):
        handle = _P()
        self._made = []
        _control(_lib.gda_open(device.encode() if device else None, _c.byref(handle)))
        self._handle = handle

    def qp(self, depth=64, timeout=0):
        """A queue pair of @depth slots; waits end after @timeout seconds (0: the default)."""
        return Qp(self, depth, timeout)

    def register(self, memory, access=ALL, length=None):
        """Register a writable buffer, or a pointer and a length."""
        return Memory(self, memory, access, length)

    def close(self):
        """Destroys what was made of it, the last first."""
        if self._handle is None:
            return
        for made in reversed(list(self._made)):
            try:
                made.close()
            except Error:  # the device is gone, or it was shut down: it is freed all the same
                pass
        handle, self._handle = self._handle, None
        _lib.gda_close(handle)

    def __del__(self):
        self.close()
