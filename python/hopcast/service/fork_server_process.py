"""The fork server itself: `python -m hopcast.service.fork_server_process DESCRIPTOR`; see `fork_server`.

It has one thread, ends with its server, whose end of the socket then closes, and takes its copies along.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NoReturn

from hopcast.service import confinement, process, study_process

_REQUEST_B = 1 << 16
_STATUS_B, _PID_B = 4, 8
_MOST_DESCRIPTORS = 1 << 20


def main(descriptor: int) -> None:
    """Answers requests of the server until it is gone."""
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
    process.read_libraries()
    gc.collect()
    gc.freeze()  # what is there stays shared with the copies
    server = socket.socket(fileno=descriptor)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    looked = select.poll()
    looked.register(server, select.POLLIN)
    looked.register(woken, select.POLLIN)
    going: dict[int, int] = {}
    while True:
        for ready, _ in looked.poll():
            if ready == woken:
                os.read(woken, 1024)
                _reap(going)
                continue
            request, descriptors, _, _ = socket.recv_fds(server, _REQUEST_B, 2)
            if not request:
                return
            asked = json.loads(request)
            if asked["statistics"]:
                study_process.read_libraries()
            messages, status = descriptors
            _fork(asked, messages, status, going)


def _reap(going: dict[int, int]) -> None:
    """Tells the codes of the copies that have ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            status = going.pop(ended[0])
            code = os.waitstatus_to_exitcode(ended[1])
            with contextlib.suppress(OSError):  # nobody waits for it any more
                os.write(status, code.to_bytes(_STATUS_B, "little", signed=True))
            os.close(status)


def _fork(request: dict[str, Any], messages: int, status: int, going: dict[int, int]) -> None:
    """Starts a copy, and tells its number, or that of the error."""
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or 1)
    if pid == 0:
        _run(request, messages, parent)
    os.close(messages)
    with contextlib.suppress(OSError):
        os.write(status, pid.to_bytes(_PID_B, "little", signed=True))
    if pid < 0:
        os.close(status)
    else:
        going[pid] = status


def _run(request: dict[str, Any], messages: int, parent: int) -> NoReturn:
    """Does a task in a copy, as a new interpreter would."""
    code = 1
    try:
        confinement.die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if request["group"] is not None:
            Path(request["group"]).write_text("0")
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, own in enumerate((nothing, messages, messages)):
            os.dup2(own, number)
        os.closerange(3, _MOST_DESCRIPTORS)
        os.environ.clear()
        os.environ.update(request["environment"])
        tempfile.tempdir = None
        os.chdir(request["folder"])
        _retitle("hopcast.service.process", request["task"])
        code = process.main(request["task"], parent)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _retitle(*words: str) -> None:
    """Shows in lists of processes what this one runs, where its command line has been."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        begin, end = int(fields[45]), int(fields[46])
        title = "\0".join((sys.executable, "-m", *words, "")).encode()
        if 0 < len(title) < end - begin:
            ctypes.memset(begin, 0, end - begin)
            ctypes.memmove(begin, title, len(title))


if __name__ == "__main__":
    main(int(sys.argv[1]))
