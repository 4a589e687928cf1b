"""Pages on a phone: nothing is wider than the screen, but for what scrolls inside its own box."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import made_up
import pytest

from hopcast.outcome import Report
from hopcast.report.compare import compare
from hopcast.report.html import comparison_page, page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTH = 360

# The page is shown in a frame as wide as a phone: windows of a browser may have a least width.
FRAME = """<!doctype html><body style="margin:0">
<iframe id="phone" style="border:0;width:{width}px;height:800px" srcdoc="{page}"></iframe>
<pre id="found"></pre>
<script>
const frame = document.getElementById("phone");
frame.addEventListener("load", () => {{
  const shown = frame.contentDocument, view = frame.contentWindow, wide = [];
  const scrolls = (box) => box && box !== shown.body &&
    (["auto", "scroll"].includes(view.getComputedStyle(box).overflowX) || scrolls(box.parentElement));
  for (const element of shown.body.querySelectorAll("*")) {{
    const right = element.getBoundingClientRect().right;
    if (right > {width} + 0.5 && !scrolls(element.parentElement) && !element.closest("svg *"))
      wide.push(element.outerHTML.slice(0, 120) + " ends at " + right);
  }}
  const all = shown.documentElement;
  document.getElementById("found").textContent = JSON.stringify(
    {{wide, scroll: all.scrollWidth, inner: view.innerWidth, all: shown.body.querySelectorAll("*").length}});
}});
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed: pages are not measured")


def _measured(text: str, folder: Path) -> dict:
    """Widths that a browser measures of a page on a narrow screen."""
    file = folder / "frame.html"
    file.write_text(FRAME.format(width=WIDTH, page=html.escape(text)))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'user'}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="found">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))


def _pages() -> dict[str, str]:
    whole = made_up.result(64, warnings=("a warning with a path: " + "/a/very/long/folder" * 8,))
    whole.summary["made_by"]["directory"] = "/a/very/long/folder" * 8
    failed = made_up.result(64, failure=made_up.deadlock(64))
    failed.summary["platform"] = "a-name-without-any-place-where-it-could-be-broken-into-lines"
    alone = made_up.result(64)
    alone.summary["busiest_links"] = []
    job = {"name": "stencil", "ranks": 64, "hosts_used": 64, "start_s": 0.0, "makespan_s": 1.0, "end_s": 1.0}
    alone.summary["jobs"] = [job | {"alone_s": 1.0, "slowdown": 1.0}]
    sides = [made_up.result(64), made_up.result(128), made_up.result(32)]
    sides[1].summary["made_by"] = made_up.made_by(placement="/a/very/long/folder" * 8)
    return {
        "whole": page(whole),
        "failed": page(failed),
        "alone": page(alone),
        "two": comparison_page(compare(sides[:2], ["a", "b" * 90])),
        "three": comparison_page(compare(sides, ["a", "b" * 90, "c"])),
        "notebook": Report(whole.summary, whole.tables)._repr_html_(),
    }


@pytest.mark.parametrize("name", ["whole", "failed", "alone", "two", "three", "notebook"])
def test_nothing_is_wider_than_a_phone(name: str, tmp_path: Path) -> None:
    found = _measured(_pages()[name], tmp_path)
    assert found["inner"] == WIDTH
    assert found["all"] > 20
    assert found["wide"] == []
    assert found["scroll"] <= WIDTH
