"""Runs every command of the guide and compares its output with the page; see `docs/outputs.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import outputs  # noqa: E402

PAGES = pytest.mark.parametrize(
    "page", outputs.pages(), ids=lambda page: page.relative_to(outputs.ROOT).as_posix()
)


@PAGES
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    for _, steps in outputs.steps(text, tmp_path):
        for step in steps:
            assert step.status == 0, f"{step.command}\n{step.printed}"
            assert not step.expected.strip() or step.matches, (
                f"{step.command}\nprinted:\n{step.printed}\nthe page says:\n{step.expected}\n"
                f"If the new output is right: python docs/outputs.py {page}"
            )
    left_out = [block for block in outputs.blocks(text) if "data" in block.words]
    if left_out and not outputs.DATA.is_dir():
        pytest.skip(f"{len(left_out)} blocks need $HOPCAST_DATA, which is not there")


@PAGES
def test_make_targets_exist(page: Path) -> None:
    makefile = (outputs.ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake ([a-z][a-z-]*)\b(?=`|$|\s{2,})", page.read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target} is not in the Makefile"


def test_the_matcher_refuses_what_differs() -> None:
    assert outputs.matches("a … c\n…\nend", "a bb c\nx\ny\nend\n")
    assert not outputs.matches("a … c", "a bb d\n")
    assert not outputs.matches("one line", "one line\nand another\n")
    assert not outputs.matches("took 12.5 ms", "took 12.6 ms\n")


def test_only_what_a_run_measures_of_itself_may_differ() -> None:
    said = "Simulated 64 messages (4.00 MiB) in 909 ms: 67,594 messages/s, 322,234 events/s"
    assert outputs.matches(said, "Simulated 64 messages (4.00 MiB) in 1.20 s: 53 messages/s, 9 events/s\n")
    assert not outputs.matches(said, "Simulated 65 messages (4.00 MiB) in 909 ms: 7 messages/s, 3 events/s\n")
    said = "Outcome db2d766a80e270f1, 83.3 MiB of memory, 1 thread"
    assert outputs.matches(said, "Outcome db2d766a80e270f1, 1.2 GiB of memory, 1 thread\n")
    assert not outputs.matches(said, "Outcome db2d766a80e270f2, 83.3 MiB of memory, 1 thread\n")


def test_shapes_forget_numbers_and_nothing_else() -> None:
    shape = outputs.shape_of
    assert shape("took 12.5 ms  for 1,024 ranks") == shape("took 3 s for 64 ranks")
    assert shape("1.05 million messages, ▓▓▓▓░░░") == shape("38,386 messages, ████░░░░░░")
    assert shape("took 12.5 ms for 3 ranks") != shape("took ages for 3 ranks")


def rewritten(expected: str, printed: str) -> str:
    return outputs.rewritten(outputs.Step("command", expected, printed, 0, by_shape=False))


def test_rewriting_brings_numbers_up_to_date_and_keeps_what_is_left_out() -> None:
    printed = "head\nPredicted time  15.2 ms\nmiddle\nlast 3\n"
    assert rewritten("…\nPredicted time  9.1 ms\n…", printed) == "…\nPredicted time  15.2 ms\n…"
    assert rewritten("head\n…\nlast …", printed) == "head\n…\nlast …"
    assert rewritten("Predicted time  9.1 ms\nlast 2", printed) == printed.rstrip()
    assert rewritten("nothing of it", printed) == printed.rstrip()


def test_a_page_is_written_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 'took 2 s'\ntook 1 s\n$ true\n```\n")
    assert outputs.write(page)
    assert page.read_text() == "```console\n$ echo 'took 2 s'\ntook 2 s\n$ true\n```\n"
    assert not outputs.write(page)
