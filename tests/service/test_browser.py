"""A person's path in a real browser, from the first visit to deletion; by keyboard alone; on a phone.

With `HOPCAST_PICTURES=DIR`, screenshots for the guide are written there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import Server

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")

PHONE = {"width": 390, "height": 844}
PICTURES = os.environ.get("HOPCAST_PICTURES")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as drivers:
        browser = drivers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, server: Server) -> Iterator[Any]:
    """A page that has signed in; what its console or its scripts complain about fails the test."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    ours = (server.address, "data:", "blob:")
    page.on("request", lambda one: None if one.url.startswith(ours) else complaints.append(one.url))
    page.goto(server.entry)
    yield page
    context.close()
    assert not complaints


def check(page: Any) -> None:
    """No serious finding of axe, and nothing wider than the window."""
    found = axe.Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def picture(page: Any, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"service-{name}.png")


def submitted(page: Any, server: Server, iterations: str = "1", name: str = "") -> None:
    """Submits a run and stays on its page."""
    page.goto(f"{server.address}/new")
    page.get_by_label("--iterations").fill(iterations)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")


def test_from_the_first_visit_to_the_first_report(page: Any, server: Server) -> None:
    """Three clicks: the form, its estimate, the run."""
    begin_s = time.monotonic()
    check(page)
    page.get_by_role("link", name="New run", exact=True).first.click()
    check(page)
    page.get_by_role("button", name="Check and estimate").click()
    page.get_by_role("heading", name="This run will take").wait_for()
    check(page)
    picture(page, "form")
    page.get_by_role("button", name="Run", exact=True).click()
    report = page.frame_locator("iframe.report")
    report.get_by_text("Predicted time").first.wait_for(timeout=60_000)
    assert time.monotonic() < begin_s + 60
    check(page)
    picture(page, "report")


def test_a_run_is_watched_and_stopped(page: Any, server: Server) -> None:
    submitted(page, server, iterations="100000")
    page.get_by_text("% done").wait_for(timeout=60_000)
    page.get_by_role("heading", name="Communication matrix over time, so far").wait_for(timeout=60_000)
    check(page)
    picture(page, "live")
    before = page.locator("progress").get_attribute("value")
    page.locator(f"progress:not([value='{before}'])").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("its report is about what had happened by then").wait_for(timeout=60_000)
    page.frame_locator("iframe.report").get_by_text("A partial result").first.wait_for()


def test_runs_are_found_compared_named_shared_and_deleted(page: Any, server: Server, chromium: Any) -> None:
    for name in ("one", "two"):
        submitted(page, server, name=name)
        page.locator("iframe.report").wait_for(timeout=60_000)
    page.goto(server.address)
    page.get_by_label("Search").fill("two")
    page.wait_for_url("**search=two**")
    assert page.locator("tbody tr").count() == 1
    page.goto(server.address)
    check(page)
    picture(page, "runs")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare").click()
    page.frame_locator("iframe.report").get_by_text("hopcast compare").wait_for()
    check(page)
    page.goto(server.address)
    page.get_by_role("link", name="two").click()
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
    page.wait_for_url(f"{server.address}/")
    assert page.locator("tbody tr").count() == 1
    assert stranger.goto(stranger.url).status == 404
    stranger.close()


def test_errors_stand_at_their_field_and_have_the_focus(page: Any, server: Server) -> None:
    page.goto(f"{server.address}/new")
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


def test_a_file_is_uploaded(page: Any, server: Server, tmp_path: Path) -> None:
    from hopcast import core

    (tmp_path / "mine.toml").write_text(core.platform_text("crossbar", (), False))
    page.goto(f"{server.address}/new")
    page.get_by_label("Upload files").set_input_files(tmp_path / "mine.toml")
    page.get_by_text("mine.toml has come").wait_for()
    assert page.get_by_label("Platform", exact=True).input_value() == "mine.toml"
    page.get_by_label("-n, ranks").fill("4")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("iframe.report").wait_for(timeout=60_000)


def test_a_platform_is_written(page: Any, server: Server) -> None:
    from hopcast import core

    text = core.platform_text("crossbar", (), False)
    page.goto(f"{server.address}/new")
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


def test_by_keyboard_alone(page: Any, server: Server) -> None:
    def go_to(name: str) -> None:
        """Presses Tab until what is focused has this text or label."""
        for _ in range(80):
            page.keyboard.press("Tab")
            text = "document.activeElement.innerText || document.activeElement.labels?.[0]?.innerText || ''"
            if page.evaluate(text).strip() == name:
                return
        raise AssertionError(name)

    page.goto(server.address)
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


def test_on_a_phone(page: Any, server: Server) -> None:
    page.set_viewport_size(PHONE)
    submitted(page, server)
    page.locator("iframe.report").wait_for(timeout=60_000)
    check(page)
    picture(page, "phone")
    for path in ("/", "/new", "/tokens", "/nonsense"):
        page.goto(server.address + path) if path != "/nonsense" else None
        check(page)
