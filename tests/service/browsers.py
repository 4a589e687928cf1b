"""A real browser: what tests of pages share.

With `HOPCAST_PICTURES=DIR`, screenshots for the guide are written there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1200, "height": 900}
PICTURES = os.environ.get("HOPCAST_PICTURES")


def check(page: Any) -> None:
    """No serious finding of axe, and nothing wider than the window."""
    from playwright.sync_api import Error

    while True:
        try:
            return _check(page)
        except Error as error:
            # The page of what goes on loads itself anew once that is over.
            if "context was destroyed" not in str(error):
                raise
            page.wait_for_load_state()


def _check(page: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert not serious, [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def picture(page: Any, name: str) -> None:
    """Screenshot for the guide."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"service-{name}.png")


@contextmanager
def uncomplaining(chromium: Any, server: Server, **options: Any) -> Iterator[Any]:
    """A page in a context of its own; what its console or its scripts complain about fails the test."""
    context = chromium.new_context(viewport=DESK, **options)
    page = context.new_page()
    complaints: list[str] = []

    def note(message: Any) -> None:
        # htmx tells of a request that ends because its page is left.
        if message.type == "error" and not message.text.startswith(("htmx:sendAbort", "htmx:afterRequest")):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    ours = (server.address, "data:", "blob:")
    page.on("request", lambda one: None if one.url.startswith(ours) else complaints.append(one.url))
    yield page
    context.close()
    assert not complaints, complaints


def submitted(page: Any, server: Server, name: str = "", **fields: str) -> None:
    """Submits a run with these options and arguments of its pattern, and stays on its page."""
    page.goto(f"{server.address}/new")
    for field, value in ({"iterations": "1"} | fields).items():
        box = page.locator(f"[name='option.{field}'], [name='argument.{field}']")
        if not box.is_visible():
            page.locator("details", has=box).locator("summary").click()
        box.fill(value)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/*")
