"""Short processes: requests do not wait for long, and each user gets one estimate at a time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import User, request

from hopcast.service import admission, probes, task_process
from hopcast.service.probes import Probes, TooMany
from hopcast.service.settings import Limits, Settings


@pytest.fixture
def admitted() -> admission.Admitted:
    return admission.admit(request(4), {}, Limits())


def test_a_busy_server_says_so_soon(alice: User) -> None:
    slots = alice.service.pool._probes._slots
    for _ in range(2):
        slots.acquire()
    begin_s = time.monotonic()
    answer = alice.ask("POST", "/estimates", 429, json={"request": request(4)})
    assert "try again" in answer["detail"] and time.monotonic() - begin_s < 10
    assert not (alice.service.settings.data / "estimates").exists()
    for _ in range(2):
        slots.release()
    assert alice.ask("POST", "/estimates", json={"request": request(4)})["ranks"] == 4


def test_a_user_has_one_estimate_at_a_time(
    settings: Settings, admitted: admission.Admitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, begun, may_end = Probes(settings, None), threading.Event(), threading.Event()
    unknown = {"hosts": 1, "ranks": 4, "memory_B": None, "seconds": None, "is_whole": False, "warnings": []}

    def slow(*_: Any) -> dict[str, Any]:
        begun.set()
        assert may_end.wait(60)
        return {"estimate": unknown}

    monkeypatch.setattr(made, "_probed", slow)
    first = threading.Thread(target=made.estimate, args=(admitted, {}, 1))
    first.start()
    assert begun.wait(60)
    with pytest.raises(TooMany, match="an estimate of yours"):
        made.estimate(admitted, {}, 1)
    may_end.set()
    assert made.estimate(admitted, {}, 2) == unknown
    first.join()
    assert made.estimate(admitted, {}, 1) == unknown


def test_a_link_is_not_kept(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Probes(settings, None)
    monkeypatch.setattr(made, "_begin", lambda attempt, *_: attempt)

    def linking(attempt: Path, *_: Any) -> dict[str, Any]:
        os.symlink("/etc/passwd", attempt / "study.html")
        return {"cells": 1}

    monkeypatch.setattr(made, "_ended", linking)
    with pytest.raises(admission.Refused, match=r"study.html: was not written"):
        made.task("study", {}, {}, 1, (("study.html",), tmp_path))
    assert not (tmp_path / "study.html").exists() and made._slots._value == 2  # type: ignore[attr-defined]


def test_an_estimate_ends_at_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that never ends, of which the second look finds that it has too much."""
    looks: list[str] = []

    def wait(seconds: float) -> None:
        raise probes.TimeoutExpired("x", seconds)

    process = SimpleNamespace(wait=wait)
    started = SimpleNamespace(
        process=process,
        exceeded=lambda: looks.append("look") or ("memory" if len(looks) == 2 else None),
        ended_by=lambda: None,
        end=lambda: looks.append("end"),
    )
    assert probes._watch(started, 60) == "memory"  # type: ignore[arg-type]
    assert looks == ["look", "look", "end"]
    assert task_process.LOOK_EVERY_S == 0.5
