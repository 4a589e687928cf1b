"""Runs side by side: in pages and for scripts, as of the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import User, browser_of, request

from hopcast import report
from hopcast.report.compare import compare
from hopcast.service import admission, comparisons, process


def test_runs_are_compared(alice: User, bob: User) -> None:
    sizes = [f"{2**number} KiB" for number in range(10)]
    runs = [alice.submit(request(16, {"bytes": size}), name=f"of {size}") for size in sizes]
    for run in runs:
        alice.over(run)
    browser = browser_of(alice)
    query = "&".join(f"run={run}" for run in runs)
    assert f"of {sizes[-1]}" in browser.get(f"/compare?{query}").text
    page = browser.get(f"/compare/page?{query}")
    assert "bytes" in page.text and "sandbox" in page.headers["content-security-policy"]

    found = alice.ask("GET", "/comparison", params={"run": runs})
    assert found["runs"] == dict(zip("ABCDEFGHIJ", runs, strict=True))
    folders = [alice.service.settings.run_folder(run) / process.REPORT for run in runs]
    here = compare([report.read(folder) for folder in folders], [""] * len(runs))
    assert found["verdict"] == here.verdict and found["title"] == here.title
    rows = [(row["name"], tuple(row["values"])) for group in found["groups"] for row in group["rows"]]
    assert rows == [(row.name, row.cells) for group in here.groups for row in group.rows]
    assert all(len(row["ratios"]) == 9 for row in found["groups"][1]["rows"])

    for route, status in (("/compare", 422), ("/compare/page", 422)):
        assert browser.get(f"{route}?run={runs[0]}").status_code == status
    assert "two runs or more" in alice.ask("GET", "/comparison", 422, params={"run": runs[:1]})["detail"]
    many = [str(number) for number in range(comparisons._MOST + 1)]
    assert "choose 50 at most" in alice.ask("GET", "/comparison", 422, params={"run": many})["detail"]
    bob.ask("GET", "/comparison", 422, params={"run": runs})


@pytest.mark.parametrize(
    "forged",
    [
        {"workload": None},
        {"workload": "\ud800"},
        {"made_by": {"options": {}}},
        {"calls": [{"call": 7, "total_s": 1.0}, {"call": [], "total_s": 1.0}]},
        {"makespan_s": "soon"},
    ],
)
def test_a_forged_report_of_a_program_ends_nothing(
    forged: dict[str, Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [alice.submit(request(4, seed=seed)) for seed in (1, 2)]
    for run in runs:
        alice.over(run)
    file = alice.service.settings.run_folder(runs[1]) / process.REPORT / "report.json"
    content = json.loads(file.read_text()) | forged
    file.write_text(json.dumps({name: value for name, value in content.items() if value is not None}))
    monkeypatch.setattr(admission, "is_program", lambda request: True)
    page = browser_of(alice).get(f"/compare/page?run={runs[0]}&run={runs[1]}")
    assert page.status_code in (200, 422)
    answer = alice.http.get("/api/v1/comparison", params={"run": runs}, headers=alice.headers)
    assert 422 in (page.status_code, answer.status_code), "one of both reads what was forged"
    assert answer.status_code in (200, 422)
    monkeypatch.setattr(comparisons, "_REPORTS_B", 1000)
    assert "too large" in alice.ask("GET", "/comparison", 422, params={"run": runs})["detail"]
