"""Tables of a run: sorted, filtered, in parts; what is no table tells nothing and ends nothing."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from browsers import PHONE, check, submitted
from conftest import User, browser_of, request
from fastapi.testclient import TestClient
from pyarrow import parquet
from servers import Server

from hopcast.errors import InputError
from hopcast.service import leavings, table_process

ASKED = {"file": "t.parquet", "column": "", "relation": "contains", "value": "", "sort": "", "down": False}
ASKED |= {"offset": 0, "most": 100, "are_texts": True}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a table of five rows."""
    columns = {"rank": [3, 1, 2, 5, 4], "time_s": [0.5, 2.5, None, 1.5, 1e-9], "call": list("BabCa")}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    return tmp_path


def ranks(place: Path, **changes: Any) -> list[str]:
    return [row[0] for row in table_process.shown(ASKED | changes, place)["rows"]]


def test_rows_are_sorted_filtered_and_cut(place: Path) -> None:
    whole = table_process.shown(ASKED, place)
    assert whole["columns"] == ["rank", "time_s", "call"] and whole["count"] == 5
    assert whole["rows"][2] == ["2", "", "b"] and whole["rows"][4] == ["4", "1e-09", "a"]
    assert ranks(place, sort="rank") == ["1", "2", "3", "4", "5"]
    assert ranks(place, sort="time_s", down=True) == ["1", "5", "3", "4", "2"], "no value comes last"
    assert ranks(place, sort="rank", offset=3, most=1) == ["4"]
    assert ranks(place, column="time_s", relation=">", value="0.5") == ["1", "5"]
    assert ranks(place, column="rank", relation="<", value="2.5", sort="rank") == ["1", "2"]
    assert ranks(place, column="rank", relation="=", value="5") == ["5"]
    assert ranks(place, column="call", relation="=", value="a") == ["1", "4"]
    assert ranks(place, column="call", value="B") == ["3", "2"], "in small and large letters"
    found = table_process.shown(ASKED | {"column": "call", "value": "a", "most": 1}, place)
    assert found["count"] == 2 and len(found["rows"]) == 1


def test_scripts_have_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"a": [1, None], "b": [0.1 + 0.2, math.nan], "c": [True, False], "d": ["x" * 300, ""]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = table_process.shown(ASKED | {"are_texts": False}, tmp_path)
    assert found["rows"] == [[1, 0.1 + 0.2, True, "x" * 200], [None, None, False, ""]]
    monkeypatch.setattr(leavings, "ANSWER_B", 200)
    with pytest.raises(InputError, match="2 rows are too large for one answer; ask for fewer"):
        table_process.shown(ASKED, tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sort": "size"}, "size: is no column of this table; known: rank, time_s, call"),
        ({"column": "size"}, "size: is no column"),
        ({"column": "rank", "relation": ">", "value": "many"}, "'many': is no number"),
        ({"column": "call", "relation": "<", "value": "a"}, "holds texts"),
    ],
)
def test_what_cannot_be_asked_is_named(changes: dict[str, Any], words: str, place: Path) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        table_process.shown(ASKED | changes, place)


def test_a_run_has_its_tables(alice: User, bob: User) -> None:
    run = alice.submit(request(16, {"iterations": "3"}, messages=300))
    alice.over(run)
    browser = browser_of(alice)
    first = browser.get(f"/runs/{run}/tables")
    assert first.status_code == 303 and f'href="/runs/{run}/tables"' in browser.get(f"/runs/{run}").text
    assert 'aria-current="page"' in browser.get(first.headers["location"]).text

    def table(name: str, status: int = 200, **asked: str) -> str:
        answer = browser.get(f"/runs/{run}/tables/{name}", params=asked)
        assert answer.status_code == status, answer.text
        return answer.text

    report = alice.service.settings.run_folder(run) / "report"
    rows = parquet.read_table(report / "ranks.parquet").to_pylist()
    page = table("ranks", sort="rank", down="true")
    assert cells(page)[0][0] == "15" and len(cells(page)) == 16 and 'aria-sort="descending"' in page
    assert len(cells(table("ranks", column="rank", relation="<", value="4"))) == 4
    assert set(rows[0]) == set(re.findall(r"<option>(\w+)</option>", page)) - {"contains"}
    long = table("messages")
    number = parquet.read_metadata(report / "messages.parquet").num_rows
    assert 200 < number <= 300, "six neighbours of 16 ranks, three times"
    assert len(cells(long)) == 100 and "page 1 of 3" in long and "page=2" in long
    assert len(cells(table("messages", page="3"))) == number - 200
    assert "is no column" in table("ranks", 422, sort="nope")
    for other in ("nope", "..%2F..%2Fservice", "report", ".parquet"):
        table(other, 404)
    names = alice.ask("GET", f"/runs/{run}/tables")["tables"]
    assert {"ranks", "messages"} <= set(names)
    asked = {"column": "rank", "relation": "<", "value": "4", "sort": "rank", "down": True, "limit": 2}
    part = alice.ask("GET", f"/runs/{run}/tables/ranks", params=asked)
    assert part["count"] == 4 and part["columns"] == list(rows[0])
    assert part["rows"] == [list(row.values()) for row in rows if row["rank"] in (3, 2)][::-1]
    whole = alice.ask("GET", f"/runs/{run}/tables/messages", params={"limit": 10_000, "offset": 50})
    assert len(whole["rows"]) == number - 50
    alice.ask("GET", f"/runs/{run}/tables/nope", 404)
    alice.ask("GET", f"/runs/{run}/tables/ranks", 422, params={"sort": "nope"})
    bob.ask("GET", f"/runs/{run}/tables/ranks", 404)
    (report / "forged.parquet").write_bytes(b"PAR1" + b"\xff" * 1000 + b"PAR1")
    assert "forged.parquet: cannot be shown" in table("forged", 422)
    (report / "link.parquet").symlink_to(alice.service.settings.data / "service.sqlite")
    table("link", 404)
    stranger = TestClient(alice.http.app, "http://localhost", headers=bob.headers)
    assert stranger.get(f"/runs/{run}/tables/ranks").status_code == 404
    alice.ask("PATCH", f"/runs/{run}", json={"shared": True})
    assert stranger.get(f"/runs/{run}/tables/ranks").status_code == 200


def cells(page: str) -> list[list[str]]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("<tr>")[1:]]


def test_tables_in_the_browser(page: Any, shared_server: Server) -> None:
    submitted(page, shared_server, ranks="16")
    page.get_by_role("link", name="Tables").click(timeout=60_000)
    page.get_by_role("link", name="ranks", exact=True).click()
    check(page)
    page.get_by_role("columnheader", name="rank").get_by_role("link").first.click()
    page.get_by_role("columnheader", name="rank").get_by_role("link").first.click()
    assert page.locator("tbody tr").first.locator("td").first.inner_text() == "15"
    page.get_by_label("Rows whose").select_option("rank")
    page.get_by_label("Relation").select_option("<")
    page.get_by_label("Value").fill("2")
    page.get_by_role("button", name="Filter").press("Enter")
    page.get_by_text("2 rows").wait_for()
    assert page.locator("tbody tr").count() == 2
    page.set_viewport_size(PHONE)
    check(page)
