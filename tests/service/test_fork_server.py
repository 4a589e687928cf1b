"""Copies of the fork server: each is a process of its own, which has nothing of the server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import LONG, User, request
from servers import Server

from hopcast.service import fork_server, sandbox, task_process
from hopcast.service.fork_server import Copy, ForkServer

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")


def words_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_bytes().decode().rstrip("\0 ").split("\0")


def until(fits: Callable[[], object]) -> None:
    end_s = time.monotonic() + 60
    while not fits():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def parent(process: int) -> int:
    return int((sandbox.fields_of(process) or [])[1])


def test_a_run_is_a_process_of_its_own_without_files_of_the_server(alice: User) -> None:
    run = alice.submit(request(64, LONG))
    alice.going(run)
    process, folder = alice.process_of(run), alice.service.settings.run_folder(run)
    fields = sandbox.fields_of(process) or []
    assert fields[3] == str(process), "it leads a session"
    started_by = parent(process)
    assert "hopcast.service.fork_server_process" in words_of(started_by) and parent(started_by) == os.getpid()
    assert len(list(Path(f"/proc/{started_by}/task").iterdir())) == 1, "threads would be missing in copies"
    assert words_of(process)[1:] == ["-m", "hopcast.service.process", str(folder / "attempt-1" / "task.json")]
    opened = {os.readlink(place) for place in Path(f"/proc/{process}/fd").iterdir()}
    assert all(name == "/dev/null" or name.startswith(str(folder)) for name in opened), opened
    alice.ask("DELETE", f"/runs/{run}", 204)


def test_a_fork_server_that_is_killed_takes_its_copies_along_and_is_started_again(alice: User) -> None:
    run = alice.submit(request(64, LONG))
    alice.going(run)
    process = alice.process_of(run)
    os.kill(parent(process), signal.SIGKILL)
    state = alice.until(run, lambda state: state["attempts"] == 2 and bool(state["progress"]))
    assert sandbox.fields_of(process) is None or state["state"] == "running"
    until(lambda: not Path(f"/proc/{process}").exists())
    alice.ask("DELETE", f"/runs/{run}", 204)


def test_the_fork_server_ends_with_its_server(server: Server) -> None:
    server.client.wait(server.client.submit(request(4), {})["id"])
    (found,) = sandbox._children(server.process.pid)
    assert "hopcast.service.fork_server_process" in words_of(found)
    server.end(signal.SIGKILL)
    until(lambda: not Path(f"/proc/{found}").exists())


def test_a_copy_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def answer() -> None:
        _, (messages, status), _, _ = socket.recv_fds(other, 1 << 16, 2)
        os.write(status, (-11).to_bytes(8, "little", signed=True))
        os.close(status)
        os.close(messages)

    threading.Thread(target=answer).start()
    one = ForkServer()
    one._asking = ours
    with open(tmp_path / "said", "wb") as file, pytest.raises(BlockingIOError):
        one.start(tmp_path / "task.json", tmp_path, file.fileno(), {})
    ours.close()
    other.close()


def test_codes_of_a_copy_are_those_of_a_process(tmp_path: Path) -> None:
    one = ForkServer()
    environment = task_process.kept_environment()

    def started() -> Copy:
        with open(tmp_path / "said.txt", "wb") as file:
            return one.start(tmp_path / "no task", tmp_path, file.fileno(), environment)

    try:
        assert started().wait(60) == 1 and "No such file" in (tmp_path / "said.txt").read_text()
        os.mkfifo(tmp_path / "no task")  # of which a task waits for the other end
        waits = started()
        assert waits.poll() is None
        with pytest.raises(fork_server.subprocess.TimeoutExpired):
            waits.wait(0.01)
        waits.terminate()
        assert waits.wait(60) == -signal.SIGTERM == waits.poll()
        waits.terminate()
        last = started()
        one.close()
        assert last.wait(60) == -signal.SIGKILL
    finally:
        one.close()


ONE = """
import sys, tempfile
from pathlib import Path
from hopcast.request import RunRequest
from hopcast.service import process
process.read_libraries()
before = set(sys.modules)
asked = RunRequest("crossbar", {"kind": "pattern", "name": "halo3d", "arguments": {}}, {"ranks": 4})
with tempfile.TemporaryDirectory() as place:
    process._run(asked, Path(place))
print(*sorted(set(sys.modules) - before))
"""


def test_a_copy_has_read_all_that_a_run_needs() -> None:
    done = subprocess.run([sys.executable, "-c", ONE], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if not name.startswith("encodings.")] == []
