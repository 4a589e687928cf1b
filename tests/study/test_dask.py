"""Studies on Dask have the table of those on this machine alone, whichever worker dies."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from test_studies import HALO, SLOW, kept, started, study, wait_for

from hopcast.errors import InputError
from hopcast.experiment import runners
from hopcast.experiment.pieces import Work
from hopcast.experiment.stopping import Stop

pytest.importorskip("distributed")

BEGIN = "multiprocessing.spawn"
"""Mark of a worker's command line."""


def table(folder: Path) -> bytes:
    return (folder / "out" / "results.parquet").read_bytes()


def workers_below(process: int) -> list[int]:
    """Processes of workers: children of Dask's processes that have no children themselves."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            line = (entry.parent / "cmdline").read_text()
        except OSError:
            continue
        if BEGIN in line and "resource_tracker" not in line:
            children.setdefault(parent, []).append(int(entry.parent.name))
    return children.get(process, [])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    places = tmp_path / "local", tmp_path / "dask"
    for place in places:
        place.mkdir()
    return places


def test_a_cluster_of_this_machine_gives_the_same_table(folders: tuple[Path, Path]) -> None:
    local, dask = folders
    study(local, HALO)
    done = study(dask, HALO, "--on", "dask", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert table(local) == table(dask)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc")
def test_a_worker_that_is_killed_changes_nothing(folders: tuple[Path, Path]) -> None:
    local, dask = folders
    study(local, SLOW, "--quiet")
    process = started(dask, SLOW, "--quiet", "--on", "dask", "--workers", "2")
    wait_for(dask, 3)
    workers = workers_below(process.pid)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    assert "20 cells: 20 done" in out
    assert table(local) == table(dask)


def test_a_scheduler_elsewhere_is_used_and_lives_on(folders: tuple[Path, Path]) -> None:
    from distributed import Client, LocalCluster

    local, dask = folders
    study(local, HALO)
    where = {"dashboard_address": "127.0.0.1:0"}
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, scheduler_kwargs=where
    ) as cluster:
        done = study(dask, HALO, "--on", f"dask:{cluster.scheduler_address}")
        assert done.returncode == 0, done.stderr
        with Client(cluster) as client:
            assert len(client.scheduler_info()["workers"]) == 1
    assert table(local) == table(dask)


def test_ctrl_c_ends_the_workers_and_the_table_stays(tmp_path: Path) -> None:
    process = started(tmp_path, SLOW.replace("20000", "400000"), "--quiet", "--on", "dask", "--workers", "2")
    wait_for(tmp_path, 2)
    workers = workers_below(process.pid)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "not run" in out and kept(tmp_path) >= 2
    until_s = time.monotonic() + 15
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < until_s, "a worker outlived its study"
        time.sleep(0.1)


def test_a_missing_scheduler_is_an_error(tmp_path: Path) -> None:
    for where, words in (
        ("tcp//nowhere", "no address of a scheduler"),
        ("tcp://localhost:9", "no scheduler answers: Connection refused"),
        ("tls://localhost:9", "needs keys: distributed.comm.tls.ca-file"),
    ):
        with pytest.raises(InputError, match=words):
            runner = runners.named(f"dask:{where}", runners.Settings())
            next(runner.run(Work("m:f", "."), {"key": {}}, Stop()))
    done = study(tmp_path, HALO, "--on", "dask:tcp://localhost:9")
    assert done.returncode == 2 and "no scheduler answers" in done.stderr, done.stderr
