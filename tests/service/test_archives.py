"""Archives that are sent as they are made: they begin at once, and are whole in the end."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import User, request

from hopcast.service import archive
from hopcast.service.archive import Entry


def test_an_archive_begins_before_its_last_file_is_read(tmp_path: Path) -> None:
    content = {"a.parquet": bytes(range(256)) * 10_000, "b.txt": b"text " * 100_000, "empty": b""}
    for name, text in content.items():
        (tmp_path / name).write_bytes(text)
    asked: list[str] = []

    def entries() -> Iterator[Entry]:
        yield "root/first", "first"
        for name in content:
            asked.append(name)
            yield f"root/{name}", tmp_path / name

    pieces = archive._written(entries())
    begin = next(pieces)
    assert begin.startswith(b"PK") and not asked
    begin += next(pieces)
    assert asked == ["a.parquet"] and len(begin) < len(content["a.parquet"])
    packed = zipfile.ZipFile(io.BytesIO(begin + b"".join(pieces)))
    assert packed.testzip() is None and packed.read("root/first") == b"first"
    assert {name: packed.read(f"root/{name}") for name in content} == content
    assert packed.getinfo("root/a.parquet").compress_type == zipfile.ZIP_STORED
    assert packed.getinfo("root/b.txt").compress_size < len(content["b.txt"]) / 10


def test_a_file_that_goes_meanwhile_ends_the_archive_early(idle: User, tmp_path: Path) -> None:
    entries = [("root/first", "first"), ("root/gone", tmp_path / "gone")]
    pieces = archive._written(entries)
    next(pieces)
    with pytest.raises(FileNotFoundError):
        list(pieces)
    run = idle.submit(request(4))
    idle.ask("POST", f"/runs/{run}/stop", 202)
    report = idle.service.settings.run_folder(run) / "report"
    (report / "inside" / "deep").mkdir(parents=True)
    (report / "inside" / "deep" / "file").write_text("x")
    packed = zipfile.ZipFile(io.BytesIO(idle.ask("GET", f"/runs/{run}/archive")))
    root = f"hopcast-{run}"
    assert packed.namelist() == [f"{root}/request.json", f"{root}/report/inside/deep/file"]
    assert not (idle.service.settings.data / "archives").exists()
