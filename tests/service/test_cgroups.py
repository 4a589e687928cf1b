"""Control groups: what is written into them, when they are used, and that the kernel ends a run whole."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hopcast.service import cgroups
from hopcast.service.cgroups import Groups, Unavailable

UNIFIED = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files as of a machine whose unit `hopcast` was delegated to this user."""
    unit = tmp_path / "system.slice" / "hopcast.service"
    unit.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    (unit / "cgroup.controllers").write_text("cpu memory pids\n")
    (unit / "cgroup.procs").write_text("12\n34\n")
    (tmp_path / "membership").write_text("1:name=systemd:/x\n0::/system.slice/hopcast.service\n")
    return tmp_path


def delegated(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    monkeypatch.setattr(os, "geteuid", lambda: (tree / "system.slice" / "hopcast.service").stat().st_uid or 1)
    monkeypatch.setattr(os, "getxattr", lambda _path, name: b"1" if name == "user.delegate" else b"")
    return Groups.delegated(tree, tree / "membership")


def test_the_server_moves_into_a_group_of_its_own(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delegated(tree, monkeypatch)
    unit = tree / "system.slice" / "hopcast.service"
    # A real file of this name takes one number at a time, and is not written over.
    assert (unit / "server" / "cgroup.procs").read_text() == "34"
    assert (unit / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"


def test_limits_of_a_run_are_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = delegated(tree, monkeypatch)
    groups.begin("x", cgroups.Limits(memory_B=3 << 30, processes=64, processors=2))
    run = tree / "system.slice" / "hopcast.service" / "run-x"
    found = {file.name: file.read_text() for file in run.iterdir()}
    expected = {"memory.max": "3221225472", "memory.swap.max": "0", "memory.oom.group": "1"}
    assert found == expected | {"pids.max": "64", "cpu.max": "200000 100000"}
    assert not groups.lacked_memory("x") and groups.cpu_s("x") == 0.0
    (run / "memory.events").write_text("low 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 1\n")
    (run / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 1\n")
    assert groups.lacked_memory("x") and groups.cpu_s("x") == 2.5
    (run / "memory.events").write_text("oom 1\noom_kill 0\noom_group_kill 0\n")
    assert not groups.lacked_memory("x")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: (tree / "cgroup.controllers").unlink(), "not of version 2"),
        (lambda tree: (tree / "membership").write_text("8:pids:/\n"), "in no group of version 2"),
        (
            lambda tree: (tree / "system.slice/hopcast.service/cgroup.controllers").write_text("cpu\n"),
            "has no memory, pids",
        ),
    ],
    ids=["version 1", "no group", "no controllers"],
)
def test_the_reason_is_said_where_there_are_none(
    change: object, words: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(tree)  # type: ignore[operator]
    with pytest.raises(Unavailable, match=words):
        delegated(tree, monkeypatch)


def test_a_group_that_nobody_has_delegated_is_left_alone(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of root could write there, and would take the group of others for its own."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Unavailable, match="was not delegated to this server"):
        Groups.delegated(tree, tree / "membership")
    assert not (tree / "system.slice" / "hopcast.service" / "server").exists()


@pytest.fixture
def real() -> Iterator[Path]:
    """A new group of the kernel's, without limits."""
    root = next((place for place in UNIFIED if (place / "cgroup.controllers").is_file()), None)
    if root is None:
        pytest.skip("no control groups of version 2 are mounted here")
    folder = root / f"hopcast-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield folder
    folder.rmdir()


def test_the_kernel_ends_a_group_whole(real: Path) -> None:
    groups = Groups(real)
    (real / "run-x").mkdir()
    script = "setsid sleep 600 & (setsid sleep 600 &) ; trap '' TERM HUP; sleep 600"
    started = subprocess.Popen(groups.entering("x", ["/bin/sh", "-c", script]))
    end_s = time.monotonic() + 20
    while len(inside := (real / "run-x" / "cgroup.procs").read_text().split()) < 4:
        assert time.monotonic() < end_s, inside
        time.sleep(0.02)
    assert groups.cpu_s("x") >= 0.0
    groups.end("x")
    assert started.wait(20) == -9 and not (real / "run-x").exists()
    assert not [number for number in inside if Path(f"/proc/{number}/cmdline").exists() and _is_alive(number)]


def test_a_command_that_cannot_enter_does_not_run(real: Path, tmp_path: Path) -> None:
    command = Groups(real).entering("none", ["/bin/sh", "-c", f"touch {tmp_path}/ran"])
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0
    assert not (tmp_path / "ran").exists()


def _is_alive(number: str) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
