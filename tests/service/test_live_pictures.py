"""Pictures of a run that goes on, of rows that were written by hand."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from hopcast.report.parts import Parts
from hopcast.service import live, live_pictures


def columns(**values: Any) -> list[tuple[str, str, Any]]:
    """Columns as the core hands them out."""

    def packed(numbers: list) -> tuple[str, Any]:
        if isinstance(numbers[0], str):
            return "text", numbers
        if isinstance(numbers[0], float):
            return "f64", struct.pack(f"<{len(numbers)}d", *numbers)
        return "u32", struct.pack(f"<{len(numbers)}I", *numbers)

    return [(name, *packed(numbers)) for name, numbers in values.items()]


def links(begin_s: list[float], end_s: list[float], link: list[int], size: list[int]) -> Any:
    classes = ["up" if one % 2 else "down" for one in link]
    rows = columns(begin_s=begin_s, end_s=end_s, **{"class": classes}, link=link, bytes=size)
    return "links_over_time", rows


def test_periods_of_links_become_equally_long(tmp_path: Path) -> None:
    """Two of 1 µs, one of 2 µs and one of 4 µs: two of 4 µs, with the same bytes."""
    write = Parts(tmp_path)
    write(2e-6, 1, 0, [links([0.0, 1e-6, 0.0], [1e-6, 2e-6, 1e-6], [3, 3, 8], [10, 20, 5])])
    write(8e-6, 2, 0, [links([2e-6, 4e-6], [4e-6, 8e-6], [3, 8], [40, 7])])
    table = live_pictures.load_of_links(tmp_path)["links_over_time"].to_pylist()
    found = {(row["link"], row["class"], round(row["begin_s"] * 1e6)): row["bytes"] for row in table}
    assert found == {(3, "up", 0): 70, (8, "down", 0): 5, (8, "down", 4): 7}
    assert {round((row["end_s"] - row["begin_s"]) * 1e6) for row in table} == {4}


def test_large_networks_have_classes_of_links(tmp_path: Path) -> None:
    none = 2**32 - 1
    Parts(tmp_path)(1e-6, 1, 0, [links([0.0, 0.0], [1e-6, 1e-6], [none, none], [1, 2])])
    picture = next(one for one in live_pictures.draw(tmp_path, 4) if one.title == "Links over time")
    assert "all up" in picture.svg


def progress(at_s: float, domain: int, ranks: list[int], finished: list[int], least_s: list[float]) -> Any:
    count = len(ranks)
    spent = {f"{name}_s": [at_s / 4] * count for name in ("compute", "transfer", "waiting")}
    rows = columns(
        at_s=[at_s] * count,
        domain=[domain] * count,
        rank=ranks,
        ranks=[2] * count,
        finished=finished,
        reached_s=[at_s] * count,
        least_reached_s=least_s,
        **spent,
    )
    return "rank_progress", rows


def test_the_latest_rows_of_each_domain_count(tmp_path: Path) -> None:
    write = Parts(tmp_path)
    write(1.0, 1, 0, [progress(1.0, 0, [0, 2], [0, 0], [0.5, 0.9]), progress(1.0, 1, [4], [0], [0.1])])
    write(2.0, 2, 0, [progress(2.0, 0, [0, 2], [2, 1], [2.0, 1.5]), progress(1.8, 1, [4], [1], [1.75])])
    picture = live_pictures.draw(tmp_path, 6)[0]
    assert picture.title == "Progress of ranks"
    assert picture.finding.startswith("At 2.00 s, 4 of 6 ranks have finished. ")
    assert "one of ranks 2 to 3, whose current call began at 1.50 s" in picture.finding
    assert "ranks 4 to 5 (mean)\ncompute 450.0 ms" in picture.svg


def test_a_drawing_is_made_once_for_all_who_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Parts(tmp_path)
    assert live.pictures(tmp_path, 4) == []
    write(1.0, 1, 0, [progress(1.0, 0, [0, 2], [0, 0], [0.5, 0.9])])
    first = live.pictures(tmp_path, 4)
    assert live.pictures(tmp_path, 4) is first and len(first) == 1
    write(2.0, 2, 0, [progress(2.0, 0, [0, 2], [2, 2], [2.0, 2.0])])
    assert live.pictures(tmp_path, 4)[0].finding.startswith("At 2.00 s, 4 of 4 ranks have finished. Bars")


def test_only_what_has_changed_is_sent() -> None:
    before: dict[str, str] = {}
    assert len(list(live.changed({"state": "1", "pictures": "a"}, before))) == 2
    assert list(live.changed({"state": "2", "pictures": "a"}, before)) == ["event: state\ndata: 2\n\n"]
    assert list(live.changed({"state": "2", "pictures": "a"}, before)) == []
