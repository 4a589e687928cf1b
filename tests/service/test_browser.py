"""A person's path in a real browser, from the first visit to deletion; by keyboard alone; on a phone.

With `HOPCAST_PICTURES=DIR`, screenshots for the guide are written there.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from browsers import DESK, PHONE, check, picture, submitted
from servers import Server

LIVE = (
    "Progress of ranks",
    "Links over time",
    "Communication matrix over time",
    "Message latency",
    "Latency of messages over time",
)


def test_from_the_first_visit_to_the_first_report(page: Any, shared_server: Server) -> None:
    """Three clicks: the form, its estimate, the run. The time of the checks is not the person's."""
    begin_s, checks_s = time.monotonic(), 0.0

    def checked() -> None:
        nonlocal checks_s
        before_s = time.monotonic()
        check(page)
        checks_s += time.monotonic() - before_s

    page.goto(shared_server.address)
    checked()
    page.get_by_role("link", name="New run", exact=True).first.click()
    page.get_by_alt_text("The network of fat-tree").wait_for(timeout=60_000)
    checked()
    page.get_by_role("button", name="Check and estimate").click()
    page.get_by_role("heading", name="This run will take").wait_for()
    checked()
    picture(page, "form")
    page.get_by_role("button", name="Run", exact=True).click()
    report = page.frame_locator("iframe.report")
    report.get_by_text("Predicted time").first.wait_for(timeout=60_000)
    assert time.monotonic() < begin_s + checks_s + 60
    checked()
    picture(page, "report")


def test_a_run_is_watched_and_stopped(page: Any, shared_server: Server) -> None:
    submitted(page, shared_server, iterations="100000", ppn="8")
    page.get_by_text("% done").wait_for(timeout=60_000)
    for title in LIVE:
        page.get_by_role("heading", name=f"{title}, so far", exact=True).wait_for(timeout=60_000)
    check(page)
    picture(page, "live")
    before = page.locator("progress").get_attribute("value")
    page.locator(f"progress:not([value='{before}'])").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("its report is about what had happened by then").wait_for(timeout=60_000)
    page.frame_locator("iframe.report").get_by_text("A partial result").first.wait_for()


def test_runs_are_found_compared_named_shared_and_deleted(
    page: Any, shared_server: Server, chromium: Any
) -> None:
    for name in ("compared one", "compared two"):
        submitted(page, shared_server, name=name)
        page.locator("iframe.report").wait_for(timeout=60_000)
    page.goto(shared_server.address)
    page.get_by_label("Search").fill("two")
    page.wait_for_url("**search=two**")
    assert page.locator("tbody tr").count() == 1
    page.goto(f"{shared_server.address}/?search=compared")
    check(page)
    picture(page, "runs")
    page.get_by_label("Choose compared one").check()
    page.get_by_label("Search").fill("two")
    page.get_by_text("1 chosen that is not shown").wait_for()
    page.get_by_label("Choose compared two").check()
    check(page)
    page.get_by_role("button", name="Compare").click()
    page.frame_locator("iframe.report").get_by_text("hopcast compare").wait_for()
    check(page)
    page.goto(shared_server.address)
    page.get_by_role("link", name="compared two").click()
    page.get_by_label("Notes").fill("for everybody")
    page.get_by_label("Everybody who has this page's address may read it").check()
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()
    stranger = chromium.new_page()
    stranger.goto(page.url)
    stranger.frame_locator("iframe.report").get_by_text("Predicted time").first.wait_for()
    assert stranger.get_by_text("for everybody").count() == 1 and stranger.get_by_role("button").count() == 0
    with stranger.expect_download() as download:
        stranger.get_by_role("link", name="Download ZIP").click()
    assert download.value.suggested_filename.endswith(".zip")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this run").click()
    page.wait_for_url(f"{shared_server.address}/")
    page.goto(f"{shared_server.address}/?search=compared")
    assert page.locator("tbody tr").count() == 1
    assert stranger.goto(stranger.url).status == 404
    stranger.close()
    page.get_by_label("Choose compared one").check()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete them").click()
    page.wait_for_url(f"{shared_server.address}/")
    page.goto(f"{shared_server.address}/?search=compared")
    page.get_by_text("No run meets this.").wait_for()


def test_errors_stand_at_their_field_and_have_the_focus(page: Any, shared_server: Server) -> None:
    page.goto(f"{shared_server.address}/new")
    for label, wrong, words in (
        ("--bytes", "64", "has no unit"),
        ("-n, ranks", "many", "a whole number from 1 to"),
        ("Platform", "fatree", "unknown platform"),
    ):
        field = page.get_by_label(label, exact=True)
        before = field.input_value()
        field.fill(wrong)
        page.get_by_role("button", name="Check and estimate").click()
        page.get_by_role("alert").filter(has_text=words).wait_for()
        check(page)
        field = page.get_by_label(label, exact=True)
        assert field.evaluate("field => field === document.activeElement && field.value") == wrong
        described = field.get_attribute("aria-describedby")
        assert words in page.locator(f"[id='{described}']").inner_text()
        field.fill(before)


def test_a_file_is_uploaded(page: Any, shared_server: Server, tmp_path: Path) -> None:
    from hopcast import core

    (tmp_path / "mine.toml").write_text(core.platform_text("crossbar", (), False))
    page.goto(f"{shared_server.address}/new")
    page.get_by_label("Upload files").set_input_files(tmp_path / "mine.toml")
    page.get_by_text("mine.toml has come").wait_for()
    assert page.get_by_label("Platform", exact=True).input_value() == "mine.toml"
    page.get_by_label("-n, ranks").fill("4")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("iframe.report").wait_for(timeout=60_000)


def test_a_platform_is_written(page: Any, shared_server: Server) -> None:
    from hopcast import core

    text = core.platform_text("crossbar", (), False)
    page.goto(f"{shared_server.address}/new")
    page.get_by_text("Write a platform file instead").click()
    area = page.get_by_label("Platform file (TOML)")
    area.fill("[link]\n")
    page.get_by_role("button", name="bandwidth", exact=True).click()
    assert area.input_value() == "[link]\nbandwidth = "
    page.get_by_role("alert").filter(has_text="platform.toml:2").wait_for()
    area.press_sequentially("'fast'")
    page.get_by_role("alert").filter(has_text="'fast' is not a bandwidth").wait_for(timeout=60_000)
    check(page)
    area.fill(text)
    page.get_by_alt_text("The network of this platform").wait_for(timeout=60_000)
    assert page.get_by_alt_text("The network of this platform").evaluate("image => image.naturalWidth") > 0
    check(page)
    page.get_by_label("-n, ranks").fill("4")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("iframe.report").wait_for(timeout=60_000)


def test_several_jobs_are_submitted(page: Any, shared_server: Server) -> None:
    page.goto(f"{shared_server.address}/new")
    page.get_by_label("Several jobs").check()
    page.get_by_label("Workload of job 1").fill("halo3d")
    page.get_by_label("Ranks of job 1", exact=True).fill("8")
    page.get_by_role("button", name="Add a job").click()
    page.get_by_label("Workload of job 3").fill("ring --bytes 1KiB")
    page.get_by_label("Ranks of job 3", exact=True).fill("wrong")
    page.get_by_role("button", name="Check and estimate").click()
    page.get_by_role("alert").filter(has_text="job 3: ranks is a whole number").wait_for()
    check(page)
    page.get_by_label("Ranks of job 3", exact=True).fill("4")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
    page.get_by_role("heading", name="halo3d + ring").wait_for()
    report = page.frame_locator("iframe.report")
    report.get_by_role("heading", name="Jobs").wait_for(timeout=60_000)
    page.set_viewport_size(PHONE)
    page.goto(f"{shared_server.address}/new")
    page.get_by_label("Several jobs").check()
    check(page)


def test_by_keyboard_alone(page: Any, shared_server: Server) -> None:
    def go_to(name: str) -> None:
        """Presses Tab until what is focused has this text or label."""
        for _ in range(80):
            page.keyboard.press("Tab")
            text = "document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText || ''"
            if page.evaluate(text).strip() == name:
                return
        raise AssertionError(name)

    page.goto(shared_server.address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    go_to("New run")
    page.keyboard.press("Enter")
    page.wait_for_url("**/new")
    go_to("--bytes")
    page.keyboard.type("1 KiB")
    go_to("Check and estimate")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="This run will take").wait_for()
    assert page.evaluate("document.activeElement.id") == "estimate"
    go_to("Run")
    page.keyboard.press("Enter")
    page.locator("iframe.report").wait_for(timeout=60_000)
    assert page.get_by_text("halo3d --bytes 1 KiB").count() > 0


def test_on_a_phone(page: Any, shared_server: Server) -> None:
    page.set_viewport_size(PHONE)
    submitted(page, shared_server)
    page.locator("iframe.report").wait_for(timeout=60_000)
    check(page)
    picture(page, "phone")
    for path in ("/", "/new", "/tokens", "/nonsense"):
        page.goto(shared_server.address + path) if path != "/nonsense" else None
        check(page)


def test_what_fails_has_a_page_that_says_why(
    chromium: Any, signed_in: Any, shared_server: Server, tmp_path: Path
) -> None:
    """A run that failed, an address of nothing, one that has counted, and a comparison of nothing."""
    (tmp_path / "damaged.trace").write_bytes(b"\x00" * 5000)
    with shared_server.client.uploaded({"damaged.trace": tmp_path / "damaged.trace"}) as uploads:
        asked = {"platform": "crossbar", "workload": {"kind": "trace", "path": "damaged.trace"}}
        run = shared_server.client.submit(asked, uploads)["id"]
    error = shared_server.client.wait(run)["error"]
    page = chromium.new_page(viewport=DESK, storage_state=signed_in)  # its console tells of each status
    page.goto(f"{shared_server.address}/runs/{run}")
    assert error.splitlines()[0] in page.get_by_role("alert").inner_text()
    check(page)
    for path, status, words in (
        ("/runs/nothing", 404, "there is no such run"),
        ("/nothing", 404, "Not Found"),
        ("/enter?token=used", 401, "this address has been used"),
        (f"/compare?run={run}", 422, "two runs or more"),
        ("/?page=0", 422, "page"),
    ):
        with page.expect_response(shared_server.address + path) as answer:
            page.goto(shared_server.address + path)
        assert answer.value.status == status
        assert words in page.locator("main").inner_text()
        check(page)
    page.close()
