"""Information about nodes: hardware, system and environment, as an archive keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from hopcast.experiment.history import without_secrets
from hopcast.experiment.nodes import Node

COMMANDS = {
    "cpuinfo.txt": "cat /proc/cpuinfo",
    "topology.xml": "lstopo --of xml",
    "topology.txt": "lstopo-no-graphics --of console",
    "lspci.txt": "lspci -vv",
    "dmidecode.txt": "dmidecode",
    "lsmod.txt": "lsmod",
    "dmesg.txt": "dmesg",
}
"""Files of an archive, and the commands whose output they are."""

VERSIONS = {
    "kernel": "uname -srv",
    "compiler": "cc --version | head -n 1",
    "mpi": "mpiexec --version 2>&1 | head -n 3",
    "python": "python3 --version",
}
"""Versions of what an experiment uses, and the commands that tell them."""


def of_node(node: Node) -> Iterator[tuple[str, str]]:
    """Names and contents of files; a command that a node lacks leaves a line that says so."""
    for name, command in COMMANDS.items():
        done = node.run(command, check=False, kept_in=name)
        yield name, done.stdout if done.status == 0 else f"'{command}': {done.stderr.strip() or 'failed'}\n"
    environment = dict(
        text.split("=", 1)
        for text in node.run("env -0", check=False, kept_in="environment.txt").stdout.split("\0")
        if "=" in text
    )
    yield (
        "environment.txt",
        "".join(f"{name}={value}\n" for name, value in without_secrets(environment).items()),
    )


def versions(node: Node) -> dict[str, str]:
    """Versions on a node."""
    found = {name: node.run(command, check=False).stdout.strip() for name, command in VERSIONS.items()}
    return {name: text or "not found" for name, text in found.items()}
