"""`Experiment`: what an experiment does, in three methods, and what every experiment can do."""

from __future__ import annotations

import random
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, ClassVar

from hopcast.errors import InputError
from hopcast.experiment import archive, files, machine_settings, places
from hopcast.experiment.history import History
from hopcast.experiment.monitoring import Monitoring
from hopcast.experiment.nodes import Command, Node, this_node
from hopcast.experiment.pieces import Piece, Result
from hopcast.experiment.stopping import Stop

Rows = Mapping[str, Any] | Iterable[Mapping[str, Any]] | None


class Experiment:
    """An experiment: inherit from it, and override `setup`, `run` or `piece`, and `teardown`.

    `hopcast experiment run` calls all steps. In a terminal each can be called by itself:

        experiment = MyExperiment(on="simulated:dahu")
        experiment.setup()
        experiment.run()
        experiment.save("mine.zip")
    """

    parameters: ClassVar[Mapping[str, Any]] = {}
    """Parameters of the install file with their defaults, which also say their types."""
    given_files: ClassVar[tuple[str, ...]] = ()
    """Parameters of the install file that name files or folders, relative to its own."""
    each_node: ClassVar[bool] = False
    """True if each piece runs on one node, so that all nodes work at the same time."""

    def __init__(
        self,
        on: str = "local",
        pieces: str | Path | Iterable[Mapping[str, Any]] | None = None,
        install: str | Path | None = None,
        folder: str | Path | None = None,
        stop: Stop | None = None,
        platform: Path | None = None,
    ) -> None:
        """on: place of the nodes, see `hopcast experiment places`; pieces: an experiment file, or rows;
        install: an install file; folder: place of kept results, by default one that is new; platform: file
        that stands for the platform of `on`, as an archive holds it."""
        self.place = places.named(on, platform)
        self.install = files.read_install(Path(install) if install else None, self.parameters)
        self._given = files.given(self.install, self.given_files, Path(install or ".").absolute().parent)
        self.folder = Path(folder or tempfile.mkdtemp(prefix=f"{type(self).__name__}-")).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.stop = stop or Stop()
        self.history = History(self.folder / archive.HISTORY)
        self.sources = {"pieces": pieces, "install": install}
        """Files that the archive keeps verbatim."""
        rows = files.read_pieces(Path(pieces)) if isinstance(pieces, (str, Path)) else list(pieces or [{}])
        if pieces:
            place = str(pieces) if isinstance(pieces, (str, Path)) else "pieces"
            files.check_columns(rows, place, self.piece)
        hashes = {name: files.digest(path) for name, path in self._given.items()}
        self.pieces = [Piece(number, row, self._inputs(row, hashes)) for number, row in enumerate(rows)]
        self.results: dict[str, Result] = {}
        self.settings: list[machine_settings.Setting] = []
        self.repositories: list[dict[str, str]] = []
        self.steps: dict[str, dict[str, str]] = {}
        self.added: dict[str, Path] = {}
        self.notes: list[str] = []
        """Findings about the run, such as nodes that died."""
        self.ended: str = ""
        """Reason for which it ended early; empty if it did not."""
        self.began = datetime.now(timezone.utc)
        self._monitoring: Monitoring | None = None
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        self.nodes = self.place.nodes(self.history, self.stop, str(work))

    def _inputs(self, row: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, Any]:
        """Everything on which the result of a piece depends, as far as it can be known."""
        from hopcast import __version__

        return {
            "experiment": archive.source_of(type(self))[1],
            "hopcast": __version__,
            "on": self.place.text,
            "install": self.install,
            "parameters": dict(row),
            **({"files": dict(hashes)} if hashes else {}),
            **({"simulation": list(self.place.digests)} if self.place.digests else {}),
        }

    def setup(self) -> None:
        """Prepares the nodes: installs, fetches, compiles."""

    def run(self) -> None:
        """Runs all pieces that have no result yet, in the order of the experiment file."""
        from hopcast.experiment import conduct

        conduct.run_pieces(self)

    def piece(self, **parameters: Any) -> Rows:
        """Runs one piece; gives its results, one row or several."""
        raise InputError(f"{type(self).__name__} has neither 'run' nor 'piece': nothing is measured")

    def teardown(self) -> None:
        """Cleans up behind a run, also behind one that failed."""

    @classmethod
    def generate(cls, count: int, generator: random.Random) -> list[dict[str, Any]]:
        """Rows of a random experiment file, which are shuffled afterwards."""
        raise InputError(f"{cls.__name__} has no 'generate': write its experiment file by hand")

    # Steps that every experiment can take.

    def given_file(self, name: str) -> str:
        """Path of a file that the install file names; as it is named if it is not here."""
        return str(self._given.get(name, self.install[name]))

    @property
    def node(self) -> Node:
        """The node of this piece, or the first."""
        return this_node() or self.nodes[0]

    @property
    def simulated(self) -> bool:
        """True if MPI programs are simulated."""
        return self.place.simulated is not None

    def mpi_compile(self, source: str, program: str, flags: str = "-O2", directory: str = ".") -> Command:
        """Compiles an MPI program in C by the place's compiler."""
        compiler = self.install.get("compiler") or self.place.compiler
        return self.node.run(f"{compiler} {flags} {shlex.quote(source)} -o {shlex.quote(program)}", directory)

    def mpi_run(
        self, program: str, *words: Any, ranks: int, directory: str = ".", check: bool = True
    ) -> Command:
        """Runs an MPI program on all nodes, or simulates it; gives the command with its output."""
        launcher = self.install.get("launcher") or self.place.launcher
        try:
            start = launcher.format(ranks=ranks, hosts=",".join(node.host for node in self.nodes))
        except (KeyError, IndexError, ValueError) as error:
            raise InputError(f"launcher: '{launcher}': {error}; known in braces: ranks, hosts") from error
        command = " ".join([start, shlex.quote(program), *(shlex.quote(str(word)) for word in words)])
        return self.node.run(command, directory, check)

    def apt_install(self, *packages: str) -> None:
        """Installs Debian packages on all nodes."""
        names = " ".join(map(shlex.quote, packages))
        self.nodes.run(f"DEBIAN_FRONTEND=noninteractive apt-get install -y -q {names}")

    def git_clone(self, url: str, path: str, checkout: str = "") -> None:
        """Clones a repository on all nodes, which the archive then names with its hash."""
        target = shlex.quote(path)
        switch = f" && git -C {target} checkout -q {shlex.quote(checkout)}" if checkout else ""
        self.nodes.run(f"[ -d {target}/.git ] || git clone -q {shlex.quote(url)} {target}; cd . {switch}")
        commit = self.nodes[0].run("git rev-parse HEAD", directory=path).stdout.strip()
        self.repositories.append({"path": path, "url": url, "commit": commit})

    def disable_hyperthreading(self) -> None:
        """Leaves one thread of each core, where that is permitted."""
        self.set_machine(hyperthreading="off")

    def set_machine(self, sysfs: str = "/sys", **wanted: Any) -> None:
        """Sets hyperthreading, turbo, c_states ("on" or "off") and frequency ("2.1 GHz") of all nodes.

        What is not permitted, or not named, is recorded as not controlled.
        """
        known = (*machine_settings.KNOBS, "frequency")
        given = {name: self.install[name] for name in known if name in self.install} | wanted
        self.settings = [one for node in self.nodes for one in machine_settings.apply(node, given, sysfs)]

    def put_machine_back(self, sysfs: str = "/sys") -> None:
        """Gives all settings that were controlled their value of before."""
        for node in self.nodes:
            machine_settings.put_back(node, self.settings, sysfs)

    def perform_stress(self, seconds: float) -> None:
        """Keeps all cores of all nodes busy, so that they are warm."""
        busy = "for core in $(seq $(nproc)); do timeout {0} sh -c 'while :; do :; done' & done; wait"
        tool = "if command -v stress-ng >/dev/null; then stress-ng -q --cpu 0 --timeout {0}; else "
        self.nodes.run((tool + busy + "; fi").format(f"{seconds:g}"))

    def start_monitoring(self, period_s: float) -> None:
        """Observes all nodes at this interval until `stop_monitoring`."""
        self.stop_monitoring()
        self._monitoring = Monitoring(self.nodes, period_s, self.folder)

    def stop_monitoring(self) -> None:
        """Ends the observation."""
        if self._monitoring is not None:
            self._monitoring.stop()

    def monitored(self) -> list[dict[str, str]]:
        """All that was observed: timestamp, node, kind, place and value."""
        return [] if self._monitoring is None else list(self._monitoring.rows())

    def add_to_archive(self, file: str | Path, name: str | None = None) -> None:
        """Keeps a file, or a folder, of this machine in the archive."""
        path = Path(file)
        path = path if path.is_absolute() else self.folder / "work" / path
        self.added[name or path.name] = path

    def rows(self) -> list[dict[str, Any]]:
        """Results as a table: parameters, state, and values or measurements of each piece."""
        return archive.rows(self.pieces, self.results)

    def save(self, file: str | Path) -> Path:
        """Writes the archive."""
        return archive.write(self, Path(file))
