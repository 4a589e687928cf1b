"""Pages: the form is that of the options' table, errors stand at their field, nothing of a user is markup."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from conftest import LONG, User, request
from fastapi.testclient import TestClient

import hopcast
from hopcast import core, options
from hopcast.service import form, live

FORM = {"platform": "fat-tree", "workload": "pattern", "pattern": "halo3d", "option.ranks": "16"}
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def test_the_form_has_each_option_of_patterns_and_traces(browser: TestClient) -> None:
    page = browser.get("/new").text
    for name, option in options.table().items():
        is_here = "function" in option.workloads or option.workloads[0] == "trace"
        if name in ("set", "out", "profile_simulator"):
            continue
        assert (f'name="option.{name}"' in page) == is_here, name
        if is_here:
            assert html.escape(option.text, quote=False) in page.replace("&#39;", "'").replace(
                "&#34;", '"'
            ), name
    for registry in ("platforms", "patterns"):
        for entry in core.registry(registry)["entries"]:
            assert f'value="{entry["name"]}"' in page


@pytest.mark.parametrize("pattern", [entry["name"] for entry in core.registry("patterns")["entries"]])
def test_each_pattern_has_its_parameters(browser: TestClient, pattern: str) -> None:
    page = browser.get("/new/parameters", params={"pattern": pattern}).text
    names = re.findall(r'name="argument\.([\w-]+)"', page)
    entry = next(entry for entry in core.registry("patterns")["entries"] if entry["name"] == pattern)
    assert names == [parameter["name"] for parameter in entry["parameters"]]


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"option.ranks": "many"}, "option.ranks", "-n: a whole number from 1 to"),
        ({"option.ranks": "100000000"}, "option.ranks", "100000000 ranks do not fit: 800 hosts"),
        ({"option.ranks": ""}, "option.ranks", "-n: is missing"),
        ({"option.model": "nope"}, "option.model", "unknown network model"),
        ({"option.stop_at": "3"}, "option.stop_at", "has no unit"),
        ({"argument.bytes": "q"}, "argument.bytes", "'q' is not a size"),
        ({"platform": "fatree"}, "platform", "unknown platform 'fatree'"),
        ({"platform_text": "name = 1\nwrong"}, "platform", "platform.toml:2:"),
        ({"set": "link.bandwidth=q"}, "set", "'q' is not a bandwidth"),
        ({"set": "a.b=1\na.b=2"}, "set", "--set a.b is given twice"),
        ({"option.placement": "/etc/passwd"}, "option.placement", "unknown placement"),
    ],
)
def test_errors_stand_at_their_field(browser: TestClient, changes: dict, field: str, words: str) -> None:
    for alone in ({}, {"HX-Request": "true"}):
        page = browser.post("/new/check", data=FORM | changes, headers=alone)
        assert page.status_code == (200 if alone else 422)
        text = html.unescape(page.text)
        error = text.partition('role="alert">')[2].partition("</")[0]
        assert words in error
        before = text.partition('role="alert">')[0]
        assert re.findall(r'<(?:input|select|textarea) id="([\w.]+)"', before)[-1] == field
        assert ("<html" in page.text) != bool(alone)
        for name, value in changes.items():
            if value and "passwd" not in value and name != "option.model":
                assert html.escape(value, quote=False) in page.text


def test_the_form_says_what_a_run_takes_and_queues_it(browser: TestClient, alice: User) -> None:
    page = browser.post("/new/check", data=FORM, headers={"HX-Request": "true"}).text
    estimate = page.partition('id="estimate"')[2]
    assert "<dd>800</dd>" in estimate and "<dd>16</dd>" in estimate
    assert alice.ask("GET", "/runs")["count"] == 0
    answer = browser.post(
        "/runs", data=FORM | {"name": "mine", "option.seed": "5", "set": "link.bandwidth=1 GB/s"}
    )
    assert answer.status_code == 303
    run = answer.headers["location"].rpartition("/")[2]
    state = alice.over(run)
    assert (state["state"], state["name"]) == ("finished", "mine")
    asked = alice.ask("GET", f"/runs/{run}/request")
    assert (asked["seed"], asked["set"]) == (5, {"link.bandwidth": "1 GB/s"})
    assert form.request_of(form.values_of(asked)) == {key: asked[key] for key in asked if key != "version"}
    page = browser.get(f"/runs/{run}").text
    assert f'src="/runs/{run}/report"' in page and "hopcast run fat-tree -n 16" in page


JOBS = {
    "platform": "fat-tree",
    "workload": "jobs",
    "option.ppn": "1",
    "option.ranks": "64",
    "job.0.name": "stencil",
    "job.0.run": "halo3d --bytes 2KiB",
    "job.0.ranks": "8",
    "job.0.hosts": "0-14:2",
    "job.1.run": "ring",
    "job.1.ranks": "4",
    "job.1.start": "0.2 ms",
    "job.1.placement": "random",
}


def test_several_jobs_are_those_of_a_file(browser: TestClient, alice: User, tmp_path: Path) -> None:
    answer = browser.post("/runs", data=JOBS)
    assert answer.status_code == 303, answer.text
    state = alice.over(answer.headers["location"].rpartition("/")[2])
    assert state["state"] == "finished" and state["workload"] == "stencil + ring"
    text = '[[job]]\nname = "stencil"\nrun = "halo3d --bytes 2KiB"\nranks = 8\nhosts = "0-14:2"\n'
    text += '[[job]]\nrun = "ring"\nranks = 4\nstart = "0.2 ms"\nplacement = "random"\n'
    (tmp_path / "jobs.toml").write_text(text)
    here = hopcast.run("fat-tree", tmp_path / "jobs.toml", ppn=1)
    assert state["outcome"]["outcome_hash"] == here.summary["outcome_hash"]
    page = html.unescape(browser.get(f"/new?like={state['id']}").text)
    assert 'value="halo3d --bytes 2KiB"' in page and 'value="0-14:2"' in page and 'value="ring"' in page


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"job.0.run": "", "job.1.run": ""}, "no job says what it runs"),
        ({"job.0.run": "halo3d --bytes"}, "job 1: halo3d: --bytes needs a value"),
        ({"job.0.run": 'halo3d "'}, "job 1: No closing quotation"),
        ({"job.1.ranks": "many"}, "job 2: ranks is a whole number, not 'many'"),
        ({"job.0.name": "a,b"}, "job 1: name is a text without commas"),
        ({"job.1.run": "nothing"}, "nothing"),
        ({"job.1.run": "/etc/passwd"}, "/etc/passwd"),
        ({"job.0.placement": "/etc/passwd"}, "unknown placement"),
        ({"job.0.start": "soon"}, "soon"),
    ],
)
def test_errors_of_jobs_name_the_job(browser: TestClient, changes: dict, words: str) -> None:
    page = html.unescape(browser.post("/new/check", data=JOBS | changes).text)
    assert words in page.partition('role="alert">')[2].partition("</")[0] and "root:" not in page


def test_a_job_is_added_to_the_form(browser: TestClient) -> None:
    for alone in ({}, {"HX-Request": "true"}):
        page = browser.post("/new/job", data=JOBS, headers=alone).text
        assert 'name="job.2.run"' in page and 'name="job.3.run"' not in page
        assert 'value="halo3d --bytes 2KiB"' in page and ("<html" in page) != bool(alone)


def test_nothing_of_a_user_is_markup(browser: TestClient, alice: User) -> None:
    run = browser.post("/runs", data=FORM | {"name": MARKUP, "notes": MARKUP}).headers["location"]
    alice.over(run.rpartition("/")[2])
    browser.post("/tokens", data={"label": MARKUP})
    browser.post(f"{run}/edit", data={"name": MARKUP, "notes": MARKUP, "shared": "yes"})
    bad = {**FORM, **dict.fromkeys(("platform", "set", "argument.bytes", "option.model", "name"), MARKUP)}
    pages = [browser.get(path).text for path in ("/", run, "/tokens", f"/?search={MARKUP}", f"/{MARKUP}")]
    pages += [
        browser.post("/new/check", data=bad).text,
        browser.get("/new/parameters", params={"pattern": MARKUP}).text,
    ]
    pages.append(browser.post("/new/check", data=FORM | {"file": f"{MARKUP}=x"}).text)
    for page in pages:
        assert "<script>alert" not in page and "<img" not in page
    assert MARKUP not in browser.get(run).text and html.escape(MARKUP) in browser.get(run).text.replace(
        "&#34;", "&quot;"
    ).replace("&#39;", "&#x27;")


def test_pages_load_nothing_from_elsewhere(browser: TestClient, alice: User) -> None:
    run = alice.submit(request(4))
    alice.over(run)
    for path in ("/", "/new", "/tokens", f"/runs/{run}", "/nonsense"):
        answer = browser.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', answer.text)
        for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text):
            assert browser.get(address).status_code == 200
        assert "<style" not in answer.text and not re.findall(r"<script>|\son\w+=|\sstyle=", answer.text)
    policy = browser.get(f"/runs/{run}/report").headers["content-security-policy"]
    assert "sandbox" in policy and "allow-same-origin" not in policy and "default-src 'none'" in policy


def test_the_page_of_a_run_follows_it(browser: TestClient, alice: User) -> None:
    run = alice.submit(request(64, {"iterations": "6000"}, messages=1000, matrix_periods=1000, ppn=8))
    page = browser.get(f"/runs/{run}").text
    assert f'sse-connect="/runs/{run}/events"' in page
    text = browser.get(f"/runs/{run}/events").text  # until the run is over
    assert text.endswith("event: over\ndata: over\n\n")
    assert "% done" in text and "left; simulated" in text.replace("\n", " ")
    parts = ("Progress of ranks", "Links over time", "Communication matrix over time", "Message latency")
    for title in (*parts, "Latency of messages over time"):
        assert f"<h2>{title}, so far</h2>" in text, title
    # The pictures come again only when there are new rows.
    assert text.count("event: state") >= text.count("event: pictures") > 0
    assert alice.ask("GET", f"/runs/{run}")["state"] == "finished"
    assert "sse-connect" not in browser.get(f"/runs/{run}").text


def test_each_line_of_an_event_is_data() -> None:
    assert live.event("a", "x\n\ny") == "event: a\ndata: x\ndata: \ndata: y\n\n"


def test_runs_are_stopped_and_deleted_on_their_page(browser: TestClient, alice: User) -> None:
    run = alice.submit(request(64, LONG))
    alice.going(run)
    assert browser.post(f"/runs/{run}/stop").status_code == 303
    assert alice.over(run)["state"] == "stopped"
    assert "what had happened by then" in browser.get(f"/runs/{run}").text
    assert browser.post(f"/runs/{run}/delete").status_code == 303
    assert browser.get(f"/runs/{run}").status_code == 404


def test_a_platform_is_drawn_or_its_error_has_a_line(browser: TestClient) -> None:
    text = core.platform_text("crossbar", (), False)

    def answer(text: str) -> str:
        page = browser.post("/new/platform", data={"platform_text": text})
        assert page.status_code == 200
        return html.unescape(page.text)

    assert "data:image/svg+xml;base64," in answer(text)
    bandwidth = next(line for line in text.splitlines() if line.startswith("bandwidth"))
    number = text[: text.index(bandwidth)].count("\n") + 1
    wrong = answer(text.replace(bandwidth, "bandwidth = 'fast'", 1))
    assert f"platform.toml:{number}:" in wrong and "'fast' is not a bandwidth" in wrong
    assert "platform.toml:2: " in answer("\nname = ")
    assert "platform.toml:2:1: " in answer("name = 'x'\n= 3\n")
    assert "is not among the uploaded files" in answer("[hosts]\nmap = '/etc/passwd'\n")
    assert answer(" ").strip() == ""
    assert "<script" not in answer(text.replace("name = ", "name = '<script>alert(1)</script>' #", 1))


def test_the_editor_knows_each_section(browser: TestClient) -> None:
    sections = browser.get("/new/keys").json()
    assert {"bandwidth", "latency"} <= set(sections["link"])
    assert {"kind", "file"} <= set(sections["topology"])
    assert "table" in sections["compute.kernels"] and "name" in sections[""]
    assert "crossbar" in sections["topology"]["kind"] and "modes" in sections["mpi.functions"]
    assert all(meaning for keys in sections.values() for meaning in keys.values())


def test_each_preset_is_drawn_beside_its_name(browser: TestClient) -> None:
    drawn = {}
    for entry in core.registry("platforms")["entries"]:
        page = browser.get("/new/drawing", params={"platform": entry["name"]})
        assert page.status_code == 200, page.text
        drawn[entry["name"]] = page.text
    pictures = {name: text for name, text in drawn.items() if f'alt="The network of {name}"' in text}
    assert set(pictures) == set(drawn), "all presets can be drawn"
    for other in ("", "nope", MARKUP, "mine.toml"):
        assert browser.get("/new/drawing", params={"platform": other}).text.strip() == ""
    assert 'hx-get="/new/drawing"' in browser.get("/new").text
