"""Temporary folders beside those of other runs."""

import fcntl
import os
import tempfile
from pathlib import Path

from hopcast import scratch


def test_a_folder_that_another_run_is_about_to_remove_is_not_used(tmp_path, monkeypatch) -> None:
    """The other run finds the new folder before it is locked, and takes it for abandoned."""
    make, taken = tempfile.mkdtemp, []

    def found(**options) -> str:
        path = make(**options)
        if not taken:
            taken.append((path, os.open(path, os.O_RDONLY)))
            fcntl.flock(taken[0][1], fcntl.LOCK_EX)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", found)
    with scratch.folder(parent=tmp_path) as folder:
        (other, lock), *_ = taken
        Path(other).rmdir()
        os.close(lock)
        assert folder != Path(other)
        (folder / "file").write_text("there")


def test_folders_of_runs_that_are_gone_are_removed(tmp_path) -> None:
    with scratch.folder(parent=tmp_path) as mine:
        abandoned = Path(f"{mine}-of-a-killed-run")
        abandoned.mkdir()
        with scratch.folder(parent=tmp_path) as next_one:
            assert mine.is_dir() and next_one.is_dir() and not abandoned.exists()
    assert not list(tmp_path.iterdir())
