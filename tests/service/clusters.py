"""Workers of Dask, and what a test looks at while they have runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import in_process
import pytest
from servers import _as, _python_of

from hopcast.service import leavings

WHILE = {"iterations": "4000"}
"""Arguments with which a pattern on 64 ranks goes on for some seconds, also where a processor is fast."""


_folders: list[Path] = []
"""Folders of the workers of this process: other tests may have others on this machine."""


@contextmanager
def cluster_of(workers: int, **options: Any) -> Iterator[Any]:
    """A cluster without pictures, whose scheduler takes any port that is free for its HTTP server.

    Workers that die are replaced.
    """
    from distributed import LocalCluster

    options |= {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    options |= {"n_workers": workers, "threads_per_worker": 1, "silence_logs": 50}
    with _folder() as folder, LocalCluster(local_directory=str(folder), **options) as cluster:
        yield cluster


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hopcast-dask-"))
    _folders.append(folder)
    try:
        yield folder
    finally:
        leavings.remove(folder)


def processes() -> dict[int, Path]:
    """Processes of runs in our workers, and the folders that the workers have made for them."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
        except OSError:
            continue
        if "hopcast.service.process" in words and set(_folders) & set(Path(words[-1]).parents):
            found[int(place.name)] = Path(words[-1]).parent.parent
    return found


def worker_of(process: int) -> int:
    """Worker of a run: the parent of the fork server from which its process was forked."""
    return _parent(_parent(process))


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def until(fits: Callable[[], Any], limit_s: float = 60) -> Any:
    end_s = time.monotonic() + limit_s
    while not (found := fits()):
        assert time.monotonic() < end_s, f"not so within {limit_s:g} s"
        time.sleep(0.05)
    return found


def outcome_here(request_: dict[str, Any], tmp_path: Path) -> str:
    """Hash of the outcome of a request on the command line."""
    (tmp_path / "here.json").write_text(json.dumps({"version": 1, **request_}))
    done = in_process.hopcast("run", "--request", str(tmp_path / "here.json"), "--json", "--quiet")
    return json.loads(done.stdout)["outcome_hash"]


@contextmanager
def stranger(address: str) -> Iterator[subprocess.Popen]:
    """A worker as another user, if this one is root, who cannot read what the server has."""
    user = "nobody" if os.geteuid() == 0 else None
    python = _python_of(user)
    with _folder() as folder:
        if user is not None:
            shutil.chown(folder, user)
            for above in folder.parents:
                if not above.stat().st_mode & 0o001:
                    pytest.skip(f"{above} is closed to {user}")
        command = [python, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        command += ["--local-directory", str(folder), "--no-nanny"]
        with open(os.devnull, "w") as nothing:
            worker = subprocess.Popen(command, cwd=folder, stdout=nothing, stderr=nothing, **_as(user))
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait()


def forget_leases() -> None:
    """Makes a worker believe that its server has been silent for long.

    Here, since a worker that imports the tests themselves may find another `conftest`.
    """
    from hopcast.service import dask_worker

    for attempt in dask_worker._attempts.values():
        attempt.wanted_s -= 2 * dask_worker.LEASE_S
