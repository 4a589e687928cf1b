"""Commands for a server show how they go on, and leave nothing behind where they fail."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import LONG, request
from servers import HOPCAST, Server
from test_client import command
from test_study_pages import STUDY

from hopcast import progress
from hopcast.errors import InputError
from hopcast.service import client

PIECE = bytes(64 << 10)


class Slow(BaseHTTPRequestHandler):
    """Server whose archive of a run comes in pieces, for four seconds."""

    protocol_version = "HTTP/1.1"
    archive = b""

    def do_GET(self) -> None:
        is_archive = self.path.endswith("/archive")
        state = {"state": "finished", "ended_at": 1.0, "error": None, "progress": None, "ahead": None}
        body = self.archive if is_archive else json.dumps(state).encode()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        step = max(1, len(body) // 8) if is_archive else len(body)
        for begin in range(0, len(body), step):
            piece = body[begin : begin + step]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
            time.sleep(0.5 if is_archive else 0)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_words: Any) -> None:
        """Says nothing."""


@pytest.fixture
def slow() -> Iterator[str]:
    """Address of such a server."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("hopcast-x/report/report.json", "{}")
        archive.writestr("hopcast-x/large", PIECE)
    Slow.archive = file.getvalue()
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def in_a_terminal(*words: str, token: str = "x") -> tuple[int, str, str]:
    """Exit code of a command, its standard output, and what a terminal got as its standard error."""
    here, there = pty.openpty()
    environment = os.environ | {"HOPCAST_TOKEN": token}
    started = subprocess.Popen(
        [*HOPCAST, *words], stdout=subprocess.PIPE, stderr=there, text=True, env=environment
    )
    os.close(there)
    said = bytearray()

    def read() -> None:
        while True:
            try:
                said.extend(piece := os.read(here, 1 << 16))
            except OSError:  # as a terminal ends
                return
            if not piece:
                return

    reading = threading.Thread(target=read)
    reading.start()
    out, _ = started.communicate(timeout=120)
    reading.join()
    os.close(here)
    return started.returncode, out, said.decode()


def test_a_fetch_shows_how_much_has_come(slow: str, tmp_path: Path) -> None:
    code, out, said = in_a_terminal("fetch", f"{slow}/runs/x", "--out", str(tmp_path / "out"))
    assert code == 0 and "Report" in out, said
    assert re.search(r"fetched [\d.]+ KiB, [\d.]+ kB/s", said), said
    assert said.endswith("\r\x1b[2K")  # nothing of it stays
    assert (tmp_path / "out" / "large").read_bytes() == PIECE
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_fetch_that_is_killed_leaves_nothing_that_stays(slow: str, tmp_path: Path) -> None:
    words = [*HOPCAST, "fetch", f"{slow}/runs/x", "--out", str(tmp_path / "out")]
    killed = subprocess.Popen(words, env=os.environ | {"HOPCAST_TOKEN": "x"})
    end_s = time.monotonic() + 60
    while not [one for one in tmp_path.glob(".hopcast-fetch-*/archive.zip") if one.stat().st_size]:
        assert time.monotonic() < end_s
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert not (tmp_path / "out").exists()
    assert subprocess.run(words, env=os.environ | {"HOPCAST_TOKEN": "x"}).returncode == 0
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_an_archive_that_is_damaged_leaves_nothing(slow: str, tmp_path: Path) -> None:
    damaged = bytearray(Slow.archive)
    damaged[damaged.index(PIECE[:1000]) + 500] ^= 1
    Slow.archive = bytes(damaged)
    code, _, said = in_a_terminal("fetch", f"{slow}/runs/x", "--out", str(tmp_path / "out"))
    assert code == 2 and "is no whole archive" in said and "Bad CRC" in said, said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("moved_B", "total_B", "words"),
    [
        (0, 1 << 20, "nothing sent yet, 3.0 s"),
        (1 << 20, 4 << 20, "sent 1.00 MiB of 4.00 MiB, 9.0 s left"),
        (3_000_000, None, "sent 2.86 MiB, 1.00 MB/s"),
        (2 << 20, 1 << 20, "sent 2.00 MiB of 1.00 MiB, 0 s left"),
    ],
)
def test_a_line_about_a_transfer(moved_B: int, total_B: int | None, words: str) -> None:
    assert progress.moved_line("sent", moved_B, total_B, 3.0) == words


def test_uploads_are_told_of_and_go_once_they_were_submitted(
    shared_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "places").write_text("3\n2\n1\n0\n")
    monkeypatch.setattr(client, "_PIECE_B", 3)
    told: list[int] = []

    def transfer(done: str, total_B: int | None) -> Any:
        assert (done, total_B) == ("places: uploaded", 8)
        return nullcontext(told.append)

    sending = client.Client(shared_server.address, shared_server.token, transfer=transfer)
    with sending.uploaded({"places": tmp_path / "places"}) as uploads:
        run = sending.submit(request(4, placement="places"), uploads)["id"]
    assert sum(told) == 8 and {3, 2} <= set(told)
    with pytest.raises(InputError, match="no such upload"):
        sending._json("GET", f"/uploads/{uploads['places']}")
    assert sending.wait(run)["state"] == "finished"


def test_who_waits_sees_the_queue(shared_server: Server) -> None:
    others = [shared_server.client.submit(request(64, LONG), {})["id"] for _ in range(3)]
    ending = threading.Timer(8, lambda: [_stopped(shared_server, run) for run in others])
    ending.start()
    words = ["submit", "--to", shared_server.address, "--wait", "--estimate", "never"]
    try:
        code, _, said = in_a_terminal(*words, "crossbar", "-n", "4", "halo3d", token=shared_server.token)
    finally:
        ending.cancel()
        for run in others:
            _stopped(shared_server, run)
    assert code == 0, said
    assert re.search(r"queued, \d runs? before it", said), said


def _stopped(server: Server, run: str) -> None:
    if server.client.state(run)["ended_at"] is None:
        server.client._json("POST", f"/runs/{run}/stop")


def test_what_a_run_will_take_is_said_before_it_is_submitted(shared_server: Server) -> None:
    to, words = ("submit", "--to", shared_server.address), ("crossbar", "-n", "4", "halo3d")
    before = shared_server.client._json("GET", "/runs")["count"]
    only = command(shared_server, *to, "--estimate", "only", *words).stdout
    assert re.match(r"This run will take: 4 ranks on a platform of \d+ hosts, [\d.]+ MiB of memory, ", only)
    assert shared_server.client._json("GET", "/runs")["count"] == before
    code, out, said = in_a_terminal(*to, *words, token=shared_server.token)
    assert code == 0 and out.startswith(f"{shared_server.address}/runs/"), said
    assert "This run will take: 4 ranks" in said
    quiet = command(shared_server, *to, *words)  # no terminal: a script
    assert not quiet.stderr and quiet.stdout.startswith(f"{shared_server.address}/runs/")
    wrong = command(
        shared_server, *to, "--estimate", "before", "crossbar", "-n", "99999999", "ring", status=2
    )
    assert "do not fit" in wrong.stderr and not wrong.stdout
    both = command(shared_server, *to, "--estimate", "only", "--wait", *words, status=2)
    assert "nothing to --wait for" in both.stderr


def test_what_a_study_will_take_is_said(shared_server: Server, tmp_path: Path) -> None:
    (tmp_path / "sizes.toml").write_text(STUDY.format("crossbar"))
    words = ("submit", "--to", shared_server.address, "--study", str(tmp_path / "sizes.toml"))
    said = command(shared_server, *words, "--estimate", "only").stdout
    assert said.startswith(
        "This study will take, as all cells were begun for it: 4 cells, at most 8 ranks on "
    )
    assert re.search(r" m?s with 2 workers$", said.splitlines()[0]), said
    assert shared_server.client._json("GET", "/studies?search=sizes")["count"] == 0


def test_a_server_without_time_for_an_estimate_takes_the_run(
    shared_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_given: object) -> dict[str, Any]:
        raise client.Busy("the server makes other estimates")

    monkeypatch.setattr(client.Client, "estimate", busy)
    words = ("submit", "--to", shared_server.address, "--estimate")
    done = command(shared_server, *words, "before", "crossbar", "-n", "4", "ring")
    assert "no estimate: the server makes other estimates" in done.stderr and "/runs/" in done.stdout
    only = command(shared_server, *words, "only", "crossbar", "-n", "4", "ring", status=2)
    assert "other estimates" in only.stderr
