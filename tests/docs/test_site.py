"""The guide as a site: built strictly, which finds dead links and anchors; nothing comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = "pip install --requirement requirements-docs.txt"
FETCHED = re.compile(
    r"<(?:script|img|iframe|link rel=\"(?:stylesheet|preload)\")[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*"
)

for needed in ("mkdocs", "material", "mkdocstrings"):
    if find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: {INSTALL}", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_of_the_guide_is_in_the_site_and_its_menu(site: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]
    for page in (ROOT / "docs").glob("*.md"):
        assert re.search(rf"\b{re.escape(page.name)}$", menu, re.MULTILINE), (
            f"{page.name} is not in mkdocs.yml"
        )
        assert (site / ("index.html" if page.stem == "README" else f"{page.stem}.html")).is_file()
    assert (site / "repository" / "validation" / "index.html").is_file()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not (found := FETCHED.search(page.read_text())), f"{page.relative_to(site)}: {found[0]}"


def test_blocks_are_blocks_and_options_are_listed(site: Path) -> None:
    tutorial = (site / "tutorial.html").read_text()
    assert "```" not in tutorial and 'class="filename">cluster.toml<' in tutorial
    api = (site / "python-api.html").read_text()
    assert "{options}" not in api and "<strong>stop_at</strong>" in api and "sendrecv" in api


def test_docstrings_become_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import docstrings

    text = "Does it.\n\nsize, count: how many\n    of them.\nname: its name.\n\nSee there."
    assert docstrings.as_markdown(text).split("\n\n")[1] == (
        "- **size, count**: how many\n  of them.\n- **name**: its name."
    )
    assert docstrings.as_markdown("One line: of text") == "One line: of text"
