"""Takes the tutorial's pictures: runs the commands of `docs/tutorial.md`, and photographs their report pages.

`python docs/tutorial_pictures.py` writes `docs/pictures/*.png`. It needs playwright (`pip install
playwright`) and a Chromium (Debian's package `chromium`, or `playwright install chromium`). The computing of
the tutorial is measured on the machine at hand, so that pictures that are made anew show other numbers: look
at them, and at what the tutorial says of them.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import outputs
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).resolve().parent / "pictures"
TUTORIAL = Path(__file__).resolve().parent / "tutorial.md"
BYTES_MOST = 150_000
WIDTH, HEIGHT_MOST = 900, 460
"""Size of the window, and the most of a part's height that is shown [CSS pixels]."""

SHOTS = {
    "report-answer": "section.answer",
    "report-limit": "section.answer + section",
    "report-causes": ".figure:has(h2:text-is('Time in MPI by cause'))",
    "report-links": ".figure:has(h2:text-is('Busiest links'))",
}
"""Pictures by name, each with the CSS selector of the part of the page that it shows."""


def main() -> None:
    """Runs the tutorial in a temporary directory, and takes all pictures of its first report."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        for _, done in outputs.steps(TUTORIAL.read_text(), Path(directory)):
            for step in done:
                assert step.status == 0, f"{step.command}\n{step.printed}"
        page_file = Path(directory) / "packed" / "report.html"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": WIDTH, "height": 2000}, color_scheme="light")
            page.goto(page_file.as_uri())
            for name, selector in SHOTS.items():
                take(page, selector, PICTURES / f"{name}.png")


def take(page: Page, selector: str, file: Path) -> None:
    """Photographs one part of a page; a part that is too tall is cropped."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None, f"{selector} is not in the page"
    clip = {**box, "height": min(box["height"], HEIGHT_MOST)}
    page.screenshot(path=file, clip=clip, full_page=True)
    size = file.stat().st_size
    assert size <= BYTES_MOST, f"{file.name}: {size} bytes are too many"
    print(f"{file.name}: {size:,} bytes")


if __name__ == "__main__":
    main()
