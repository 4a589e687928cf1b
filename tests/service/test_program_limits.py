"""Programs that leave closed folders, live on while their report is taken, or use too much in an estimate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from programs import over, processes_of, serving, submit
from servers import Unprivileged

from hopcast.errors import InputError
from hopcast.service import process


@pytest.fixture(scope="module")
def server() -> Iterator[Unprivileged]:
    with serving() as started:
        yield started


OUTCOME: dict[str, Any] = {
    "makespan_s": 1.0,
    "ranks": 1,
    "hosts": 1,
    "model": "x",
    "events": 1,
    "wall_s": 1.0,
}
OUTCOME |= {"peak_rss_B": 1, "outcome_hash": "x", "partial": False, "failure": None, "limit": None}
OUTCOME |= {"values": {}}


def forging(lines: str, ended: dict[str, Any]) -> str:
    """A program that leaves a report and its end as it likes."""
    return f"""
import json, os, time
def main(comm):
    folder = os.path.dirname(os.getcwd())
    os.mkdir(folder + "/report")
    open(folder + "/report/report.json", "w").write("{{}}")
    open(folder + "/ended.json", "w").write(json.dumps({ended!r}))
    os.chdir(folder + "/report")
{lines}
    os._exit(0)
"""


@pytest.mark.parametrize("place", ["x", "../report"], ids=["inside", "report"])
def test_a_closed_folder_leaves_no_bytes(place: str, server: Unprivileged, tmp_path: Path) -> None:
    lines = f"    os.mkdir('x')\n    open('x/y', 'wb').write(bytes(30_000_000))\n    os.chmod('{place}', 0)"
    state = over(server, submit(server, tmp_path, forging(lines, {"outcome": OUTCOME}), 1))
    assert state["state"] == "finished" and state["size_B"] < 10_000, state
    folder, expected = server.data / "runs" / state["id"], ["inputs"]
    if place == "x":
        expected = ["inputs", process.REPORT]
        assert [path.name for path in (folder / process.REPORT).iterdir()] == ["report.json"]
    end_s = time.monotonic() + 60  # the rest goes once the state is noted
    while sorted(path.name for path in folder.iterdir()) != expected:
        assert time.monotonic() < end_s
        time.sleep(0.1)


def test_half_a_character_in_an_error(server: Unprivileged, tmp_path: Path) -> None:
    state = over(server, submit(server, tmp_path, forging("    pass", {"error": "a\ud800b"}), 1))
    assert state["state"] == "failed" and state["error"] == "a?b", state


def test_an_estimate_has_the_limits_of_a_run(server: Unprivileged, tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        keep = bytearray(os.urandom(1 << 20)) * 700
        time.sleep(60)
time.sleep(60)
def main(comm): pass
"""
    (tmp_path / "program.py").write_text(code)
    workload = {"kind": "function", "file": "program.py", "name": "main"}
    asked, begin_s = {"platform": "crossbar", "workload": workload, "ranks": 1}, time.monotonic()
    files = {"program.py": tmp_path / "program.py"}
    with server.client.uploaded(files) as uploads, pytest.raises(InputError, match="GiB of memory"):
        server.client.estimate(asked, uploads)
    assert time.monotonic() - begin_s < 18
    assert not processes_of(server) and not list((server.data / "estimates").iterdir())
