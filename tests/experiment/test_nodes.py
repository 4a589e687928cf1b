"""Nodes that are reached by SSH or by an agent: commands on all, and pieces of nodes that die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from test_experiments import HOPCAST, RUN, contents, experiment, results, shell, wait_for

pytest.importorskip("asyncssh")

HERE = Path(__file__).parent


class Hosts:
    """Hosts `one` and `two`: an SSH server each, and the configuration that finds them."""

    def __init__(self, folder: Path) -> None:
        import asyncssh

        self.home = folder / "home"
        (self.home / ".ssh").mkdir(parents=True)
        for name in ("host", "user"):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(str(folder / name))
            key.write_public_key(str(folder / f"{name}.pub"))
            (folder / name).chmod(0o600)
        self.servers = {}
        blocks = []
        for host in ("one", "two"):
            server = subprocess.Popen(
                [sys.executable, HERE / "ssh_server.py", folder], stdout=subprocess.PIPE, text=True
            )
            port = int(server.stdout.readline())
            self.servers[host] = server
            public = (folder / "host.pub").read_text()
            with (folder / "known").open("a") as known:
                known.write(f"[127.0.0.1]:{port} {public}")
            blocks.append(
                f"Host {host}\n  HostName 127.0.0.1\n  Port {port}\n  User root\n"
                f"  IdentityFile {folder / 'user'}\n  UserKnownHostsFile {folder / 'known'}\n"
            )
        (self.home / ".ssh" / "config").write_text("\n".join(blocks))
        self.environment = {**os.environ, "HOME": str(self.home)}

    def close(self) -> None:
        for server in self.servers.values():
            server.kill()
            server.wait()
            server.stdout.close()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    (tmp_path / "ssh").mkdir()
    made = Hosts(tmp_path / "ssh")
    yield made
    made.close()


def test_commands_run_on_all_hosts(tmp_path: Path, hosts: Hosts) -> None:
    shell(tmp_path, install="monitoring: 100 ms\nsleep: 0.5\n", each_node=True)
    (tmp_path / "hosts").write_text("one  # the first\ntwo\n")
    done = experiment(tmp_path, *RUN, "--on", "ssh:hosts", "-o", "out.zip", env=hosts.environment)
    assert done.returncode == 0, done.stderr
    assert {row["node"] for row in results(tmp_path / "out.zip")} == {"one", "two"}
    found = contents(tmp_path / "out.zip")
    assert yaml.safe_load(found["info.yaml"])["nodes"] == ["one", "two"]
    assert "processor" in found["information/two/cpuinfo.txt"]
    assert {line.split(",")[1] for line in found["monitoring.csv"].splitlines()[1:]} == {"one", "two"}
    assert found["commands.log"].count("$ echo begun > mark") == 2
    loops = subprocess.run(["pgrep", "-f", "memory_available_B.*sleep 0.1"], capture_output=True, text=True)
    assert not loops.stdout.split(), "monitoring outlived the experiment"


def test_nothing_runs_on_hosts_after_a_kill(tmp_path: Path, hosts: Hosts) -> None:
    # The piece does not end when it is asked to.
    shell(tmp_path, install="monitoring: 150 ms\nsleep: 87.5\n")
    text = (tmp_path / "shell.py").read_text()
    (tmp_path / "shell.py").write_text(text.replace("sleep {self", "trap '' TERM; sleep {self"))
    process = subprocess.Popen(
        [*HOPCAST, "experiment", *RUN, "--on", "ssh:one,two", "-o", "out.zip"],
        cwd=tmp_path,
        env=hosts.environment,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: len(running("memory_available_B.*sleep 0.15")) > 1 and running("^sleep 87.5"))
    process.kill()
    process.wait()
    wait_for(lambda: not running("memory_available_B.*sleep 0.15") and not running("sleep 87.5"))


def running(pattern: str) -> list[str]:
    """Numbers of processes whose command line matches."""
    return subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout.split()


def test_pieces_of_a_host_that_dies_run_elsewhere(tmp_path: Path, hosts: Hosts) -> None:
    shell(tmp_path, "n\n" + "".join(f"{n}\n" for n in range(8)), "sleep: 0.7\n", each_node=True)
    process = subprocess.Popen(
        [*HOPCAST, "experiment", *RUN, "--on", "ssh:one,two", "-o", "out.zip"],
        cwd=tmp_path,
        env=hosts.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for((tmp_path / "out.zip.d" / "work" / "pieces-work").exists)
    time.sleep(0.2)
    hosts.servers["two"].kill()
    _, error = process.communicate(timeout=60)
    assert "node two died" in error and "its pieces run elsewhere" in error
    rows = results(tmp_path / "out.zip")
    assert [row["state"] for row in rows] == ["done"] * 8, error
    found = contents(tmp_path / "out.zip")
    assert "died" in found["information/two/unknown.txt"]
    assert "node two died" in found["info.yaml"]


def test_a_host_that_does_not_answer_is_named(tmp_path: Path, hosts: Hosts) -> None:
    hosts.servers["two"].kill()
    hosts.servers["two"].wait()
    shell(tmp_path)
    done = experiment(tmp_path, *RUN, "--on", "ssh:one,two", "-o", "out.zip", env=hosts.environment)
    assert done.returncode == 2
    assert "node two died" in done.stderr


AGENT = """#!/bin/sh
[ -e "$(dirname "$0")/dead-$1" ] && { echo "no route to $1" >&2; exit 255; }
shift; exec sh -c "$*"
"""


def test_an_agent_reaches_hosts(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text(AGENT)
    (tmp_path / "agent").chmod(0o755)
    shell(tmp_path, "n\n1\n2\n3\n4\n", "sleep: 0.5\n", each_node=True)
    words = [*RUN, "--on", "agent:./agent:a,b", "-o", "out.zip"]
    process = subprocess.Popen(
        [*HOPCAST, "experiment", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    wait_for((tmp_path / "out.zip.d" / "work" / "pieces-work").exists)
    (tmp_path / "dead-a").touch()
    _, error = process.communicate(timeout=60)
    assert "node a died: no route to a; its pieces run elsewhere" in error
    assert [row["state"] for row in results(tmp_path / "out.zip")] == ["done"] * 4


def test_without_any_node_pieces_are_lost_and_run_later(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text(AGENT)
    (tmp_path / "agent").chmod(0o755)
    shell(tmp_path, "n\n1\n2\n3\n", each_node=True)
    text = (tmp_path / "shell.py").read_text()
    dies = text.replace('self.nodes.run("cat mark")', "pass").replace(
        "def piece(self, n):",
        "def piece(self, n):\n        import os\n"
        "        if n == 2 and not os.path.exists('healed'):\n            open('dead-a', 'w')",
    )
    (tmp_path / "shell.py").write_text(dies)
    done = experiment(tmp_path, *RUN, "--on", "agent:./agent:a", "-o", "out.zip")
    assert done.returncode == 3
    rows = results(tmp_path / "out.zip")
    assert [row["state"] for row in rows] == ["done", "lost", "lost"]
    assert "all nodes died" in rows[1]["why"]
    (tmp_path / "healed").touch()
    (tmp_path / "dead-a").unlink()
    assert experiment(tmp_path, *RUN, "--on", "agent:./agent:a", "-o", "out.zip").returncode == 0
    assert [row["state"] for row in results(tmp_path / "out.zip")] == ["done"] * 3
