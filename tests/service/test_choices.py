"""Choices in a list, on several of its pages; and uploads, which are listed and deleted."""

from __future__ import annotations

from conftest import User, browser_of, request

from hopcast.service.schema import Run


def listed(user: User, number: int) -> list[str]:
    """Ids of so many runs of a user, which wait, the latest first."""
    owner = user.service.store.user("alice")
    for one in range(number):
        run = Run(id=f"run-{one:03}", owner_id=owner.id, request=request(4), platform="p", workload="w")
        run.created_at = float(one)
        user.service.store.add_run(run)
    return [f"run-{one:03}" for one in reversed(range(number))]


def test_runs_are_chosen_on_several_pages(idle: User) -> None:
    runs, browser = listed(idle, 60), browser_of(idle)
    first = browser.get(f"/?run={runs[0]}&run={runs[55]}").text
    assert f'value="{runs[0]}" aria-label="Choose w" checked>' in first
    assert f'<input type="hidden" name="run" value="{runs[55]}">' in first and "1 chosen that is not" in first
    second = browser.get(f"/?page=2&run={runs[0]}&run={runs[55]}&search=w").text
    assert f'value="{runs[55]}" aria-label="Choose w" checked>' in second
    assert f'<input type="hidden" name="run" value="{runs[0]}">' in second
    assert '<input type="hidden" name="search" value="w">' in second
    none = browser.get(f"/?search=nothing&run={runs[0]}").text
    assert f'<input type="hidden" name="run" value="{runs[0]}">' in none
    odd = browser.get('/?run="><script>').text
    assert "<script>" not in odd.partition("</head>")[2]


def test_chosen_runs_are_deleted_and_no_others(idle: User) -> None:
    runs, browser = listed(idle, 4), browser_of(idle)
    bobs = Run(
        id="of-bob", owner_id=idle.service.store.user("bob").id, request={}, platform="p", workload="w"
    )
    bobs.shared = True
    idle.service.store.add_run(bobs)
    chosen = [*runs[:2], runs[0], "of-bob", "nothing"]
    assert browser.post("/runs/delete", data={"run": chosen}).status_code == 303
    assert [run["id"] for run in idle.ask("GET", "/runs")["runs"]] == runs[2:]
    assert idle.service.store.run("of-bob") is not None
    assert browser.post("/runs/delete", data={"run": ["x"] * 201}).status_code == 422
    assert browser.post("/runs/delete").status_code == 303


def test_uploads_are_listed_and_deleted(idle: User) -> None:
    bob = User(idle.http, idle.service, dict(idle.headers))
    token = idle.service.store.issue(idle.service.store.user("bob"), "api")
    bob.headers["Authorization"] = f"Bearer {token}"
    browser = browser_of(idle)
    assert idle.ask("GET", "/uploads")["uploads"] == [] and "No files." in browser.get("/uploads").text
    first, second = idle.upload("first", b"abc"), idle.upload("second", b"de")
    found = idle.ask("GET", "/uploads")
    assert [one["id"] for one in found["uploads"]] == [second, first]
    assert found["size_B"] == 5 and found["most_B"] == idle.service.settings.limits.uploads_B
    assert bob.ask("GET", "/uploads")["uploads"] == []
    page = browser.get("/uploads").text
    assert "first" in page and "go 7 days after" in page and "5 B of " in page
    assert browser.post(f"/uploads/{first}/delete").status_code == 303
    assert [one["id"] for one in idle.ask("GET", "/uploads")["uploads"]] == [second]
    assert not idle.service.settings.upload_file(first).exists()
