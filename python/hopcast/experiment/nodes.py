"""Nodes: machines on which an experiment runs its commands."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from hopcast.experiment.history import Command, History, now
from hopcast.experiment.stopping import Stop

_LOOK_S = 0.2
GRACE_S = 3.0
"""Time that a command has to end once it was asked to, before it is killed [s]."""
_DEAD = 255
"""Exit code of ssh, and of what takes its place, if the node cannot be reached."""


class CommandFailed(RuntimeError):
    """A command ended with another code than 0."""

    def __init__(self, command: Command):
        said = (command.stderr or command.stdout).strip().splitlines()
        last = f": {said[-1]}" if said else ""
        super().__init__(f"{command.node}: '{command.command}' ended with code {command.status}{last}")
        self.command = command


class NodeDied(RuntimeError):
    """A node cannot be reached any more."""

    def __init__(self, node: str, why: str):
        super().__init__(f"node {node} died: {why}")
        self.node = node


class Aborted(BaseException):
    """The user has asked for the end while a command ran."""


class Background(Protocol):
    """Command that goes on while others run."""

    def stop(self) -> None:
        """Ends it."""
        ...


class Connection(Protocol):
    """Way to one node."""

    def run(self, command: str, directory: str, stop: Stop) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a shell command.

        Raises `NodeDied`, and `Aborted` once `stop` is asked for.
        """
        ...

    def start(self, command: str, directory: str, output: Path) -> Background:
        """Starts a shell command whose output goes into a file here."""
        ...


class Node:
    """One machine."""

    def __init__(
        self, host: str, connection: Connection, history: History, stop: Stop, directory: str
    ) -> None:
        self.host = host
        self._connection = connection
        self._history, self._stop = history, stop
        self.directory = directory
        """Folder in which relative directories begin."""

    def run(self, command: str, directory: str = ".", check: bool = True, kept_in: str = "") -> Command:
        """Runs a shell command, and gives it with its output.

        kept_in: place of its output, where the history is not to repeat it.

        Raises `CommandFailed` for another exit code than 0 if `check`; `NodeDied`.
        """
        place, start = os.path.normpath(os.path.join(self.directory, directory)), now()
        status, out, error = self._connection.run(command, place, self._stop)
        done = Command(self.host, command, directory, start, now(), status, out, error)
        self._history.add(replace(done, stdout=f"({kept_in})") if kept_in else done)
        if check and status:
            raise CommandFailed(done)
        return done

    def start(self, command: str, output: Path, directory: str = ".") -> Background:
        """Starts a shell command that goes on until it is stopped; its output goes into a file here."""
        place = os.path.normpath(os.path.join(self.directory, directory))
        return self._connection.start(command, place, output)

    def __repr__(self) -> str:
        return f"Node({self.host})"


class Nodes(Sequence[Node]):
    """Nodes of an experiment that live."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = list(nodes)
        self.dead: dict[str, str] = {}
        """Hosts that have died, and why."""

    def drop(self, died: NodeDied) -> None:
        """Leaves out a node that has died."""
        self.dead[died.node] = str(died)
        self._nodes = [node for node in self._nodes if node.host not in self.dead]

    def run(self, command: str, directory: str = ".", check: bool = True) -> dict[Node, Command]:
        """Runs a shell command on all nodes at the same time."""
        nodes = list(self._nodes)
        with ThreadPoolExecutor(max(1, len(nodes))) as threads:
            done = list(threads.map(lambda node: node.run(command, directory, check), nodes))
        return dict(zip(nodes, done, strict=True))

    def __getitem__(self, index):
        return self._nodes[index]

    def __iter__(self) -> Iterator[Node]:
        return iter(list(self._nodes))

    def __len__(self) -> int:
        return len(self._nodes)


class Processes:
    """Way to a node by a process here: the shell itself, or an agent with the host behind it."""

    def __init__(
        self, agent: Sequence[str] = (), host: str = "", environment: Mapping[str, str] | None = None
    ):
        self._agent, self._host = list(agent), host
        self._environment = environment

    def run(self, command: str, directory: str, stop: Stop) -> tuple[int, str, str]:
        """See `Connection.run`."""
        process = self._begin(command, directory, subprocess.PIPE, subprocess.PIPE)
        while True:
            try:
                out, error = process.communicate(timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if stop:
                    end(process)
                    raise Aborted from None
        if self._agent and process.returncode == _DEAD:
            raise NodeDied(self._host, (error.strip().splitlines() or ["its agent says nothing"])[-1])
        return process.returncode, out, error

    def start(self, command: str, directory: str, output: Path) -> Background:
        """See `Connection.start`."""
        # However this process ends, what it has started here ends within a second.
        guard = f"(while kill -0 {os.getpid()} 2>/dev/null; do sleep 1; done; kill -s TERM -- -$$) &\n"
        text = command if self._agent else guard + command
        with output.open("w", encoding="utf-8") as file:
            return _Started(self._begin(text, directory, file, subprocess.DEVNULL))

    def _begin(self, command: str, directory: str, out, error) -> subprocess.Popen:
        words, place = ["sh", "-c", command], directory
        if self._agent:
            words = [*self._agent, self._host, in_directory(command, directory)]
            place = os.getcwd()
        else:
            Path(directory).mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            words,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=error,
            env=None if self._environment is None else {**os.environ, **self._environment},
            start_new_session=True,
            text=True,
            errors="replace",
        )


def in_directory(command: str, directory: str) -> str:
    """A shell command in a folder of a node, which is made if it is missing."""
    place = shlex.quote(directory)
    return f"mkdir -p {place} && cd {place} && {{ {command}\n}}"


class StartedThere:
    """Command in the background of another host, the leader of a session of its own."""

    def __init__(self, connection: Connection, number: str, kept: str, output: Path) -> None:
        self._connection, self._number = connection, number
        self._kept, self._output = kept, output

    def stop(self) -> None:
        """Ends it with all that it has started, and fetches its output."""
        command = f"kill -s TERM -- -{self._number}; cat {self._kept}; rm -f {self._kept}"
        with contextlib.suppress(NodeDied):
            _, out, _ = self._connection.run(command, "/tmp", Stop())
            self._output.write_text(out, encoding="utf-8")


class _Started:
    """Process in the background."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process

    def stop(self) -> None:
        """Ends it with all that it has started."""
        end(self._process)


def end(process: subprocess.Popen) -> None:
    """Ends the leader of a session with all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_S)
            return


_here = threading.local()
"""Node of the piece that this thread runs, where each node runs pieces of its own."""


@contextlib.contextmanager
def of_this_thread(node: Node) -> Iterator[None]:
    """Makes a node the one that this thread's piece runs on."""
    _here.node = node
    try:
        yield
    finally:
        del _here.node


def this_node() -> Node | None:
    """Node of this thread's piece, if it has one."""
    return getattr(_here, "node", None)
