"""The timeline in a page: which calls it holds, and that nothing in a name ends its script."""

from __future__ import annotations

import base64
import json

import numpy
import pyarrow

import hopcast
from hopcast.report import Result, timeline_view


def kept(count: int) -> Result:
    """Calls of three ranks in turn, each after the one before, and a message from each to the next rank."""
    numbers = numpy.arange(count)
    calls = {
        "rank": (numbers % 3).astype("uint32"),
        "call": ["</script>" if number % 2 else "MPI_Send" for number in numbers],
        "begin_s": numbers * 1.0,
        "end_s": numbers + 1.0,
        "bytes": numbers.astype("uint64"),
    }
    messages = {
        "source": (numbers % 3).astype("uint32"),
        "destination": ((numbers + 1) % 3).astype("uint32"),
        "bytes": numbers.astype("uint64"),
        "sent_s": numbers[::-1] * 1.0,
        "received_s": numbers[::-1] + 1.0,
    }
    tables = {"call_records": pyarrow.table(calls), "message_records": pyarrow.table(messages)}
    return Result({"ranks": 3}, tables)


def unpacked(text: str, kind: str) -> list:
    return numpy.frombuffer(base64.b64decode(text), kind).tolist()


def test_the_first_calls_are_shown_by_rank_and_time() -> None:
    text = timeline_view.data(kept(30), 12)
    assert text is not None and "</script>" not in text
    given = json.loads(text)
    assert given["kept"] == 30 and set(given["names"]) == {"MPI_Send", "</script>"}
    ranks, begins = unpacked(given["rank"], "<u4"), unpacked(given["begin"], "<f8")
    assert ranks == sorted(ranks) and sorted(begins) == [float(number) for number in range(12)]
    assert all(begin % 3 == rank for rank, begin in zip(ranks, begins, strict=True))
    assert unpacked(given["bytes"], "<f8") == begins
    names = [given["names"][number] for number in unpacked(given["name"], "<u4")]
    assert names == ["</script>" if begin % 2 else "MPI_Send" for begin in begins]
    # Messages up to the end of the last call that is shown, in the order in which they were sent.
    assert unpacked(given["messages"]["received"], "<f8") == [float(number) for number in range(1, 13)]
    assert timeline_view.words(kept(30), 12, "x.json").startswith("The first 12 of 30 kept calls")
    assert timeline_view.words(kept(3), 12, "x.json").startswith("The 3 calls")
    assert timeline_view.data(Result({})) is None


def test_the_page_of_a_report_has_it_where_calls_are_kept(tmp_path) -> None:
    hopcast.run("crossbar", "ring", 4, records=100, out=tmp_path / "with")
    hopcast.run("crossbar", "ring", 4, out=tmp_path / "without")
    page = (tmp_path / "with" / "report.html").read_text()
    assert page.count("<script") == 2 and 'id="timeline-data"' in page and "class Timeline" in page
    assert "data-timeline" not in (tmp_path / "without" / "report.html").read_text()
