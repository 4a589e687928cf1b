"""Programs in the sandbox of a worker of Dask: honest ones run, hostile ones are contained."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import cluster_of, stranger
from conftest import request, user_of
from programs import over, serving, submit_compiled, told
from servers import Unprivileged

from hopcast.service.settings import Settings

pytest.importorskip("distributed", reason="Dask is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Unprivileged]:
    """A server that is not root, with one worker that is not either; skipped where there is no sandbox."""
    with cluster_of(0) as cluster:
        address = cluster.scheduler_address
        with serving(f"dask:{address}") as started, stranger(address):
            yield started


def test_a_compiled_program_runs_in_the_sandbox_of_a_worker(server: Unprivileged, tmp_path: Path) -> None:
    state = over(server, submit_compiled(server, tmp_path))
    assert state["state"] == "finished" and state["outcome"]["failure"] is None, state
    assert state["outcome"]["ranks"] == 4 and state["attempts"] == 1
    with open(tmp_path / "run.zip", "wb") as out:
        server.client.fetch(state["id"], out)
    assert not list((server.data / "runs" / state["id"]).glob("attempt-*"))


def test_a_hostile_program_is_contained_in_a_worker(server: Unprivileged, tmp_path: Path) -> None:
    port = server.address.rpartition(":")[2]
    reaches = {
        f"socket.create_connection(('127.0.0.1', {port}))": "PermissionError",
        "open('/etc/passwd')": "FileNotFoundError",
        f"open('{server.data}/service.sqlite')": "FileNotFoundError",
        "said.append([name for name in os.listdir('/proc') if name.isdigit()])": "['1', '2']",
        "open('/usr/evil', 'w')": "Error",
    }
    found = told(server, tmp_path, {code: code for code in reaches})
    for code, words in reaches.items():
        assert words in found[code], found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a worker that is root")
def test_a_worker_that_is_root_runs_no_program(
    settings: Settings, served: Callable[..., Any], cluster: Any
) -> None:
    changed = replace(settings, scheduler=cluster.scheduler_address, programs=True)
    user = user_of(*served(changed), "alice")
    upload = user.upload("program.py", b"def main(comm):\n    pass\n")
    workload = {"kind": "function", "file": "program.py", "name": "main"}
    state = user.over(user.submit(request(2) | {"workload": workload}, {"program.py": upload}))
    assert state["state"] == "failed" and state["attempts"] == 1
    assert "programs cannot run in a sandbox of this worker" in state["error"] and "root" in state["error"]
