"""A ring under load beside a platform: the same program is simulated, with its ranks on the hosts they had.

`programs/ring.c` has each rank in turn send a message to the next and get it back, while those that wait
poll. Four lines of `ring.csv` belong to a rank and a round: send and receive to the right, receive and send
to the left. Of them

    round trip    send and receive to the right
    MPI_Send      both sends
    MPI_Recv      the receive from the left: a poll has seen the message, so that it has come

each between hosts and inside of them, one median for each size on either side. Polls are simulated; products
of matrices between them take no simulated time: what a load of them costs, the platform's times have to hold.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast.calibrate import check, machine, simulated_programs
from hopcast.calibrate.check import Row
from hopcast.calibrate.series import Series, by_size
from hopcast.errors import InputError

FILE = "ring.csv"
HEAD = ["function", "rank", "size", "op_id", "timestamp", "duration"]
_ROWS = ("MPI_Send", "MPI_Recv", "MPI_Recv", "MPI_Send")
"""Functions of the lines of a rank and a round."""


@dataclass(frozen=True)
class Ring:
    """Times of a ring, `[rank, round, line]` [s], with the size of each round and the host of each rank."""

    seconds: np.ndarray
    sizes: np.ndarray
    hosts: Sequence[int]

    def series(self) -> dict[tuple[str, bool], Series]:
        """Medians by size of each kind of time that there is, and True for those between hosts."""
        hosts = np.array(self.hosts)
        right, left = hosts != np.roll(hosts, -1), hosts != np.roll(hosts, 1)
        found = {}
        for between in (True, False):
            parts = {
                "round trip": [(self.seconds[..., 0] + self.seconds[..., 1], right)],
                "MPI_Send": [(self.seconds[..., 0], right), (self.seconds[..., 3], left)],
                "MPI_Recv": [(self.seconds[..., 2], left)],
            }
            for kind, times in parts.items():
                chosen = [part[side == between] for part, side in times]
                seconds = np.concatenate([part.ravel() for part in chosen])
                sizes = np.concatenate([np.tile(self.sizes, len(part)) for part in chosen])
                if len(seconds):
                    found[kind, between] = by_size(sizes, seconds)
        return found


@dataclass(frozen=True)
class Checked:
    """Errors of one kind of time."""

    name: str
    sizes: int
    rows: Sequence[Row]


def is_it(place: Path) -> bool:
    """True for the results of a ring, or a directory of them."""
    from hopcast.calibrate import tables

    file = place / FILE if place.is_dir() else place
    return file.is_file() and tables.head(file) == HEAD


def read(place: Path) -> Ring:
    """The ring of a file or a directory; beside it stands `machine.json`."""
    file = place / FILE if place.is_dir() else place
    facts = _facts(file.parent)
    hosts = [int(rank["host_number"]) for rank in facts["ranks"]]
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    try:
        times = np.array([float(row["duration"]) for row in rows])
        sizes = np.array([int(row["size"]) for row in rows])
    except (TypeError, ValueError):
        raise InputError(f"{file}: a line is not '{','.join(HEAD)}'") from None
    if (
        not (np.isfinite(times) & (times >= 0)).all()
        or not ((sizes >= 0) & (sizes <= simulated_programs.BYTES_MOST)).all()
    ):
        raise InputError(
            f"{file}: a duration is no time, or a size is not from 0 to {simulated_programs.BYTES_MOST:,} B"
        )
    ranks, whole = len(hosts), len(rows) // (4 * len(hosts))
    expected = [(name, rank) for rank in range(ranks) for _ in range(whole) for name in _ROWS]
    if not rows or [(row["function"], int(row["rank"])) for row in rows] != expected:
        raise InputError(
            f"{file}: {len(rows)} lines are not four for each of {ranks} ranks and each round: the file was "
            f"cut, or {machine.FILE} is of another run"
        )
    return Ring(times.reshape(ranks, whole, 4), sizes.reshape(ranks, whole, 4)[0, :, 0], hosts)


def background(place: Path) -> str:
    """Load that the ranks which waited made: none, kernel, probe or both."""
    facts = _facts(place if place.is_dir() else place.parent)
    return str(facts.get("conditions", {}).get("background", "probe"))


def simulated(platform: str, measured: Ring, load: str) -> Ring:
    """The ring as the platform would have it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "design.csv").write_text("".join(f"Ring,{size}\n" for size in measured.sizes))
        polls = "none" if load == "none" else "probe"
        words = ["--design", str(folder / "design.csv"), "--out", str(folder), "--background", polls]
        simulated_programs.run(platform, "ring", words, measured.hosts, folder)
        (folder / machine.FILE).write_text(
            json.dumps({"ranks": [{"host_number": h} for h in measured.hosts]})
        )
        return read(folder)


def check_all(
    platform: str, measured: Ring, load: str, breakpoints: Mapping[bool, Sequence[float]]
) -> Iterator[Checked]:
    """Errors of every kind of time, between hosts and inside them, by regime.

    breakpoints: those between hosts (True), and inside them.
    """
    predicted = simulated(platform, measured, load).series()
    for (kind, between), series in measured.series().items():
        ours = predicted[kind, between]
        known = series.seconds > 0
        rows = check.by_regime(ours.seconds[known], series.where(known), breakpoints[between])
        place = "" if between else " inside hosts"
        yield Checked(f"ring {kind}{place}", int(known.sum()), rows)


def _facts(folder: Path) -> dict:
    place = folder / machine.FILE
    try:
        facts = json.loads(place.read_text())
        assert all("host_number" in rank for rank in facts["ranks"])
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        raise InputError(
            f"{place}: 'hopcast calibrate measure' writes there which host each rank was on; without it a "
            "ring cannot be simulated"
        ) from None
    return facts
