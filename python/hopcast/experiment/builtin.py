"""Experiments that come with hopcast: calibrations, benchmarks, and an application of the user's own."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hopcast.errors import InputError
from hopcast.experiment.base import Experiment, Rows
from hopcast.experiment.benchmarks import Hpcg, Hpl
from hopcast.experiment.files import MEASUREMENT, REPETITION
from hopcast.experiment.places import HOPCAST


class Measure(Experiment):
    """One of the measuring programs of `hopcast calibrate measure`, whose files the archive holds."""

    program: ClassVar[str]
    within_a_host: ClassVar[bool] = False
    """True where the other rank of a message is on the same host."""
    parameters: ClassVar[Mapping[str, Any]] = {"ranks": 2, "design": "", "arguments": "", "blas": "-lblas"}

    def piece(self, repetition: int = 1, background: str = "none", **unknown: Any) -> Rows:
        """Runs the program once; gives the number of the rows that it wrote."""
        if unknown:
            raise InputError(f"{type(self).__name__} has no parameter '{next(iter(unknown))}'")
        folder = f"{'memory' if self.within_a_host else self.program}-{background}-{repetition}"
        launcher = self.install.get("launcher") or self.place.launcher
        hosts = ",".join(node.host for node in self.nodes)
        words = [f"--program {self.program} -o {folder}"]
        if self.program == "network":
            words.append(f"--background {background}")
        if self.within_a_host:
            words.append("--partner same-host")
        if self.install["design"]:
            words.append(f"--design {shlex.quote(self.install['design'])}")
        if self.install["arguments"]:
            words.append(f"--arguments {shlex.quote(self.install['arguments'])}")
        if self.program == "kernels":
            words.append(f"--blas={shlex.quote(self.install['blas'])}")
        start = launcher.format(ranks=self.install["ranks"], hosts=hosts)
        done = self.node.run(f"{HOPCAST} calibrate measure {' '.join(words)} -- {start}")
        place = self.folder / "work" / folder
        self.add_to_archive(place, folder)
        lines = sum(len(file.read_text().splitlines()) - 1 for file in place.glob("*.csv"))
        return {"folder": folder, "lines": lines, "said": done.stdout.strip().partition("\n")[0]}


class Network(Measure):
    """Times of MPI calls between two ranks, by size."""

    program = "network"


class Memory(Measure):
    """Times of memcpy, memset and of MPI calls between two ranks of one host, by size."""

    program = "network"
    within_a_host = True


class Nodecomm(Measure):
    """Ping-pongs of 1 to all ranks of a host at once: the max-rate law."""

    program = "nodecomm"


class Ring(Measure):
    """A message that passes all ranks, while those that wait make a load."""

    program = "ring"


class Saturation(Measure):
    """More and more pairs of hosts that exchange at once."""

    program = "saturation"


class Kernels(Measure):
    """Calls of BLAS by all ranks at once."""

    program = "kernels"


class Application(Experiment):
    """An MPI program of the user's own, timed by what it prints.

    `time` is a regular expression for the time of its timed region in seconds, one for each repetition.
    """

    given_files = ("source", "program")
    parameters: ClassVar[Mapping[str, Any]] = {
        "source": "",
        "program": "",
        "words": "",
        "time": r"took ([-+.\deE]+)",
        "ranks": 2,
    }

    def setup(self) -> None:
        """Compiles the program, if its source is given."""
        if self.install["source"]:
            source = Path(self.given_file("source"))
            if not source.is_file():
                raise InputError(f"source: {source}: there is no such file beside the install file")
            self.add_to_archive(source)
            self.mpi_compile(str(source), "application")
        elif not self.install["program"]:
            raise InputError("the install file names neither 'source' nor 'program' of the application")
        elif "program" in self._given:
            self.add_to_archive(self._given["program"])

    def piece(self, **parameters: Any) -> Rows:
        """Runs it with words of the install file, in which `{name}` stands for a column of the pieces."""
        ranks = parameters.get("ranks") or self.install["ranks"]
        try:
            words = shlex.split(self.install["words"].format_map({**parameters, "ranks": ranks}))
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            columns = ", ".join(parameters) or "none"
            raise InputError(f"words: {self.install['words']!r}: {error}; columns: {columns}") from None
        program = "./application" if self.install["source"] else self.given_file("program")
        done = self.mpi_run(program, *words, ranks=ranks)
        times = [float(text) for text in re.findall(self.install["time"], done.stdout)]
        if not times:
            raise InputError(f"nothing in its output matches {self.install['time']!r}: {done.stdout[:80]!r}")
        if len(times) == 1:
            return {"time_s": times[0]}
        number = MEASUREMENT if REPETITION in parameters else REPETITION
        return [{number: place, "time_s": time} for place, time in enumerate(times)]

    @classmethod
    def generate(cls, count: int, generator: random.Random) -> list[dict[str, Any]]:
        """Sizes 10^U(0, 6), all of them new."""
        return [{"size": round(10 ** generator.uniform(0, 6))} for _ in range(count)]


EXPERIMENTS: Mapping[str, type[Experiment]] = {
    "network": Network,
    "memory": Memory,
    "nodecomm": Nodecomm,
    "ring": Ring,
    "saturation": Saturation,
    "kernels": Kernels,
    "hpl": Hpl,
    "hpcg": Hpcg,
    "application": Application,
}
"""Experiments by name."""
MEASURING = ("network", "memory", "nodecomm", "ring", "saturation", "kernels")
"""Those that measure a machine for `hopcast calibrate`, rather than run programs that it predicts."""
