"""The timeline in the browser: zoomed, moved, and read call by call, by mouse and by keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest
from browsers import check, picture, submitted
from conftest import User, request
from pyarrow import parquet
from servers import Server

from hopcast.service import timelines

PATHS = ("/timeline", "/timeline/calls")

STATE = """root => {
    const view = document.querySelector(root).timeline;
    return { from: view.from, to: view.to, top: view.top, height: view.height, chosen: view.chosen,
        calls: view.rank.length, rows: view.rows.length, messages: view.messages.sent.length,
        begin: view.begin[view.chosen], rank: view.rank[view.chosen],
        name: view.names[view.name[view.chosen]] };
}"""


def opened(page: Any, server: Server) -> None:
    """A run with records, and its timeline."""
    submitted(page, server, iterations="3", ranks="16", ppn="4", records="100000")
    page.locator("iframe.report").wait_for(timeout=60_000)


def shown(page: Any) -> None:
    """Waits until the calls have come and are drawn."""
    page.locator("[data-legend] span").first.wait_for()


def state(page: Any) -> dict[str, Any]:
    return page.evaluate(STATE, "[data-timeline]")


def test_the_timeline_is_zoomed_moved_and_read(page: Any, shared_server: Server) -> None:
    opened(page, shared_server)
    report = page.frame_locator("iframe.report")
    report.get_by_role("heading", name="Timeline").wait_for()
    report.get_by_role("button", name="Zoom in").click()
    in_report = report.locator("[data-timeline]").evaluate("root => root.timeline.to / root.timeline.last")
    assert abs(in_report - 0.75) < 1e-9
    page.get_by_role("link", name="Timeline").click()
    page.get_by_text("stretches of computing that were kept").wait_for()
    shown(page)
    whole = state(page)
    assert whole["rows"] == 16 and whole["calls"] > 100 and whole["messages"] > 100
    check(page)
    canvas = page.locator("canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] / 2, "y": 20})
    chosen = page.locator("[data-chosen]")
    assert chosen.inner_text().startswith("Rank 0: MPI_")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    zoomed = state(page)
    assert abs((zoomed["to"] - zoomed["from"]) / whole["to"] - 0.8) < 1e-6
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 50, box["y"] + 40)
    page.mouse.up()
    assert state(page)["from"] > zoomed["from"]
    picture(page, "timeline")


def test_the_timeline_by_keyboard_alone(page: Any, shared_server: Server) -> None:
    opened(page, shared_server)
    page.goto(f"{page.url}/timeline")
    shown(page)
    whole = state(page)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('plot')"):
            break
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert abs((state(page)["to"] - state(page)["from"]) * 4 / whole["to"] - 1) < 1e-6
    before = state(page)["from"]
    page.keyboard.press("ArrowRight")
    assert state(page)["from"] > before
    page.keyboard.press("t")
    assert state(page)["height"] >= whole["height"]
    page.keyboard.press("Home")
    assert (state(page)["from"], state(page)["to"]) == (0, whole["to"])
    begins = []
    for _ in range(5):
        page.keyboard.press("n")
        begins.append(state(page)["begin"])
    assert begins == sorted(begins) and len(set(begins)) > 1 and state(page)["rank"] == 0
    page.keyboard.press("p")
    assert state(page)["begin"] == begins[-2]
    page.keyboard.press("PageDown")
    assert state(page)["rank"] == 1 and page.locator("[data-chosen]").inner_text().startswith("Rank 1: ")
    page.get_by_label("Find a call").select_option(label="MPI_Waitall")
    page.get_by_role("button", name="Next").press("Enter")
    assert state(page)["name"] == "MPI_Waitall"


def test_the_timeline_on_a_phone(page: Any, shared_server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, shared_server)
    page.goto(f"{page.url}/timeline")
    shown(page)
    check(page)


def test_the_first_rows_are_read_in_parts(tmp_path: Path) -> None:
    draws = numpy.random.default_rng(1)
    begin, sent = draws.permutation(10_000) / 7, numpy.arange(10_000) / 7
    names = [f"MPI_{number % 3}" for number in range(10_000)]
    table = pyarrow.table({"begin_s": begin, "sent_s": sent, "call": names})
    parquet.write_table(table, tmp_path / "calls.parquet", row_group_size=700)

    class Counted(parquet.ParquetFile):
        groups = 0

        def read_row_group(self, *arguments: Any, **values: Any) -> Any:
            Counted.groups += 1
            return super().read_row_group(*arguments, **values)

    file = Counted(tmp_path / "calls.parquet")
    found = timelines.first_rows(file, "begin_s", 1000)
    assert (
        found.equals(table.filter(pyarrow.array(begin < 1000 / 7)).combine_chunks()) and Counted.groups == 15
    )
    Counted.groups = 0
    assert timelines.first_rows(file, "sent_s", 1000).equals(table.slice(0, 1000))
    assert Counted.groups == 2, "groups that are later are not read"
    received = timelines.first_rows(file, "sent_s", 100, ("begin_s", 10.0))
    assert received["sent_s"].to_pylist() == sorted(sent[begin <= 10.0])[:100]
    assert timelines.first_rows(file, "begin_s", 20_000).num_rows == 10_000


def test_a_timeline_of_too_many_records_is_refused(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run = alice.submit(request(4, records=1000))
    alice.over(run)
    get = {path: alice.http.get(f"/runs/{run}{path}", headers=alice.headers) for path in PATHS}
    assert {answer.status_code for answer in get.values()} == {200}
    assert "calls and stretches of computing that were kept" in get["/timeline"].text
    calls = get["/timeline/calls"].json()
    assert calls["ranks"] == 4 and calls["kept"] > 4 and calls["messages"]["sent"]
    monkeypatch.setattr(timelines, "_MOST_READ", 3)
    for path in PATHS:
        assert alice.http.get(f"/runs/{run}{path}", headers=alice.headers).status_code == 422
