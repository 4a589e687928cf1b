"""Places where an experiment runs its commands: `--on KIND` or `--on KIND:WHERE`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hopcast.errors import InputError
from hopcast.experiment import files
from hopcast.experiment.history import History
from hopcast.experiment.nodes import Connection, Node, Nodes, Processes
from hopcast.experiment.stopping import Stop

HOPCAST = f"{shlex.quote(sys.executable)} -m hopcast"
"""This hopcast, in a shell."""


@dataclass(frozen=True)
class Place:
    """Nodes, and the commands by which MPI programs are compiled and started there."""

    text: str
    """Text of `--on`."""
    hosts: tuple[str, ...]
    connect: Callable[[str], Connection]
    launcher: str
    """Command before an MPI program; `{ranks}` and `{hosts}` stand for their number and their names."""
    compiler: str
    simulated: str | None = None
    """Platform, where programs are simulated."""
    digests: tuple[str, ...] = ()
    """Hashes of all that decides a simulation."""
    again: str = ""
    """Text of `--on` that means the same place elsewhere, if `text` does not."""

    def nodes(self, history: History, stop: Stop, directory: str) -> Nodes:
        """Connects to all nodes."""
        return Nodes([Node(host, self.connect(host), history, stop, directory) for host in self.hosts])


@dataclass(frozen=True)
class Kind:
    """One kind of place."""

    summary: str
    where: str | None
    """Word for what follows the colon; None if nothing does."""
    made: Callable[[str, str], Place]
    can_stand_alone: bool = False
    """True if nothing need follow, either."""


def named(text: str, platform: Path | None = None) -> Place:
    """The place that `KIND:WHERE` names; programs are simulated on `platform` instead of the named one."""
    kind, colon, where = text.partition(":")
    if kind not in KINDS:
        raise InputError(f"--on {text}: unknown place '{kind}'; known: {', '.join(KINDS)}")
    found = KINDS[kind]
    if found.where is None and colon:
        raise InputError(f"--on {text}: '{kind}' takes nothing behind it")
    is_alone = not colon and (found.where is None or found.can_stand_alone)
    if not where and not is_alone:
        alone = f"{kind}, or " if found.can_stand_alone else ""
        raise InputError(f"--on {text}: write {alone}{kind}:{found.where}")
    if platform is not None and kind == "simulated":
        return _simulated(where, text, platform)
    return found.made(where, text)


def _local(_where: str, text: str) -> Place:
    host = os.uname().nodename
    return Place(text, (host,), lambda _host: Processes(), "mpiexec -n {ranks}", "mpicc")


def _simulated(where: str, text: str, kept: Path | None = None) -> Place:
    """A platform, and options of its runs behind it: `simulated:dahu --compute none`."""
    words = shlex.split(where)
    if not words:
        raise InputError(f"--on {text}: write simulated:PLATFORM, perhaps with options of runs behind it")
    platform = str(kept or words[0])
    platform = os.path.abspath(platform) if os.path.exists(platform) else platform
    launcher = f"{HOPCAST} run {shlex.quote(platform)} -n {{ranks}} --quiet {shlex.join(words[1:])}".rstrip()
    return Place(
        text,
        (f"simulated-{Path(words[0]).stem}",),
        lambda _host: Processes(),
        launcher,
        f"{HOPCAST} cc",
        platform,
        tuple(_digests(platform, words[1:])),
    )


def _digests(platform: str, options: list[str]) -> list[str]:
    """Hashes of all that decides a simulation: hopcast's core, the platform, and files that both it and the
    options of a run name."""
    from hopcast import _core, provenance

    # An unknown platform is an error now.
    of_platform = provenance.files_of_platform(platform)
    named = [Path(value) for word in options for value in (word, word.rpartition("=")[2])]
    paths = [Path(str(_core.__file__)), Path(platform), *of_platform, *dict.fromkeys(named)]
    return [files.digest(path) for path in paths if os.path.isfile(path)]


def _ssh(where: str, text: str) -> Place:
    from hopcast.experiment.ssh import SshConnection

    hosts = _hosts(where, text)
    launcher = "mpiexec -n {ranks} -hosts {hosts}"
    return Place(text, hosts, SshConnection, launcher, "mpicc", again=f"ssh:{','.join(hosts)}")


def _agent(where: str, text: str) -> Place:
    """Hosts that a command reaches: `agent:COMMAND:HOSTS`, such as the testbed's."""
    command, colon, hosts = where.partition(":")
    words = shlex.split(command)
    if not colon or not words or shutil.which(words[0]) is None:
        raise InputError(
            f"--on {text}: write agent:COMMAND:HOSTS, where COMMAND HOST WORDS runs words on a host"
        )
    found = _hosts(hosts, text)
    return Place(
        text,
        found,
        lambda host: Processes(words, host),
        "mpiexec -n {ranks} -hosts {hosts}",
        "mpicc",
        again=f"agent:{command}:{','.join(found)}",
    )


def _dask(where: str, text: str) -> Place:
    from hopcast.experiment.dask_nodes import Workers

    workers = Workers(where or None)
    return Place(text, workers.names, workers.connect, "mpiexec -n {ranks}", "mpicc")


def _allocation(_where: str, text: str) -> Place:
    """Nodes of the job of a batch system in which this process runs."""
    if "SLURM_JOB_ID" in os.environ:
        listed = os.environ.get("SLURM_JOB_NODELIST", "")
        done = subprocess.run(
            ["scontrol", "show", "hostnames", listed], capture_output=True, text=True, check=False
        )
        hosts = tuple(done.stdout.split())
        return Place(text, hosts, lambda host: Processes(_STEP, host), "srun --overlap -n {ranks}", "mpicc")
    file = os.environ.get("OAR_NODEFILE") or os.environ.get("OAR_NODE_FILE")
    if file:
        hosts = tuple(dict.fromkeys(Path(file).read_text().split()))
        return Place(text, hosts, _by_oarsh, "mpiexec -n {ranks} -hosts {hosts}", "mpicc")
    raise InputError(f"--on {text}: this process runs in no job of Slurm or OAR")


def _by_oarsh(host: str) -> Processes:
    """Way to a host of a job of OAR: this one needs no `oarsh`, which sites without cpusets do not have."""
    is_here = host.partition(".")[0] == os.uname().nodename.partition(".")[0]
    return Processes() if is_here else Processes(["oarsh"], host)


_STEP = ("sh", "-c", 'exec srun --overlap --nodes=1 --ntasks=1 --nodelist="$0" sh -c "$1"')
"""Command that runs a shell command on a host of a job of Slurm, as ssh would."""


def _hosts(where: str, text: str) -> tuple[str, ...]:
    """Hosts of a file, one on each line, or listed with commas."""
    file = Path(where)
    if file.is_file():
        lines = [line.partition("#")[0].split() for line in file.read_text().splitlines()]
        hosts = [words[0] for words in lines if words]
    else:
        hosts = [host for host in where.split(",") if host]
        if any("/" in host or host.endswith((".txt", ".hosts")) for host in hosts):
            raise InputError(f"--on {text}: {where}: there is no such file of hosts")
    if not hosts or len(set(hosts)) < len(hosts):
        raise InputError(f"--on {text}: a file of hosts, or hosts with commas between, each once")
    return tuple(hosts)


KINDS: Mapping[str, Kind] = {
    "local": Kind("This machine.", None, _local),
    "ssh": Kind("Hosts of a file, or listed with commas, by SSH.", "HOSTS", _ssh),
    "agent": Kind("Hosts that a command reaches, such as those of a testbed.", "COMMAND:HOSTS", _agent),
    "dask": Kind(
        "Workers of a Dask cluster: of this machine, or of the scheduler at ADDRESS.",
        "ADDRESS",
        _dask,
        can_stand_alone=True,
    ),
    "allocation": Kind("The nodes of the job of Slurm or OAR in which this runs.", None, _allocation),
    "simulated": Kind("A platform: MPI programs run under 'hopcast run'.", "PLATFORM", _simulated),
}
"""Kinds of places by name."""
