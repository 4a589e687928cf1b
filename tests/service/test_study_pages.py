"""Studies: cells in the queue, the same table as on the command line, and what does not get in."""

from __future__ import annotations

import io
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from browsers import PHONE, check, picture
from conftest import User, browser_of
from pyarrow import parquet
from servers import Server

from hopcast import core
from hopcast.experiment import runners
from hopcast.service import studies
from hopcast.service.admission import Refused
from hopcast.service.probes import TooMany
from hopcast.study import conduct, file

STUDY = """platform = "{}"
workload = "halo3d --iterations 1"

[options]
ranks = 8
ppn = 1

[factors]
"--bytes" = ["1 KiB", "64 KiB"]
model = ["flow", "max-rate"]

[responses]
rate = "sent_B / makespan_s"
"""


def over(user: User, study: str, limit_s: float = 120) -> dict[str, Any]:
    """State of a study that is over."""
    end_s = time.monotonic() + limit_s
    while not (state := user.ask("GET", f"/studies/{study}"))["is_over"]:
        assert time.monotonic() < end_s, state
        time.sleep(0.1)
    return state


def refused(user: User, text: str, **files: str) -> str:
    """Words of the refusal of a study."""
    answer = user.ask("POST", "/studies", 422, json={"study": text, "files": files})
    assert answer["field"] in ("study", "files")
    return answer["detail"]


def test_a_study_has_the_table_of_the_command_line(alice: User, bob: User, tmp_path: Path) -> None:
    platform = core.platform_text("crossbar", (), False)
    uploads = {"mine.toml": alice.upload("mine.toml", platform.encode())}
    text = STUDY.format("mine.toml")
    begun = alice.ask("POST", "/studies", 201, json={"study": text, "files": uploads, "name": "mine"})
    state = over(alice, begun["id"])
    assert state["counts"] == {"finished": 4} and state["name"] == "mine"
    assert [cell["settings"]["model"] for cell in state["cells"]] == ["flow", "max-rate"] * 2

    (tmp_path / "mine.toml").write_text(platform)
    (tmp_path / "study.toml").write_text(text)
    study = file.load(tmp_path / "study.toml")
    here = conduct.conduct(study, runners.named("local", runners.Settings(workers=1)), tmp_path / "out")
    packed = zipfile.ZipFile(io.BytesIO(alice.ask("GET", f"/studies/{begun['id']}/archive")))
    names = {name.partition("/")[2] for name in packed.namelist()}
    assert {"study.toml", "study.html", "results.parquet", "mine.toml"} <= names
    assert {"reports/000003/report.html", "reports/000003/report.json"} <= names
    root = packed.namelist()[0].partition("/")[0]
    assert 'href="reports/000003/report.html"' in packed.read(f"{root}/study.html").decode()
    table = parquet.read_table(io.BytesIO(packed.read(f"{root}/results.parquet"))).to_pylist()
    for row, wanted in zip(table, here.rows, strict=True):
        assert {**row, "key": 0} == {**wanted, "key": 0}

    # Cells are runs of their own, which the list of runs leaves out.
    assert alice.ask("GET", "/runs")["count"] == 0 and alice.ask("GET", "/studies")["count"] == 1
    run = state["cells"][0]["run"]
    assert alice.ask("GET", f"/runs/{run}")["name"] == "mine, cell 0"
    bob.ask("GET", f"/studies/{begun['id']}", 404)
    alice.ask("PATCH", f"/studies/{begun['id']}", json={"shared": True})
    assert bob.ask("GET", f"/studies/{begun['id']}")["cells"] == state["cells"]
    assert bob.ask("GET", f"/runs/{run}")["id"] == run
    bob.ask("DELETE", f"/studies/{begun['id']}", 404)
    alice.ask("DELETE", f"/runs/{run}", 204)
    assert alice.ask("GET", f"/studies/{begun['id']}")["counts"] == {"deleted": 1, "finished": 3}
    browser = browser_of(alice)
    assert "its run was deleted" in browser.get(f"/studies/{begun['id']}/report").text
    alice.ask("DELETE", f"/studies/{begun['id']}", 204)
    assert alice.ask("GET", "/studies")["count"] == 0
    assert not list((alice.service.settings.data / "runs").iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("platform = ", "study.toml: "),
        ("x = 1", "unknown key 'x'"),
        (STUDY.format("fatree"), "cell 0 (--bytes=1 KiB, model=flow): fatree: unknown platform"),
        (STUDY.format("/etc/passwd"), "unknown platform"),
        (STUDY.format("fat-tree").replace("halo3d", "/etc/passwd"), "cell 0"),
        (STUDY.format("fat-tree").replace("halo3d", "program.py"), "cell 0"),
        (STUDY.format("fat-tree") + '\n[files]\n"a" = "/etc/passwd"\n', "/etc/passwd"),
        (STUDY.format("fat-tree") + '\n[clusters.a]\nmodel = "/etc/passwd"\nnodes = 1\n', "/etc/passwd"),
        (STUDY.format("fat-tree").replace("ranks = 8", 'ranks = 8\nplacement = "/etc/passwd"'), "placement"),
        (STUDY.format("fat-tree") + '\n[derived]\nx = "9**9**9**9"\n', "study.toml"),
        (STUDY.format("fat-tree") + '\n[derived]\nx = "().__class__.__bases__"\n', "study.toml"),
        (
            STUDY.format("fat-tree").replace('["1 KiB", "64 KiB"]', "{ from = 1, to = 1000 }"),
            "more than 1,000",
        ),
    ],
)
def test_what_does_not_get_in(text: str, words: str, idle: User) -> None:
    said = refused(idle, text)
    assert words in said and "root:" not in said
    assert idle.ask("GET", "/studies")["count"] == 0
    assert not (idle.service.settings.data / "runs").exists()


def test_a_file_of_the_server_is_no_part_of_a_study(idle: User) -> None:
    assert "there is no upload" in refused(idle, STUDY.format("mine.toml"), **{"mine.toml": "x"})


def test_a_study_is_stopped(idle: User) -> None:
    study = idle.ask("POST", "/studies", 201, json={"study": STUDY.format("fat-tree")})["id"]
    assert idle.ask("GET", f"/studies/{study}")["counts"] == {"queued": 4}
    idle.ask("GET", f"/studies/{study}/archive", 409)
    idle.ask("POST", f"/studies/{study}/stop", 202)
    state = idle.ask("GET", f"/studies/{study}")
    assert state["counts"] == {"stopped": 4} and state["is_over"]
    rows = parquet.read_table(io.BytesIO(idle.ask("GET", f"/studies/{study}/table"))).to_pylist()
    assert {row["why"] for row in rows} == {"stopped before it began"}


def test_a_page_that_fails_or_takes_long_holds_up_nobody(idle: User, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"study": STUDY.format("fat-tree")}
    slow, other = (idle.ask("POST", "/studies", 201, json=body)["id"] for _ in range(2))
    tried: list[str] = []

    def task(mode: str, fields: dict[str, Any], *_: Any) -> None:
        tried.append(mode)
        raise Refused("study", "takes too long")

    monkeypatch.setattr(idle.service.pool, "task", task)
    monkeypatch.setattr(studies, "_WAIT_S", 0.1)
    lock = studies._writing.setdefault(slow, threading.Lock())
    with lock:
        assert "being written" in idle.ask("GET", f"/studies/{slow}/table", 503)["detail"]
        assert idle.ask("GET", f"/studies/{other}/table", 422)["detail"] == "takes too long"
    assert idle.ask("GET", f"/studies/{other}/table", 422)["detail"] == "takes too long"
    assert tried == ["study"], "the same failure is not made twice"
    idle.ask("POST", f"/studies/{other}/stop", 202)
    idle.ask("GET", f"/studies/{other}/table", 422)
    monkeypatch.setattr(studies, "_FAILURE_S", 0.0)
    idle.ask("GET", f"/studies/{other}/table", 422)
    assert tried == ["study"] * 3, "it is tried where more cells are over, and after a while"


def test_an_estimate_begins_some_cells(idle: User) -> None:
    text = STUDY.format("fat-tree")
    found = idle.ask("POST", "/studies/estimates", json={"study": text})
    assert (found["cells"], found["tried"], found["is_whole"]) == (4, [0, 1, 2, 3], True)
    assert (found["hosts"], found["ranks"], found["workers"]) == (800, 8, 0)
    assert 0 < found["seconds"] < 60 and found["memory_B"] > 10**6
    assert idle.ask("GET", "/studies")["count"] == 0, "nothing is queued"
    long = text.replace('["1 KiB", "64 KiB"]', '{ from = 1, to = 20, unit = "B" }')
    long = long.replace("--iterations 1", "--iterations 10000000")
    found = idle.ask("POST", "/studies/estimates", json={"study": long})
    assert found["cells"] == 40 and 0 < len(found["tried"]) <= 6 and not found["is_whole"]
    assert found["seconds"] > 40 * 30
    wrong = text.replace("ranks = 8", "ranks = 100_000_000")
    answer = idle.ask("POST", "/studies/estimates", 422, json={"study": wrong})
    assert answer["field"] == "study" and "do not fit" in answer["detail"]
    assert "study.toml: cell " in answer["detail"] and "--bytes=" in answer["detail"]


def test_an_estimate_is_of_the_cells_that_could_be_begun(idle: User, monkeypatch: pytest.MonkeyPatch) -> None:
    estimate, begun = idle.service.pool.estimate, []

    def one(*asked: Any) -> dict[str, Any]:
        if len(begun) == 2:
            raise TooMany("others make estimates")
        begun.append(asked)
        return estimate(*asked)

    monkeypatch.setattr(idle.service.pool, "estimate", one)
    body = {"study": STUDY.format("fat-tree")}
    found = idle.ask("POST", "/studies/estimates", json=body)
    assert len(found["tried"]) == 2 and not found["is_whole"]
    assert "others" in idle.ask("POST", "/studies/estimates", 429, json=body)["detail"]


def test_studies_have_names_and_notes_and_are_found(idle: User, bob: User) -> None:
    text = STUDY.format("fat-tree")
    first, second = (
        idle.ask("POST", "/studies", 201, json={"study": text, "name": name, "notes": notes})
        for name, notes in (("Sizes", "as of Monday"), ("Other", ""))
    )

    def found(*words: str) -> set[str]:
        answer = idle.ask("GET", "/studies", params={"search": " ".join(words)})
        assert answer["count"] == len(answer["studies"])
        return {study["name"] for study in answer["studies"]}

    assert found("size", "MONDAY") == {"Sizes"} and found("halo3d") == {"Sizes", "Other"}
    assert found("tuesday") == set()
    run, named = (second["cells"][number]["run"] for number in (0, 1))
    idle.ask("PATCH", f"/runs/{named}", json={"name": "my favourite"})
    changed = idle.ask("PATCH", f"/studies/{second['id']}", json={"name": "Models", "notes": "Tuesday"})
    assert (changed["name"], changed["notes"], changed["shared"]) == ("Models", "Tuesday", False)
    assert found("tuesday") == {"Models"} and found("other") == set()
    assert idle.ask("GET", f"/runs/{run}")["name"] == "Models, cell 0"
    assert idle.ask("GET", f"/runs/{named}")["name"] == "my favourite"
    assert idle.ask("PATCH", f"/studies/{second['id']}", json={"shared": True})["notes"] == "Tuesday"
    assert bob.ask("GET", f"/runs/{run}")["id"] == run
    for name in ("", "  "):
        idle.ask("PATCH", f"/studies/{second['id']}", 422, json={"name": name})
    idle.ask("PATCH", f"/runs/{run}", json={"shared": False})
    idle.ask("PATCH", f"/studies/{second['id']}", json={"notes": "Wednesday"})
    bob.ask("GET", f"/runs/{run}", 404)
    browser = browser_of(idle)
    assert "as of Monday" in browser.get(f"/studies/{first['id']}").text
    form = {"name": " Form ", "notes": "<b>bold</b>" + 9_990 * "\r\n"}
    assert browser.post(f"/studies/{first['id']}/edit", data=form).status_code == 303
    page = browser.get(f"/studies/{first['id']}").text
    assert "&lt;b&gt;bold" in page and "<b>bold" not in page and "<h1>Form</h1>" in page
    idle.ask("POST", f"/studies/{first['id']}/stop", 202)
    assert "Form" in browser.get(f"/studies/{first['id']}/report").text
    idle.ask("PATCH", f"/studies/{first['id']}", json={"name": "Renamed"})
    assert "Renamed" in browser.get(f"/studies/{first['id']}/report").text
    bob.ask("PATCH", f"/studies/{first['id']}", 404, json={"name": "stolen"})


def test_cells_count_among_the_runs_that_wait(idle: User) -> None:
    object.__setattr__(idle.service.settings.limits, "waiting", 3)
    answer = idle.ask("POST", "/studies", 429, json={"study": STUDY.format("fat-tree")})
    assert "you may have 3 runs" in answer["detail"] and "these are 4 more" in answer["detail"]


def test_a_study_of_a_thousand_cells_is_taken_and_one_of_more_names_the_setting(idle: User) -> None:
    text = STUDY.format("fat-tree").replace('["1 KiB", "64 KiB"]', '{ from = 1, to = 500, unit = "B" }')
    study = idle.ask("POST", "/studies", 201, json={"study": text})
    assert study["counts"] == {"queued": 1000}
    assert "more than 1,000 cells" in (said := refused(idle, text.replace("to = 500", "to = 501")))
    assert "limits.cells of the server's configuration" in said
    object.__setattr__(idle.service.settings.limits, "cells", 3)
    assert "more than 3 cells" in refused(idle, STUDY.format("fat-tree"))


def compare_cells(page: Any, *numbers: int) -> None:
    """Goes from the page of a study to the comparison of these cells."""
    for number in numbers:
        page.get_by_label(f"Choose cell {number}", exact=True).check()
    page.get_by_role("button", name="Compare the chosen cells").press("Enter")
    page.frame_locator("iframe.report").get_by_text("hopcast compare").wait_for()


def test_a_study_in_the_browser(page: Any, shared_server: Server) -> None:
    page.goto(f"{shared_server.address}/studies")
    check(page)
    page.get_by_role("link", name="New study").click()
    area = page.get_by_label("Study file (TOML)")
    area.fill("platform = 3")
    page.get_by_role("button", name="Check and estimate").click()
    page.get_by_role("alert").filter(has_text="study.toml").wait_for()
    check(page)
    area.fill(STUDY.format("fat-tree"))
    page.get_by_label("Name", exact=True).fill("sizes and models")
    page.get_by_role("button", name="Check and estimate").click()
    page.get_by_role("heading", name="This study will take").wait_for()
    page.get_by_text("All cells were begun.").wait_for()
    assert page.locator("#estimate tbody tr").count() == 4
    check(page)
    page.get_by_role("button", name="Run the study").click()
    page.wait_for_url("**/studies/*")
    check(page)
    page.get_by_text("4 finished").wait_for(timeout=60_000)
    report = page.frame_locator("iframe.report")
    report.get_by_text("Shortest predicted time").wait_for(timeout=60_000)
    assert report.locator("svg").count() >= 2
    check(page)
    picture(page, "study")
    page.set_viewport_size(PHONE)
    check(page)
    compare_cells(page, 0, 3)
    page.go_back()
    page.get_by_role("link", name="3", exact=True).click()
    page.get_by_role("heading", name="sizes and models, cell 3").wait_for()
    page.goto(f"{shared_server.address}/studies")
    page.get_by_label("Search").fill("models")
    page.get_by_role("link", name="sizes and models").press("Enter")
    page.get_by_label("Name", exact=True).fill("four cells")
    page.get_by_label("Notes").fill("before the change")
    page.get_by_role("button", name="Save").press("Enter")
    page.get_by_role("heading", name="four cells", exact=True).wait_for()
    check(page)
    page.goto(f"{shared_server.address}/studies?search=no-such-word")
    page.get_by_text("No study meets this.").wait_for()
    page.get_by_label("Search").fill("THE change")
    page.get_by_role("link", name="four cells").press("Enter")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download ZIP").press("Enter")
    assert download.value.suggested_filename.startswith("hopcast-study-")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this study").press("Enter")
    page.wait_for_url(f"{shared_server.address}/studies")
    assert page.get_by_role("link", name="four cells").count() == 0
