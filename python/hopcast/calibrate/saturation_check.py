"""More and more pairs of hosts at once beside a platform: the same program is simulated.

`programs/saturation.c`, and SimGrid's alltoall_loadtest before it, write one file for each test, lines `rank,
function,bytes,start,duration` with times in ms. Tests add pairs (one, or two) at a time, and each rank has as
many lines of every load as the others, so that the first has all loads, and one that joins later the last of
them. A load is the number of pairs, or of ranks of an all-to-all; its time is the median of its lines.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast.calibrate import machine, simulated_programs
from hopcast.calibrate.accuracy import Accuracy, accuracy
from hopcast.errors import InputError

TESTS = {
    "load_send": "saturation MPI_Send",
    "load_sendrecv_same": "saturation MPI_Sendrecv, one partner",
    "load_sendrecv_diff": "saturation MPI_Sendrecv, two partners",
    "load_alltoall": "saturation MPI_Alltoall",
}
"""Kinds by the names of files."""
ALL_TO_ALL = "load_alltoall"
FACTS = machine.FILE
REPETITIONS = 10
"""Repetitions of a load that are simulated."""


@dataclass(frozen=True)
class Load:
    """Times of one test, by the number of pairs or ranks at once."""

    ranks: int
    size: int
    """Bytes of a message, or of what a rank sends to all."""
    seconds: Mapping[int, float]


@dataclass(frozen=True)
class Checked:
    """Errors of one test, and its curve."""

    name: str
    measured: Load
    predicted: Load
    accuracy: Accuracy

    def lines(self) -> Iterator[str]:
        """The curve: each load with its times and the rate of a message."""
        unit = "ranks" if "Alltoall" in self.name else "pairs"
        for load, seconds in self.measured.seconds.items():
            ours = self.predicted.seconds[load]
            rate = self.measured.size / seconds / 1e9
            yield (
                f"{load} {unit}: measured {1e3 * seconds:.4g} ms, {rate:.4g} GB/s; "
                f"predicted {1e3 * ours:.4g} ms, {100 * (ours / seconds - 1):+.3g} %"
            )


def is_it(place: Path) -> bool:
    """True for one file of the tests, or a directory of them."""
    if place.is_dir():
        return any((place / f"{name}.csv").is_file() for name in TESTS)
    return place.is_file() and place.stem in TESTS


def has_other_all_to_all(place: Path) -> bool:
    """True for the all-to-all of SimGrid's program, which sends the bytes of a line to each rank."""
    folder = place if place.is_dir() else place.parent
    name = f"{ALL_TO_ALL}.csv"
    there = (place / name).is_file() if place.is_dir() else place.name == name
    return there and not (folder / FACTS).is_file()


def read(place: Path) -> dict[str, Load]:
    """Tests of a directory, or the one of a file, by name; those without lines are left out."""
    files = [place / f"{name}.csv" for name in TESTS] if place.is_dir() else [place]
    found = {file.stem: _load(file) for file in files if file.is_file() and file.stat().st_size}
    if has_other_all_to_all(place):
        del found[ALL_TO_ALL]
    if not found:
        raise InputError(f"{place}: no lines of any load: the run was cut")
    return found


def _load(file: Path) -> Load:
    try:
        rows = [line.split(",") for line in file.read_text().splitlines()]
        ranks = np.array([int(row[0]) for row in rows])
        sizes = {int(row[2]) for row in rows}
        milliseconds = np.array([float(row[4]) for row in rows])
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{file}: a line is not 'rank,function,bytes,start,duration': {error}") from None
    if len(sizes) != 1:
        raise InputError(f"{file}: messages of {len(sizes)} sizes, and a test has one")
    if not 0 < min(sizes) <= simulated_programs.BYTES_MOST:
        raise InputError(
            f"{file}: messages of {min(sizes)} B: 1 to {simulated_programs.BYTES_MOST:,} are simulated"
        )
    if not (np.isfinite(milliseconds) & (milliseconds > 0)).all():
        raise InputError(f"{file}: a duration is no time above zero")
    there = np.unique(ranks)
    if there[0] != 0 or there[-1] > 2 * len(there):  # one of two partners may have waited
        raise InputError(
            f"{file}: lines of {len(there)} ranks from {there[0]} to {there[-1]}: some are missing"
        )
    is_all = file.stem == ALL_TO_ALL
    count = int(ranks.max()) + 1
    if not is_all:
        count += count % 2  # with an odd number of pairs, the last of those with two partners waits
    step = 2 if is_all or file.stem == "load_sendrecv_diff" else 1
    half = count // 2
    loads = range(step, (count if is_all else half) + 1, step)
    lines, rest = divmod(int((ranks == 0).sum()), max(1, len(loads)))
    by_load: dict[int, list[float]] = {load: [] for load in loads}
    for rank in range(count):
        place = rank if is_all else rank % max(1, half)
        own = milliseconds[ranks == rank]
        joined = [load for load in loads if load > place]
        if rest or len(own) != lines * len(joined):
            raise InputError(
                f"{file}: {len(own)} lines of rank {rank}, and {lines} for each of {len(joined)} loads are "
                "wanted: the run was cut"
            )
        for number, load in enumerate(joined):
            by_load[load] += own[number * lines : (number + 1) * lines].tolist()
    seconds = {load: 1e-3 * float(np.median(times)) for load, times in by_load.items()}
    return Load(count, sizes.pop(), seconds)


def hosts_of(place: Path, ranks: int) -> list[int]:
    """Host of each rank by `machine.json`; without one, every rank has its own, as the tests want it."""
    file = (place if place.is_dir() else place.parent) / FACTS
    if not file.is_file():
        return list(range(ranks))
    try:
        hosts = [int(rank["host_number"]) for rank in json.loads(file.read_text())["ranks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: no facts of a machine: {error}") from None
    if len(hosts) < ranks:
        raise InputError(f"{file}: {len(hosts)} ranks, and {place} has {ranks}: it is of another run")
    return hosts


def check_all(platform: str, place: Path) -> Iterator[Checked]:
    """Errors of each test over its loads."""
    measured = read(place)
    hosts = hosts_of(place, max(load.ranks for load in measured.values()))
    size = next(iter(measured.values())).size
    with tempfile.TemporaryDirectory() as scratch:
        words = ["--out", scratch, "--bytes", str(size), "--repetitions", str(REPETITIONS)]
        simulated_programs.run(platform, "saturation", words, hosts, Path(scratch))
        (Path(scratch) / FACTS).touch()
        predicted = read(Path(scratch))
    for name, load in measured.items():
        ours = predicted[name]
        both = [np.array([part.seconds[number] for number in load.seconds]) for part in (ours, load)]
        yield Checked(TESTS[name], load, ours, accuracy(*both))
