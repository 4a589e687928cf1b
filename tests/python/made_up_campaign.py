"""Campaigns of a made-up machine whose lines are known, as the files that SimGrid's calibration writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LIMIT = 8192
"""Longest eager message; round trips jump there."""
SHORT = (2e-6, 1e-10)
"""One way, up to the limit: start-up [s], time per byte [s/B]."""
LONG = (6e-6, 4e-11)
SEND = (3e-7, 2e-11)
RECEIVE = (4e-7, 3e-11)
CLOCK = 4e-8
"""Time of reading the clock, which every measured call has [s]."""


def sizes(count: int = 120, longest: float = 6.0) -> np.ndarray:
    """Sizes 10^U(0, longest), evenly spread instead of drawn."""
    return np.unique(np.floor(10 ** np.linspace(0, longest, count)))


def one_way_s(lengths: np.ndarray) -> np.ndarray:
    """The machine's time of one message."""
    lengths = np.asarray(lengths, float)
    return np.where(lengths <= LIMIT, SHORT[0] + SHORT[1] * lengths, LONG[0] + LONG[1] * lengths)


def write(
    folder: Path,
    *,
    name: str = "machine",
    lengths: np.ndarray | None = None,
    repetitions: int = 10,
    noise: float = 0.01,
    one_way=one_way_s,
    configuration: bool = True,
    waits=lambda lengths: np.zeros(len(lengths), bool),
) -> Path:
    """The files of one campaign; every size is measured so many times in a row.

    waits: sizes whose MPI_Send ends when its receiver has the message.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    lengths = sizes() if lengths is None else np.asarray(lengths, float)
    every = np.repeat(random.permutation(lengths), repetitions)

    def noisy(seconds: np.ndarray) -> np.ndarray:
        return seconds * np.exp(noise * random.standard_normal(len(seconds)))

    def line(law: tuple[float, float]) -> np.ndarray:
        return law[0] + law[1] * every

    def lines(function: str, seconds: np.ndarray) -> list[str]:
        starts = np.cumsum(np.full(len(every), 1e-3))
        rows = zip(every, starts, seconds + CLOCK, strict=True)
        return [f"{function},{n:.0f},{t:.6f},{s:.9e}" for n, t, s in rows]

    sends = np.where(waits(every), noisy(one_way(every)), noisy(line(SEND)))
    round_trips = np.maximum(noisy(2 * one_way(every)), 1e-12)
    both = zip(lines("MPI_Send", sends), lines("MPI_Recv", round_trips - sends), strict=True)
    files = {
        "Recv": lines("MPI_Recv", noisy(line(RECEIVE))),
        "Isend": lines("MPI_Isend", noisy(line(SEND))),
        "PingPong": [row for pair in both for row in pair],
        "Wtime": [f"MPI_Wtime,0,1.0,{1e7 * CLOCK}"],
        "Iprobe": [f"MPI_Iprobe,1,{i},3.4e-07" for i in range(20)],
        "Test": [f"MPI_Test,1,{i},2.4e-07" for i in range(20)],
    }
    for kind, rows in files.items():
        (folder / f"{name}_{kind}.csv").write_text("\n".join(rows) + "\n")
    if configuration:
        settings = f'<config><eager_threshold value="{LIMIT}"/><expected_bandwidth value="30e9"/></config>'
        (folder / "testplatform.xml").write_text(settings)
    return folder
