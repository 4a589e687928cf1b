"""Variants of Dahu in its published simulations of HPL: a letter for kernels, a digit for messages.

A: dgemm's time is linear in M*N*K (M-1); C: polynomial (M-2), as in the preset; D: that, and all kernels
vary. `_het`: each processor by itself, else the mean of all. 1: the same message always takes the same time;
2: in modes, as in the preset. The calls behind the polynomials are not published: the lines of M-1 are fitted
to the polynomials at the sizes of a design such as theirs.

As published, messages take what SMPI makes of the published platform (dahu-07480723.xml): sends and receives
as they are measured alone, one after the other, and copies within a host without start-up. The preset has
less for messages up to 64,000 B, by which ping-pongs take what was measured. And the program waits for each
kernel by usleep, which cuts its time to whole microseconds.

While others poll, messages take what one pair of processes measured between two hosts, and on one, while
the other 62 processes of both called MPI_Iprobe without pause (pycewise, ringrong): between hosts more than
0.3 ms above 8,133 B, within one 0.1 ms above 15,831 B.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from hopcast.calibrate import design, kernels
from hopcast.calibrate.lines import Line, log_line
from hopcast.toml import tomllib

PRESETS = Path(__file__).resolve().parents[1] / "data" / "platforms"
TIMES = {"send_overhead": "send_modes", "isend_overhead": "isend_modes", "receive_overhead": "receive_modes"}
DESIGN = design.Matrices(product=1e10, longest=15_500, strata=30, batches=3)
"""Sizes of the thesis's calls of dgemm, 8.2.1."""
BUSY_ABOVE = {"remote": 8133, "loopback": 15_831}
"""Breakpoints of the preset above which messages take longer while others poll [B]."""
BUSY_UP_TO = 6_500_000
"""Longest message that the lines for it are fitted to [B]. The times of longer ones, which HPL does not send
up to N = 150,000, differ by a factor of five."""


def write(variant: str, folder: Path, published: Path | None = None) -> Path:
    """Writes the platform file of a variant, such as "A1" or "D2_het", and gives its place.

    Messages are those of the preset, or of a published platform of SimGrid.
    """
    platform = tomllib.loads((PRESETS / "dahu.toml").read_text())
    letter, digit, each = variant[0], variant[1], variant.endswith("_het")
    folder.mkdir(parents=True, exist_ok=True)
    if published:
        platform = with_messages_of(imported(published, folder / "published.toml"), platform)
    dgemm = platform["compute"]["kernels"][0]
    rows = linear() if letter == "A" else polynomial()
    rows = rows if each else rows[:2]
    if letter in "AC":
        means = [name for name in rows[0] if not name.startswith("deviation")]
        rows = [row[: len(means)] for row in rows]
        for kernel in platform["compute"]["kernels"]:
            kernel.pop("noise", None)
            kernel.pop("deviation", None)
    dgemm["table"] = table(rows, folder / f"{variant}.csv")
    if published:
        for kernel in platform["compute"]["kernels"]:
            kernel["resolution"] = "1 us"
    if digit == "1":
        for regime in platform["mpi"]["regimes"]:
            steady(regime)
    file = folder / f"{variant}.toml"
    file.write_text(tomlkit.dumps(platform))
    return file


def while_others_poll(file: Path, measured: Path) -> Path:
    """Writes the platform beside its file, with messages as the `ringrong` measurements there have them."""
    platform = tomllib.loads(file.read_text())
    remote, loopback = (busy_line(measured, where) for where in ("remote", "loopback"))
    for regime in platform["mpi"]["regimes"]:
        if regime.get("up_to") == f"{BUSY_ABOVE['remote']} B":
            continue
        for key in set(regime) - {"name", "up_to"}:
            del regime[key]
        regime |= dict.fromkeys(TIMES, "0 ns")
        regime |= {"latency": f"{1e9 * remote.intercept:.1f} ns"}
        regime |= {"process_rate": f"{1e-9 / remote.slope:.5f} GB/s"}
    memory = platform["host"]["memory"]
    first, second, *_ = memory["regimes"]
    busy = {"latency": f"{1e9 * loopback.intercept:.1f} ns", "bandwidth": f"{1e-9 / loopback.slope:.5f} GB/s"}
    memory["regimes"] = [first, second | {"up_to": f"{BUSY_ABOVE['loopback']} B"}, {"up_to": "100 GB"} | busy]
    written = file.with_name(f"{file.stem}-busy.toml")
    written.write_text(tomlkit.dumps(platform))
    return written


def busy_line(measured: Path, where: str) -> Line:
    """Time of a message of so many bytes while others poll [s]."""
    tables = [measured / f"ringrong_{where}{part}.csv.xz" for part in ("", "_small")]
    size, seconds = np.concatenate([np.loadtxt(table, delimiter=",", skiprows=1) for table in tables]).T
    taken = (size > BUSY_ABOVE[where]) & (size < BUSY_UP_TO)
    return log_line(size[taken], seconds[taken])


def imported(published: Path, file: Path) -> dict[str, Any]:
    """A platform of SimGrid, with SMPI's costs."""
    words = [sys.executable, "-m", "hopcast", "platform", "import", str(published), "-o", str(file)]
    subprocess.run([*words, "--library", "openmpi"], check=True, capture_output=True)
    return tomllib.loads(file.read_text())


def with_messages_of(published: dict[str, Any], preset: dict[str, Any]) -> dict[str, Any]:
    """The preset with the published platform's messages, which vary in the preset's modes about its means."""
    platform = preset | {key: published[key] for key in ("topology", "nic", "mpi")}
    platform["host"] = published["host"] | {"sockets": preset["host"]["sockets"]}
    modes = {regime["name"]: regime for regime in preset["mpi"]["regimes"]}
    for regime in platform["mpi"]["regimes"]:
        like = modes.get(regime["name"].replace("63999", "64000"), {})
        for time, drawn in {**TIMES, "latency": "latency_modes"}.items():
            if drawn in like:
                about(regime, time, drawn, like[drawn])
    return platform


def about(regime: dict[str, Any], time: str, drawn: str, modes: list[dict[str, Any]]) -> None:
    """Modes in the place of the constant part of a time, scaled to its mean."""
    constant, *rest = regime[time].split(" + ")
    factor = nanoseconds(constant) / sum(mode["weight"] * nanoseconds(mode["mean"]) for mode in modes)
    scaled = {
        key: [f"{nanoseconds(mode[key]) * factor:.9g} ns" for mode in modes] for key in ("mean", "deviation")
    }
    places = range(len(modes))
    regime[drawn] = [modes[at] | {key: scaled[key][at] for key in scaled} for at in places]
    regime[time] = rest[0] if rest else "0 ns"


def table(rows: list[list[str]], file: Path) -> str:
    """Writes a table of coefficients beside the platform and gives its name."""
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)
    return file.name


def polynomial() -> list[list[str]]:
    """Rows of the preset's table, the head and the mean of all processors first."""
    lines = (PRESETS / "dahu-dgemm.csv").read_text().splitlines()
    return list(csv.reader(line for line in lines if not line.startswith("#")))


def linear() -> list[list[str]]:
    """Rows of M-1: each processor's polynomial, fitted anew by a line over the design of its measurements."""
    m, n, k = np.array([call[1:] for call in design.kernels(DESIGN, ("dgemm",), 1, seed=0)], float).T
    head, *rows = polynomial()
    columns = head.index("deviation 1")
    sizes = np.column_stack([np.ones(len(m)), m * n * k, m * n, m * k, n * k])
    assert head[2:columns] == ["1", "M*N*K", "M*N", "M*K", "N*K"], "the preset's table has these terms"
    lines = []
    for row in rows:
        seconds = sizes @ np.array(row[2:columns], float)
        calls = kernels.group({"m": m, "n": n, "k": k}, seconds)
        line = kernels.polynomial(calls, ("mnk",), intercept=float(row[2]), name="M-1")
        lines.append([*row[:2], row[2], str(line.coefficients["mnk"])])
    return [["host", "socket", "1", "M*N*K"], *lines]


def steady(regime: dict[str, Any]) -> None:
    """Takes the modes of a regime away and adds their mean to the time that they vary."""
    for time, modes in {**TIMES, "latency": "latency_modes"}.items():
        drawn = regime.pop(modes, [])
        mean = sum(mode["weight"] * nanoseconds(mode["mean"]) for mode in drawn)
        if drawn:
            per_byte = regime.get(time) if time in TIMES else None
            regime[time] = f"{mean:.9g} ns + {per_byte}" if "B" in (per_byte or "") else f"{mean:.9g} ns"


def nanoseconds(text: str) -> float:
    """Number of a time in nanoseconds, as the preset writes it."""
    value, unit = text.split()
    if unit != "ns":
        raise ValueError(f"a mode of the preset is not in ns: {text}")
    return float(value)
