"""The process as a rank of a Python program sees it, and as ranks of compiled programs see it: environment,
working directory, signals, process number, host name, and clocks.

Ranks share the interpreter, so functions of `os`, `signal`, `socket` and `time` are replaced, before any rank
begins, by ones that ask for the running rank's own: those of compiled programs' C library.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping

_NS = 1_000_000_000


def make_own(core: ctypes.PyDLL) -> None:
    """Replaces the functions."""
    functions = _Functions(core)
    functions.put()
    functions.put_identity()
    functions.put_signals()
    functions.put_clocks()
    os.environ._data = Variables(os.environ._data)
    os.environb._data = os.environ._data


class Variables(MutableMapping):
    """The content of `os.environ`: each rank begins with what the process has."""

    def __init__(self, first: dict[bytes, bytes]) -> None:
        self.first = first

    def _own(self) -> dict[bytes, bytes]:
        return sys.modules["__main__"].__dict__.get("__environ__", self.first)

    def _to_change(self) -> dict[bytes, bytes]:
        """The rank's own, which it has from its first change on."""
        names = sys.modules["__main__"].__dict__
        if "__environ__" not in names:
            names["__environ__"] = dict(self.first)
        return names["__environ__"]

    def __getitem__(self, name: bytes) -> bytes:
        return self._own()[name]

    def __setitem__(self, name: bytes, value: bytes) -> None:
        self._to_change()[name] = value

    def __delitem__(self, name: bytes) -> None:
        del self._to_change()[name]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._own())

    def __len__(self) -> int:
        return len(self._own())


class _Functions:
    """Functions of the C library, as the ranks have them."""

    def __init__(self, core: ctypes.PyDLL) -> None:
        core.hopcast_function.argtypes = [ctypes.c_char_p]
        core.hopcast_function.restype = ctypes.c_void_p
        self.core = core

    def _find(self, name: str, *arguments: type) -> Callable[..., int]:
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *arguments, use_errno=True)
        return kind(self.core.hopcast_function(name.encode()))

    def put(self) -> None:
        """Environment and working directory."""
        setenv = self._find("setenv", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int)
        unsetenv = self._find("unsetenv", ctypes.c_char_p)
        chdir = self._find("chdir", ctypes.c_char_p)
        fchdir = self._find("fchdir", ctypes.c_int)

        def put(name, value, /) -> None:
            name, value = os.fsencode(name), os.fsencode(value)
            if b"\0" in name + value:
                raise ValueError("embedded null byte")
            if b"=" in name:
                raise ValueError("illegal environment variable name")
            _check(setenv(name, value, 1))

        def remove(name, /) -> None:
            _check(unsetenv(os.fsencode(name)))

        def change_folder(path) -> None:
            if isinstance(path, int):
                _check(fchdir(path), path)
            else:
                _check(chdir(os.fsencode(path)), path)

        os.putenv, os.unsetenv = put, remove
        os.chdir, os.fchdir = change_folder, change_folder

    def put_identity(self) -> None:
        """Process number and name of the host."""
        number = self._find("getpid")
        get_host_name = self._find("gethostname", ctypes.c_char_p, ctypes.c_size_t)
        real_number, system = os.getpid, os.uname()
        process = real_number()

        def getpid() -> int:
            # A process that a rank forks is what it is.
            return number() if real_number() == process else real_number()

        def gethostname() -> str:
            place = ctypes.create_string_buffer(256)
            _check(get_host_name(place, len(place)))
            return place.value.decode()

        os.getpid, socket.gethostname = getpid, gethostname
        os.uname = lambda: os.uname_result((system[0], gethostname(), *system[2:]))

    def put_signals(self) -> None:
        """Gives each rank its own handlers of signals that it sends to itself; alarms never come."""
        send = self._find("kill", ctypes.c_int, ctypes.c_int)
        first = signal.getsignal

        def handlers() -> dict:
            return sys.modules["__main__"].__dict__.setdefault("__signals__", {})

        def getsignal(number):
            return handlers()[number] if number in handlers() else first(number)

        def put(number, handler):
            before = getsignal(number)
            if not callable(handler) and handler not in (signal.SIG_DFL, signal.SIG_IGN):
                raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
            handlers()[signal.Signals(number)] = handler
            return before

        def kill(process, number, /) -> None:
            handler = getsignal(number) if process == os.getpid() and number else signal.SIG_DFL
            if callable(handler):
                handler(number, sys._getframe(1))
            elif handler != signal.SIG_IGN:
                _check(send(process, number))

        signal.signal, signal.getsignal, os.kill = put, getsignal, kill
        signal.raise_signal = lambda number, /: kill(os.getpid(), number)
        signal.alarm = lambda seconds, /: 0
        signal.setitimer = lambda which, seconds, interval=0.0, /: (0.0, 0.0)

    def put_clocks(self) -> None:
        """Simulated time in place of the machine's; threads that a rank has started see the machine's."""
        time.time_ns = self._clock("_ZNSt6chrono3_V212system_clock3nowEv", time.time_ns)
        time.monotonic_ns = self._clock("_ZNSt6chrono3_V212steady_clock3nowEv", time.monotonic_ns)
        time.perf_counter_ns = time.monotonic_ns
        time.time = _in_seconds(time.time_ns)
        time.monotonic = time.perf_counter = _in_seconds(time.monotonic_ns)
        nanosleep = self._find("nanosleep", ctypes.POINTER(ctypes.c_long * 2), ctypes.c_void_p)
        real_sleep, thread = time.sleep, threading.get_ident()

        def sleep(seconds, /) -> None:
            if threading.get_ident() != thread:
                real_sleep(seconds)
            elif seconds >= 0:
                ns = round(seconds * _NS)
                nanosleep((ctypes.c_long * 2)(ns // _NS, ns % _NS), None)
            else:
                raise ValueError("sleep length must be non-negative")

        time.sleep = sleep

    def _clock(self, name: str, real: Callable[[], int]) -> Callable[[], int]:
        now_ns = ctypes.PYFUNCTYPE(ctypes.c_int64)(self.core.hopcast_function(name.encode()))
        thread, ident = threading.get_ident(), threading.get_ident
        return lambda: now_ns() if ident() == thread else real()


def _in_seconds(clock_ns: Callable[[], int]) -> Callable[[], float]:
    return lambda: clock_ns() / _NS


def _check(result: int, path: object = None) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), *([] if path is None else [path]))
