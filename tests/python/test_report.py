"""Reports: written whole or not at all, read back as they were, and drawable at every size."""

from __future__ import annotations

import errno
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import made_up
import numpy
import pytest

from hopcast.errors import InputError
from hopcast.outcome import Report
from hopcast.report import Result, read, settings, store, units, write
from hopcast.report.collectives import algorithms
from hopcast.report.compare import DIFFERS, compare
from hopcast.report.html import comparison_page, failures, page
from hopcast.report.pictures import PICTURES, faults, matrix
from hopcast.report.pictures.histogram import Histogram
from hopcast.report.pictures.periods import Periods
from hopcast.report.svg import Axis

RANKS = (1, 2, 64, 1_500, 100_000)


class Checker(HTMLParser):
    """Collects what a page would fetch, and whether its elements nest."""

    VOID = frozenset({"meta", "link", "br", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("ranks", RANKS)
def test_a_page_is_self_contained_and_well_formed(ranks: int) -> None:
    text = page(made_up.result(ranks))
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert all(address.startswith("data:") for address in checker.fetched)
    assert "nan" not in re.findall(r'="(nan|inf|-inf)', text)
    assert len(text) < 1_000_000


@pytest.mark.parametrize("ranks", RANKS)
def test_every_picture_is_drawn_where_there_are_data_and_none_where_there_are_not(ranks: int) -> None:
    result = made_up.result(ranks)
    without = [draw.__module__ for draw in PICTURES if draw(result) is None]
    assert not without, "made_up.py has no data for these"
    bare = Result({**result.summary, "calls": [], "busiest_links": [], "energy": None}, {})
    assert not [draw.__module__ for draw in PICTURES if draw(bare) is not None]


def test_what_failed_is_told() -> None:
    result = made_up.result(4)
    sentence = (
        "3 link failures and 1 router failure: 12 packets lost by it, 12 sent again; "
        "1,234 packets of 56 messages went around; 1 wait until there was a way."
    )
    assert failures(result.summary["faults"]) == sentence
    nothing = result.summary["faults"] | {"links_failed": 0, "routers_failed": 0}
    assert failures(nothing) == "Nothing failed during the run."
    picture = faults.draw(result)
    assert picture is not None
    # Two failures of one cable are on one line; what never returned is down until the end.
    assert picture.svg.count("(0) &lt;-&gt; (1)") == 1
    assert picture.svg.count(units.percent(1.0)) == 2


def test_a_run_that_did_not_end_does_not_claim_that_its_ranks_finished() -> None:
    result = made_up.result(4, failure=made_up.deadlock(4))
    ranks = result.tables["ranks"]
    finish_s = made_up.pyarrow.array([0.0, 0.0, 1.0, 0.0])
    place = ranks.column_names.index("finish_s")
    result.tables["ranks"] = ranks.set_column(place, "finish_s", finish_s)
    assert "1 rank of 4 had finished" in page(result)


def test_names_of_users_cannot_break_the_page() -> None:
    result = made_up.result(4, failure=made_up.deadlock(4), warnings=("<script>alert(1)</script>",))
    result.summary["workload"] = 'a <b> & "c".py'
    result.summary["busiest_links"][0]["from"] = "<i>leaf</i>"
    text = page(result)
    assert "<script>alert" not in text and text.count("<script") == 2, "those of the timeline"
    assert "<i>leaf" not in text
    assert "a &lt;b&gt; &amp;" in text


def test_a_report_reads_back_as_it_was(tmp_path: Path) -> None:
    result = made_up.result(8)
    write(result, tmp_path / "report")
    again = read(tmp_path / "report")
    assert again.summary == result.summary
    assert again.tables.keys() == result.tables.keys()
    assert all(again.tables[name].equals(table) for name, table in result.tables.items())
    assert read(tmp_path / "report" / "report.json").summary == result.summary


def test_the_timeline_has_one_slice_per_record(tmp_path: Path) -> None:
    result = made_up.result(8)
    write(result, tmp_path / "report")
    events = json.loads((tmp_path / "report" / "timeline.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    records = result.tables["call_records"]
    assert len(slices) == records.num_rows
    assert slices[1]["ts"] == pytest.approx(records["begin_s"][1].as_py() * 1e6)
    assert slices[1]["dur"] == pytest.approx(4_000)


def test_a_report_replaces_a_report_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "report"
    write(made_up.result(4), place)
    write(made_up.result(8), place)
    assert read(place).summary["ranks"] == 8
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]

    (place / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        write(made_up.result(4), place)
    assert read(place).summary["ranks"] == 8
    assert (place / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", ["file", "other directory", "unfinished"])
def test_what_is_no_report_is_refused_and_left_alone(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "there"
    if kind == "file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / ("report.html" if kind == "unfinished" else "data.csv")).write_text("mine")
    with pytest.raises(InputError, match="there"):
        write(made_up.result(4), place)
    kept = place if kind == "file" else next(place.iterdir())
    assert kept.read_text() == "mine"


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report"
    write(made_up.result(4), place)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "_write_tables", full)
    with pytest.raises(InputError, match="no space is left on the device; nothing was written"):
        write(made_up.result(8), place)
    assert read(place).summary["ranks"] == 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing", None, "no report here"),
        ("a.json", "{", "not JSON"),
        ("b.json", "{}", "not a hopcast report"),
    ],
)
def test_reading_something_else_says_what_is_wrong(
    tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        read(tmp_path / name)


def test_a_comparison_says_what_changed() -> None:
    a, b = made_up.result(64), made_up.result(64)
    b.summary.update(makespan_s=2 * a.summary["makespan_s"], outcome_hash="another", platform="torus")
    b.summary["time"] = {**a.summary["time"], "waiting_s": a.summary["time"]["waiting_s"] + 64.0}
    comparison = compare([a, b], ["a", "b"])
    assert comparison.verdict_ratio == "2.00 ×"
    assert "waiting: +1.000 s per rank" in comparison.verdict
    first = comparison.groups[0]
    assert first.title == DIFFERS
    assert [(row.name, row.cells) for row in first.rows] == [("platform", ("fat-tree", "torus"))]
    assert "2.00 ×" in comparison_page(comparison)
    assert compare([a, a], ["a", "a"]).verdict == "The outcomes are equal to the bit."


def test_what_differs_in_values_of_the_platform_options_and_inputs_comes_first() -> None:
    sides = [made_up.result(64) for _ in range(5)]
    for number, side in enumerate(sides):
        side.summary["makespan_s"] *= number + 1
        side.summary["outcome_hash"] = str(number)
    made = sides[2].summary["made_by"]
    made["platform"]["toml"] = made["platform"]["toml"].replace("12.5 GB/s", "25 GB/s")
    made["options"]["ppn"] = 2
    made["inputs"][0]["sha256"] = "f" * 64
    comparison = compare(sides, list("vwxyz"))
    assert comparison.letters == ("A", "B", "C", "D", "E")
    rows = {row.name: row.cells for row in comparison.groups[0].rows}
    assert rows == {
        "option --ppn": ("—", "—", "2", "—", "—"),
        "nic.bandwidth": ("12.5 GB/s", "12.5 GB/s", "25 GB/s", "12.5 GB/s", "12.5 GB/s"),
        "platform, content": (
            *["1.21 KiB, sha256 0123456789ab"] * 2,
            f"1.21 KiB, sha256 {'f' * 12}",
            *["1.21 KiB, sha256 0123456789ab"] * 2,
        ),
    }
    time = comparison.groups[1].rows[0]
    assert time.ratios == ("2.00 ×", "3.00 ×", "4.00 ×", "5.00 ×")
    assert comparison.verdict.startswith("From the fastest: A ")
    text = comparison_page(comparison)
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert "25 GB/s" in text


def test_a_page_says_what_made_it() -> None:
    text = page(made_up.result(4))
    assert "What made this" in text
    for said in ("2026-01-02T03:04:05", "nic.latency=1 us", "--set nic.latency", "0123456789abcdef" * 4):
        assert said in text
    assert "latency = &#34;1 us&#34;" in text
    old = made_up.result(4)
    del old.summary["made_by"]
    assert "What made this" not in page(old)


def test_algorithms_of_neighbouring_sizes_are_one_line() -> None:
    lines = algorithms(made_up.result(64).summary["collectives"])
    assert [(line.collective, line.algorithm, line.sizes, line.count) for line in lines] == [
        ("allreduce", "recursive-doubling", "8 B to 1.00 KiB", 1_010),
        ("allreduce", "ring", "1.00 MiB", 5),
        ("bcast", "binomial", "64 B", 1),
    ]


def test_parallel_links_have_names_of_their_own() -> None:
    result = made_up.result(4)
    first, second = result.summary["busiest_links"][:2]
    for number, link in enumerate((first, second), 1):
        link |= {"from": "(0,0,0)", "to": "(1,0,0)", "parallel": number, "parallel_of": 2}
    text = page(result)
    assert "(0,0,0) → (1,0,0), 1 of 2" in text
    assert "(0,0,0) → (1,0,0), 2 of 2" in text


def test_a_run_that_used_no_link_shows_the_memory_of_its_nodes() -> None:
    result = made_up.result(4)
    assert "No message crossed a link" not in page(result)
    result.summary["busiest_links"] = []
    assert "No message crossed a link" in page(result)


def test_a_notebook_shows_a_report() -> None:
    result = made_up.result(4, warnings=("<b>mind</b>",))
    text = Report(result.summary, result.tables)._repr_html_()
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert not checker.fetched
    assert units.seconds(result.summary["makespan_s"]) in text
    assert "&lt;b&gt;mind" in text
    assert "<style" not in text


def test_periods_of_pictures_add_up_however_few_columns_there_are() -> None:
    table = made_up.result(64).tables["class_periods"]
    spans = numpy.asarray(table["end_s"]) - numpy.asarray(table["begin_s"])
    carried = float((numpy.asarray(table["throughput_Bps"]) * spans).sum())
    for columns in (1, 7, 119, 120, 512):
        periods = Periods(table, 0.01, numpy.zeros(table.num_rows, int), columns)
        assert len(periods.edges) == min(columns, 120) + 1
        shown = (periods.mean("throughput_Bps") * numpy.diff(periods.edges)).sum()
        assert shown == pytest.approx(carried)


def test_periods_that_become_one_are_weighted_by_time_and_by_packets() -> None:
    # 4 B/s for one second and nothing for another; one packet waits for 2 s, three wait for 6 s each.
    columns = {"begin_s": [0.0, 1.0], "end_s": [1.0, 2.0], "packets": [1, 3], "links": [2, 2]}
    columns |= {"throughput_Bps": [4.0, 0.0], "waiting_mean_s": [2.0, 6.0], "busy_s": [2.0, 1.0]}
    periods = Periods(made_up.pyarrow.table(columns), 1.0, numpy.zeros(2, int), 1)
    assert periods.mean("throughput_Bps").tolist() == [[2.0]]
    assert periods.by_packet("waiting_mean_s").tolist() == [[5.0]]
    assert periods.share("busy_s").tolist() == [[0.75]]


def test_pages_of_the_widest_machines_stay_small() -> None:
    """As many classes as a torus of nine dimensions has, 64 regions of each, 512 periods of noise."""
    result, draw = made_up.result(4), numpy.random.default_rng(1)
    classes = ["host up", "host down", *(f"{name}{way}" for name in "abcdefghi" for way in "+-")]
    rows = numpy.arange(512 * 64 * len(classes))
    busy = draw.random(rows.size)
    region, begins = rows // 512, rows % 512 * 1e-6
    table = {
        "begin_s": begins,
        "end_s": begins + 1e-6,
        "class": made_up.pyarrow.array(classes).take(region // 64),
        "along": made_up.pyarrow.array(["x"]).take(numpy.zeros(rows.size, int)),
        "first": region % 64,
        "last": region % 64,
        "links": numpy.ones(rows.size, int),
        "channel": numpy.zeros(rows.size, int),
        "bytes": (busy * 1e4).astype(int),
        "packets": numpy.ones(rows.size, int),
        "busy_s": busy * 1e-6,
        "stall_s": (1 - busy) * 1e-6,
    }
    table |= dict.fromkeys(("throughput_Bps", "efficiency", "waiting_mean_s", "occupancy_mean_B"), busy)
    tables = {**result.tables, "region_periods": made_up.pyarrow.table(table)}
    tables["class_periods"] = (
        tables["region_periods"]
        .slice(0, 512 * len(classes))
        .set_column(2, "class", made_up.pyarrow.array(classes).take(rows[: 512 * len(classes)] // 512))
    )
    short = {**result.summary["statistics"], "classes": classes, "period_s": 1e-6, "region_period_s": 1e-6}
    text = page(Result({**result.summary, "statistics": short}, tables))
    assert "Shown are the 16 classes that carry most" in text
    assert len(text) < 4_000_000


def test_matrix_cells_hold_whole_bins_and_every_byte() -> None:
    for ranks in (2, 255, 257, 1_500, 100_000):
        table = made_up.result(ranks).tables["matrix"]
        sent, per_cell = matrix.binned(table, ranks)
        assert per_cell % table["ranks_per_bin"][0].as_py() == 0
        assert len(sent) <= 256
        assert sent.sum() == sum(table["bytes"].to_pylist())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (1.27e-6, "1.270 µs"),
        (4.07e-6, "4.070 µs"),
        (54.47, "54.47 s"),
        (3.2e-10, "320.0 ps"),
        (725, "12 min 05.0 s"),
        (7325, "2 h 02 min 05 s"),
        (0.99999999, "1.000 s"),
        (119.96 * 60, "1 h 59 min 58 s"),
        (659.97, "11 min 00.0 s"),
    ],
)
def test_times_are_written_with_the_unit_that_fits(value: float, text: str) -> None:
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (units.size(65_536), "64.0 KiB"),
        (units.size(12), "12 B"),
        (units.rate(9.375e9, "B/s"), "9.38 GB/s"),
        (units.count(123_336), "123,336"),
        (units.count(2_500_000), "2.50 million"),
        (units.percent(0.0001), "< 0.1 %"),
        (units.ratio(3, 0), "—"),
        (units.ratio(3, 2), "1.50 ×"),
    ],
)
def test_quantities_are_written_for_people(written: str, text: str) -> None:
    assert written == text


def test_quantiles_count_what_took_no_time_and_interpolate_by_ratio() -> None:
    histogram = Histogram.of([(1e-4, 1e-3, 100), (1e-6, 1e-4, 100)])
    assert histogram.quantile(0.25) == pytest.approx(1e-5)
    assert histogram.quantile(0.5) == pytest.approx(1e-4)
    assert histogram.quantile(1.0) == pytest.approx(1e-3)
    with_instant = Histogram.of([(0.0, 0.0, 300), *histogram.bins])
    assert (with_instant.total, with_instant.quantile(0.5)) == (500, 0.0)
    assert with_instant.quantile(0.8) == pytest.approx(1e-4)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_ticks_lie_on_their_axis(logarithmic: bool) -> None:
    draw = numpy.random.default_rng(3)
    for low, factor in zip(10 ** draw.uniform(-12, 3, 200), 10 ** draw.uniform(0.05, 6, 200), strict=True):
        axis = Axis(low, low * factor, 0, 100, logarithmic)
        ticks = axis.ticks(5)
        assert len(ticks) <= 20
        assert all(low * (1 - 1e-6) <= tick <= low * factor * (1 + 1e-6) for tick in ticks)
        assert [axis(tick) for tick in ticks] == sorted(axis(tick) for tick in ticks)


def test_settings_are_written_as_set_takes_them() -> None:
    toml = 'name = "p"\n[[mpi.regimes]]\nname = "a"\n[[mpi.regimes]]\nname = "b"\nlatency = "1 us"\n'
    found = settings.settings({"made_by": {"platform": {"toml": toml}}})
    assert found["mpi.regimes.1.latency"] == "1 us" and found["mpi.regimes.0.name"] == "a"
