"""Traces in tar archives."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

import hopcast
from hopcast.archive import opened
from hopcast.errors import InputError


def packed(archive: Path, *names: str) -> Path:
    """An archive of files that hold their own names."""
    kind = archive.suffix.removeprefix(".").replace("tar", "")
    source = archive.parent / "source"
    with tarfile.open(archive, f"w:{kind}") as into:
        for name in names:
            file = source / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
            into.add(file, name)
    return archive


@pytest.mark.parametrize("ending", ["tar", "tar.xz", "tar.gz", "tar.bz2"])
@pytest.mark.parametrize("folder", ["", "run/deep/"])
def test_an_archive_is_read_as_the_folder_that_it_holds(tmp_path: Path, ending: str, folder: str) -> None:
    archive = packed(tmp_path / f"a.{ending}", f"{folder}x-0000.bin", f"{folder}x.meta")
    with opened(archive) as place:
        assert sorted(file.name for file in Path(place).iterdir()) == ["x-0000.bin", "x.meta"]
    assert not Path(place).exists()


def test_an_otf2_archive_is_read_where_its_anchor_lies(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tar", "run/scorep.cfg", "run/t.otf2", "run/t.def", "run/t/0.evt")
    with opened(archive) as place:
        assert (Path(place) / "t.otf2").is_file()
        assert (Path(place) / "t" / "0.evt").is_file()


def test_what_is_no_archive_is_read_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "x-0000.bin"
    file.write_bytes(bytes(1000))
    for path in (file, tmp_path, tmp_path / "none"):
        with opened(path) as place:
            assert place == str(path)


def refusal(archive: Path) -> str:
    """Message about an archive, without its own name."""
    with pytest.raises(InputError) as raised, opened(archive):
        pass
    return str(raised.value).removeprefix(f"{archive}: ")


def test_archives_that_hold_no_one_trace_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "none.tar", "w") as into:
        into.add(tmp_path, "empty", recursive=False)
    assert refusal(tmp_path / "none.tar") == "this archive holds folders only"
    two = packed(tmp_path / "two.tar", "one/a", "two/b")
    assert refusal(two) == "this archive holds files in 2 folders (one, two); unpack it and name one"


def test_damage_is_told_of(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tar.xz", *(f"f{number}" for number in range(2000)))
    archive.write_bytes(archive.read_bytes()[:-100])
    assert refusal(archive).startswith("this archive is damaged: ")


def test_errors_about_its_files_name_the_archive(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tar.gz", "run/notes.txt")
    known = "not a trace in a known format; known: dumpi (SST DUMPI, one .bin file per rank), "
    for read in (lambda: hopcast.run("crossbar", archive), lambda: hopcast.recorded_calls(archive)):
        with pytest.raises(InputError) as raised:
            read()
        assert str(raised.value).startswith(f"{archive}/run/notes.txt: {known}")


def test_a_recording_is_replayed_from_its_archive(tmp_path: Path) -> None:
    data = Path(os.environ.get("HOPCAST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    recording = data / "dumpi-sst"
    if not recording.exists():
        pytest.skip(f"no recordings in {data} (set HOPCAST_DATA)")
    archive = tmp_path / "testtrace.tar.xz"
    with tarfile.open(archive, "w:xz") as into:
        for file in recording.glob("testtrace*.bin"):
            into.add(file, file.name)
    report = hopcast.run("crossbar", archive)
    assert report.workload == str(archive)
    assert report.outcome_hash == hopcast.run("crossbar", recording / "testtrace-0000.bin").outcome_hash


def test_a_python_without_filters_unpacks_files_and_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(tarfile, "data_filter", raising=False)  # as before 3.10.12 and 3.11.4
    archive = packed(tmp_path / "a.tar.gz", "run/deep/x-0000.bin", "run/deep/x.meta")
    with opened(archive) as place:
        assert {file.name: file.read_text() for file in Path(place).iterdir()} == {
            "x-0000.bin": "run/deep/x-0000.bin",
            "x.meta": "run/deep/x.meta",
        }
    for name, kind, words in (
        ("../evil", tarfile.REGTYPE, "this archive is damaged: '../evil' leads out of it"),
        ("run/link", tarfile.SYMTYPE, "this archive is damaged: 'run/link' is a link or a device"),
        ("run/pipe", tarfile.FIFOTYPE, "this archive is damaged: 'run/pipe' is a link or a device"),
    ):
        with tarfile.open(tmp_path / "bad.tar", "w") as into:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            into.addfile(entry)
        assert refusal(tmp_path / "bad.tar").startswith(words)
    assert not list(tmp_path.rglob("evil"))
