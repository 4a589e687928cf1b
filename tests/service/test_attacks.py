"""Attacks with what is sent: files that name others, bombs, large and damaged bodies, SQL in every field."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import socket
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from conftest import HOST, User, browser_of, request, user_of
from fastapi.testclient import TestClient
from servers import Server

import hopcast
from hopcast import core
from hopcast.errors import InputError
from hopcast.service import confinement
from hopcast.service.names import name_of
from hopcast.service.settings import Limits, Settings
from hopcast.service.state import Service

Start = Callable[..., tuple[Service, TestClient]]

SECRET = "0 compute 12345678 the-secret-of-the-server\n"
"""A file of the server, which looks like a trace to whoever can read it."""

SQL = (
    "' OR 1=1 --",
    '"; DROP TABLE runs; --',
    "%",
    "_",
    "\\",
    "x') UNION SELECT hash FROM tokens --",
    "\u0000",
    "𝔘",
)

STUDY = 'platform = "crossbar"\nworkload = "barrier"\n[factors]\nranks = [2]\n'

needs_landlock = pytest.mark.skipif(not confinement.landlock_version(), reason="this kernel has no Landlock")


def replay(user: User, name: str, content: bytes, limit_s: float = 150) -> dict:
    """State of a run of an uploaded trace, once it is over."""
    files = {name: user.upload(name, content)}
    asked = {"platform": "crossbar", "workload": {"kind": "trace", "path": name}}
    return user.until(user.submit(asked, files), lambda state: state["ended_at"] is not None, limit_s)


def packed(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    """A tar archive with members of any name and type."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret-of-the-server.txt"
    file.write_text(SECRET)
    return file


def test_outside_of_the_walls_a_list_names_any_file(secret: Path, tmp_path: Path) -> None:
    """Control of the next test: without walls, this attack succeeds."""
    (tmp_path / "list.txt").write_text(f"{secret}\n")
    assert hopcast.run("crossbar", tmp_path / "list.txt").ranks == 1


@needs_landlock
@pytest.mark.parametrize("shape", ["absolute", "relative", "folder", "symlink", "hardlink", "otf2"])
def test_a_trace_cannot_name_files_of_the_server(shape: str, alice: User, secret: Path) -> None:
    good = b"0 compute 1\n"
    far = "../" * 12 + str(secret).lstrip("/")
    content = {
        "absolute": f"{secret}\n".encode(),
        "relative": f"{far}\n".encode(),
        "folder": packed((member("t/list.txt"), f"{secret}\n{secret}\n".encode())),
        "symlink": packed((member("t/a"), good), (member("t/b", tarfile.SYMTYPE, str(secret)), b"")),
        "hardlink": packed((member("t/a"), good), (member("t/b", tarfile.LNKTYPE, str(secret)), b"")),
        "otf2": packed(
            (member("t/a.otf2"), b"OTF2"), (member("t/a", tarfile.SYMTYPE, str(secret.parent)), b"")
        ),
    }[shape]
    state = replay(alice, "trace.txt" if content[:2] != b"\x1f\x8b" else "trace.tar.gz", content)
    assert state["state"] == "failed"
    assert "the-secret" not in str(state) and "12345678" not in str(state)


@pytest.mark.parametrize(
    "name",
    ["../../evil", "/tmp/evil-of-hopcast", "t/../../../evil", "../../../../../report/report.json"],
)
def test_an_archive_writes_nowhere_else(name: str, alice: User, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*evil*"))
    state = replay(alice, "t.tar.gz", packed((member("t/a"), b"0 compute 1\n"), (member(name), b"evil")))
    assert state["state"] in ("failed", "finished")
    assert sorted(tmp_path.rglob("*evil*")) == before and not Path("/tmp/evil-of-hopcast").exists()
    for path in (alice.service.settings.data / "runs").rglob("report.json"):
        assert path.read_bytes() != b"evil"


def test_a_device_in_an_archive_is_refused(alice: User) -> None:
    state = replay(alice, "t.tar", packed((member("t/zero", tarfile.CHRTYPE), b""), mode="w:"))
    assert state["state"] == "failed"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_bomb_is_ended_by_the_limit_of_the_disk(
    pack: Callable[[bytes], bytes], settings: Settings, served: Start
) -> None:
    limits = replace(Limits(), disk_B=16 << 20)
    user = user_of(*served(replace(settings, limits=limits)), "alice")
    bomb = pack(packed((member("t/a"), bytes(64 << 20)), mode="w:"))
    assert len(bomb) < 1 << 20
    peak_B, begin_s = 0, time.monotonic()
    files = {"t.tar.gz": user.upload("t.tar.gz", bomb)}
    run = user.submit({"platform": "crossbar", "workload": {"kind": "trace", "path": "t.tar.gz"}}, files)
    folder = settings.run_folder(run)
    while user.ask("GET", f"/runs/{run}")["ended_at"] is None:
        peak_B = max(peak_B, size_B(folder))
        assert time.monotonic() < begin_s + 150
    state = user.ask("GET", f"/runs/{run}")
    assert state["state"] == "failed" and peak_B < 40 << 20
    assert size_B(folder) < 2 << 20


def size_B(folder: Path) -> int:
    """Bytes of all files in a folder from which files vanish meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def test_a_bomb_of_many_files_is_ended_too(settings: Settings, served: Start) -> None:
    limits = replace(Limits(), disk_B=8 << 20)
    user = user_of(*served(replace(settings, limits=limits)), "alice")
    members = [(member(f"t/{number}"), bytes(1 << 20)) for number in range(40)]
    state = replay(user, "t.tar.gz", packed(*members))
    assert state["state"] == "failed" and "unpacks to more than 8,388,608 bytes" in state["error"]
    assert state["size_B"] < 9 << 20


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 5000, b"\x1f\x8b" + b"\xff" * 3000, b"BZh9" + b"a" * 99, b"PK\x03\x04"]
)
def test_damaged_traces_fail_with_words(content: bytes, alice: User) -> None:
    state = replay(alice, "t.bin", content)
    assert state["state"] == "failed"
    assert state["error"] and "bug" not in state["error"]
    assert str(alice.service.settings.data) not in state["error"]


def test_a_deep_archive_within_an_archive_is_not_unpacked(alice: User) -> None:
    inner = packed((member("t/a"), b"0 compute 1\n"))
    assert replay(alice, "t.tar.gz", packed((member("t/inner.tar.gz"), inner)))["state"] == "failed"


def test_large_bodies_are_refused(alice: User) -> None:
    headers = alice.headers | {"Content-Type": "application/json"}
    large = b"x" * (3 << 20)
    for path in ("/api/v1/runs", "/api/v1/estimates", "/new/check", "/runs", "/leave", "/nonsense"):
        assert alice.http.post(path, content=large, headers=headers).status_code == 413, path
        pieces = (b"x" * 65536 for _ in range(100))
        assert alice.http.post(path, content=pieces, headers=headers).status_code == 413, path
    nested = b'{"request": ' + b"[" * 500_000
    assert alice.http.post("/api/v1/runs", content=nested, headers=headers).status_code in (400, 422)
    deep: dict = {}
    for _ in range(200):
        deep = {"a": deep}
    alice.ask("POST", "/runs", 422, json={"request": {"platform": deep, "workload": deep}})
    many = {f"a{number}": "x" for number in range(2000)}
    alice.ask("POST", "/runs", 422, json={"request": request(4), "files": many})
    fields = "&".join(f"a{number}=1" for number in range(5000))
    form = alice.headers | {"Content-Type": "application/x-www-form-urlencoded"}
    assert alice.http.post("/new/check", content=fields, headers=form).status_code == 400


def test_uploads_have_limits(settings: Settings, served: Start) -> None:
    limits = replace(Limits(), upload_B=1000, uploads_B=1500)
    user = user_of(*served(replace(settings, limits=limits)), "alice")
    user.ask("POST", "/uploads", 429, json={"name": "a", "size_B": 1001})
    upload = user.ask("POST", "/uploads", 201, json={"name": "a", "size_B": 1000})["id"]
    user.ask("POST", "/uploads", 429, json={"name": "b", "size_B": 501})
    user.ask("PATCH", f"/uploads/{upload}", 413, content=bytes(100_000), headers={"Upload-Offset": "0"})
    assert settings.upload_file(upload).stat().st_size <= 1000
    for offset in ("-1", "x", "1", str(2**70)):
        answer = user.http.patch(
            f"/api/v1/uploads/{upload}", content=b"x", headers=user.headers | {"Upload-Offset": offset}
        )
        assert answer.status_code in (409, 422)


def test_a_file_cannot_change_after_its_check(shared_server: Server) -> None:
    """A slow piece is on its way while the file is complete: it must not be submitted, nor be sent twice."""
    server, text = shared_server, core.platform_text("crossbar", (), False).encode()
    upload = server.client._json("POST", "/uploads", {"name": "p.toml", "size_B": len(text)})["id"]
    address = urlsplit(server.address)
    with socket.create_connection((address.hostname, address.port)) as slow:
        head = [
            f"PATCH /api/v1/uploads/{upload} HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {server.token}",
            "Upload-Offset: 0",
            f"Content-Length: {len(text)}",
        ]
        slow.sendall("\r\n".join([*head, "", ""]).encode() + text[:10])
        time.sleep(1)
        again = server.client._asked("PATCH", f"/uploads/{upload}", text, {"Upload-Offset": "0"})
        with pytest.raises(InputError, match="at this moment"), again:
            pass
        body = {"request": request(4, platform="p.toml"), "files": {"p.toml": upload}}
        with pytest.raises(InputError, match="have come so far"):
            server.client._json("POST", "/runs", body)
        slow.sendall(text[10:])
        assert slow.recv(20).startswith(b"HTTP/1.1 200")
    assert server.client.wait(server.client._json("POST", "/runs", body)["id"])["state"] == "finished"


@pytest.mark.parametrize("text", SQL)
def test_sql_in_every_field_is_text(text: str, idle: User) -> None:
    alice, bob, browser = idle, user_of(idle.service, idle.http, "bob"), browser_of(idle)
    mine = alice.submit(request(4), name="mine")
    run = bob.submit(request(4), name=text, notes=text)
    assert bob.ask("GET", f"/runs/{run}")["name"] == name_of(text)
    found = bob.ask("GET", "/runs", params={"search": text})
    assert [one["id"] for one in found["runs"]] in ([run], [])
    assert bob.ask("PATCH", f"/runs/{run}", json={"notes": text})["notes"] == text
    alice.ask("GET", "/runs", 422, params={"state": text})
    alice.ask("GET", "/runs", 422, params={"limit": text})
    study = bob.ask("POST", "/studies", 201, json={"study": STUDY, "name": text, "notes": text})
    assert (study["name"], study["notes"]) == (name_of(text) or "study", text)
    found = bob.ask("GET", "/studies", params={"search": text})
    assert [one["id"] for one in found["studies"]] in ([study["id"]], [])
    assert alice.ask("GET", "/studies", params={"search": text})["count"] == 0
    seen = name_of(text) or "seen"
    assert bob.ask("PATCH", f"/studies/{study['id']}", json={"name": seen})["name"] == seen
    for place in ("/", "/new", "/compare", "/studies", "/api/v1/comparison"):
        values = {"search": text, "state": text, "like": text, "run": text}
        assert browser.get(place, params=values).status_code < 500
    for path in (f"/runs/{quote(text)}", f"/uploads/{quote(text)}"):
        assert alice.http.get(f"/api/v1{path}", headers=alice.headers).status_code in (404, 405)
    assert browser.get("/enter", params={"token": text}).status_code == 401
    assert browser.post("/tokens", data={"label": text}).status_code == 200
    assert browser.post(f"/runs/{mine}/edit", data={"name": text, "notes": text}).status_code == 303
    assert alice.ask("GET", f"/runs/{mine}")["notes"] == text
    assert browser.post("/tokens/1%20OR%201=1/revoke").status_code == 422
    refused = bob.ask("POST", "/runs", 422, json={"request": request(4, placement=text)})
    assert refused["field"] == "placement"


@pytest.mark.parametrize(
    "path", ["../service.sqlite", "..%2fservice.sqlite", "%2e%2e/token", "token", "site.css/../../token"]
)
def test_no_route_serves_other_files(path: str, browser: TestClient) -> None:
    for place in ("/static", "/runs", "/api/v1/runs"):
        for end in ("", "/report", "/archive"):
            answer = browser.get(f"{place}/{path}{end}")
            assert answer.status_code in (404, 307, 405), f"{place}/{path}{end}"


def test_damaged_platform_files_of_the_corpus(idle: User) -> None:
    """A preset with parts taken out or doubled: an error in words, and never the server's own."""
    alice = idle
    text = core.platform_text("crossbar", (), False)
    for step in range(0, len(text), max(1, len(text) // 20)):
        for damaged in (
            text[:step],
            text[:step] + text[step + 9 :],
            text[: step + 5] + text[step:],
            text[:step] + "\x00",
        ):
            body = {"request": request(4, platform={"toml": damaged})}
            answer = alice.http.post("/api/v1/runs", json=body, headers=alice.headers)
            assert answer.status_code in (201, 422)
            if answer.status_code == 201:
                alice.ask("DELETE", f"/runs/{answer.json()['id']}", 204)


def test_nothing_is_open_at_another_name() -> None:
    assert HOST in Settings(Path("x")).hosts
