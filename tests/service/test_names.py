"""Names of runs and studies: one line that can be seen, whoever sends them and how."""

from __future__ import annotations

import pytest
from conftest import User, browser_of, request
from test_study_pages import STUDY

from hopcast.service.names import name_of

UNSEEN = ("   ", "\t\n", "\u200b\u2060", "\u3164", "\u00a0\u2003", "\u202e", "\x01\x02", "\u0301")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        *((one, "") for one in UNSEEN),
        ("  two\r\n  lines ", "two lines"),
        ("a\u202ereversed", "areversed"),
        ("a\0b\x1b[2Jc", "ab[2Jc"),
        ("x" * 199 + " y", "x" * 199),
        (
            "e\u0301 \U0001f468\u200d\U0001f469 \u0645\u200c\u0646",
            "e\u0301 \U0001f468\u200d\U0001f469 \u0645\u200c\u0646",
        ),
        ("<b>'; --", "<b>'; --"),
    ],
)
def test_a_name_is_one_line_that_can_be_seen(sent: str, kept: str) -> None:
    assert name_of(sent) == kept == name_of(kept)


def test_a_run_whose_name_nobody_sees_has_none(idle: User) -> None:
    browser = browser_of(idle)
    for unseen in UNSEEN:
        run = idle.submit(request(), name=unseen)
        assert idle.ask("GET", f"/runs/{run}")["name"] == ""
        assert idle.ask("PATCH", f"/runs/{run}", json={"name": " named\n"})["name"] == "named"
        assert idle.ask("PATCH", f"/runs/{run}", json={"name": unseen})["name"] == ""
        assert browser.post(f"/runs/{run}/edit", data={"name": unseen}).status_code == 303
        assert "<h1>halo3d</h1>" in browser.get(f"/runs/{run}").text


def test_a_study_keeps_the_name_that_can_be_seen(idle: User) -> None:
    study = idle.ask("POST", "/studies", 201, json={"study": STUDY.format("crossbar"), "name": "\u200b "})
    assert study["name"] == "study"
    browser = browser_of(idle)
    for unseen in UNSEEN:
        refused = idle.ask("PATCH", f"/studies/{study['id']}", 422, json={"name": unseen})
        assert "can be seen" in str(refused["detail"])
        assert browser.post(f"/studies/{study['id']}/edit", data={"name": unseen}).status_code == 303
    assert idle.ask("GET", f"/studies/{study['id']}")["name"] == "study"
