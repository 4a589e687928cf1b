"""Files that a run has left: links, closed folders, odd numbers and masses are not taken."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hopcast.service import leavings

OUTCOME = {"makespan_s": 1.0, "ranks": 1, "hosts": 1, "model": "x", "events": 1, "wall_s": 1.0}
OUTCOME |= {"peak_rss_B": 1, "outcome_hash": "x", "partial": False, "failure": None, "limit": None}
OUTCOME |= {"values": {"a": 1.5, "b": None}}
ESTIMATE = {"hosts": 2, "ranks": 4, "memory_B": 5, "seconds": 0.5, "is_whole": True, "warnings": ["w"]}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of a program that keeps something back."""
    (tmp_path / "secret").write_text("of the server")
    report = tmp_path / "attempt" / "report"
    (report / "inside").mkdir(parents=True)
    (report / "report.json").write_text("{}")
    (report / "inside" / "table").write_text("x" * 1000)
    return report


def names(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def test_plain_files_are_copied(report: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "secret", report / "link")
    os.symlink(tmp_path, report / "inside" / "folder")
    os.mkfifo(report / "pipe")
    (report / "näme").touch()
    place = tmp_path / "report"
    (place / "of an attempt before").mkdir(parents=True)
    with open(report / "inside" / "table", "a") as held:  # by a process that lives still
        assert leavings.take(report, place, 10_000)
        held.write("more")
    assert names(place) == ["inside", "inside/table", "report.json"]
    assert (place / "inside" / "table").read_text() == "x" * 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempt", "report", "secret"]


def test_a_report_that_is_a_link_is_none(report: Path, tmp_path: Path) -> None:
    os.symlink(report, tmp_path / "attempt" / "other")
    assert not leavings.take(tmp_path / "attempt" / "other", tmp_path / "report", 10_000)
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("size_B", "most_B"), [(0, 1001), ((16 << 20) + 1, 1 << 30)], ids=["all files", "report.json"]
)
def test_a_report_that_is_too_large_is_none(size_B: int, most_B: int, report: Path, tmp_path: Path) -> None:
    if size_B:
        os.truncate(report / "report.json", size_B)
    assert not leavings.take(report, tmp_path / "report", most_B)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempt", "secret"]


def test_a_closed_folder_is_left_out_and_can_be_removed(report: Path, tmp_path: Path) -> None:
    closed = report / "inside"
    closed.chmod(0)
    opened = os.open

    def refusing(name: Any, *arguments: Any, **values: Any) -> int:
        """As the kernel does it for all but root."""
        if Path(name).name == "inside":
            raise PermissionError
        return opened(name, *arguments, **values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refusing)
        assert leavings.take(report, tmp_path / "report", 10_000)
    assert names(tmp_path / "report") == ["report.json"]
    leavings.remove(tmp_path / "attempt")
    assert not (tmp_path / "attempt").exists()


def test_how_a_run_ended_has_at_most_a_mebibyte(tmp_path: Path) -> None:
    file = tmp_path / "ended.json"
    file.write_text(json.dumps({"error": "x" * (1 << 20)}))
    assert leavings.read(file, leavings.OUTCOME_B) is None
    assert leavings.read(file) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"values": {str(number): 1 for number in range(1001)}},
        {"values": {"x" * 401: 1}},
        {"values": {"\ud800": 1}},
        {"values": {"x": "\ud800"}},
        {"values": {"x": [1]}},
        {"ranks": 1.5},
        {"hosts": True},
        {"makespan_s": None},
    ],
    ids=str,
)
def test_an_odd_outcome_is_none(change: dict[str, Any]) -> None:
    assert leavings.outcome(OUTCOME) == OUTCOME
    assert leavings.outcome(OUTCOME | change) is None


def test_halves_of_characters_become_question_marks() -> None:
    found = leavings.outcome(OUTCOME | {"failure": "a\ud800b"})
    assert found is not None and found["failure"] == "a?b"
    assert leavings.text("\udfffabc", 3) == "?ab"


@pytest.mark.parametrize(
    "change",
    [{"hosts": 1.5}, {"ranks": True}, {"memory_B": 0.5}, {"seconds": "1"}, {"warnings": [1]}],
    ids=str,
)
def test_an_odd_estimate_is_none(change: dict[str, Any]) -> None:
    assert leavings.estimate(ESTIMATE) == ESTIMATE
    assert leavings.estimate(ESTIMATE | change) is None
