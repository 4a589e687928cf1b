"""Traces damaged as those of the fuzzers are (`crates/workload/tests/common/damage.rs`), sent to a server."""

from __future__ import annotations

import io
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import User
from python.written_traces import allreduce, receive, send, write
from test_attacks import needs_landlock

from hopcast import core

TEXT = b"".join(b"0 compute 1%d\n0 send 1 %d\n1 recv 0 %d\n" % (size, size, size) for size in range(1, 20))


def sound(folder: Path) -> dict[str, bytes]:
    """Traces without damage, by their names."""
    recording = write(folder / "recording", [[send(1, 64), allreduce()], [receive(0, 0), allreduce()]])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(recording, "recording")
    rank = (recording / "rank-000000.hct").read_bytes()
    return {"text.txt": TEXT, "recording.tar.gz": packed.getvalue(), "rank-000000.hct": rank}


def damaged(content: bytes, drawn: random.Random) -> bytes:
    """A few places of a file truncated, flipped, overwritten, doubled or removed."""
    out = bytearray(content)
    for _ in range(drawn.randint(1, 4)):
        at, length = drawn.randrange(len(out) + 1), drawn.choice((1, 2, 8, 64))
        how = drawn.randrange(5)
        if how == 0:
            del out[at:]
        elif how == 1 and at < len(out):
            out[at] ^= 1 << drawn.randrange(8)
        elif how == 2:
            out[at : at + length] = drawn.choice((b"\x00", b"\xff", b"9")) * length
        elif how == 3:
            out[at:at] = out[at : at + length]
        else:
            del out[at : at + length]
    return bytes(out)


def tries(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Damaged traces, the same each time."""
    drawn = random.Random(19)
    for name, content in sound(folder).items():
        for _ in range(16):
            yield name, damaged(content, drawn)


@needs_landlock
def test_damaged_traces_end_with_words_and_never_with_a_bug(alice: User, tmp_path: Path) -> None:
    runs = []
    for name, content in tries(tmp_path):
        files = {name: alice.upload(name, content)}
        asked = {"platform": "crossbar", "workload": {"kind": "trace", "path": name}}
        runs.append(alice.submit(asked, files))
    states = [alice.over(run) for run in runs]
    assert {state["state"] for state in states} <= {"finished", "failed"}
    failed = [state["error"] for state in states if state["state"] == "failed"]
    assert len(failed) > len(runs) / 4
    for error in failed:
        assert error and "bug" not in error and str(alice.service.settings.data) not in error, error
        assert "killed" not in error and " takes more " not in error, error


@pytest.mark.parametrize("preset", [entry["name"] for entry in core.registry("platforms")["entries"]][::4])
def test_damaged_platforms_are_refused_or_taken(preset: str, idle: User) -> None:
    drawn, text = random.Random(preset), core.platform_text(preset, (), False).encode()
    for _ in range(12):
        platform = {"toml": damaged(text, drawn).decode(errors="replace")}
        workload = {"kind": "pattern", "name": "barrier"}
        body = {"request": {"platform": platform, "workload": workload, "ranks": 2}}
        answer = idle.http.post("/api/v1/runs", json=body, headers=idle.headers)
        assert answer.status_code in (201, 422), answer.text
        drawing = idle.http.post(
            "/api/v1/drawings", json={"platform": platform["toml"]}, headers=idle.headers
        )
        assert drawing.status_code in (200, 422, 429), drawing.text
