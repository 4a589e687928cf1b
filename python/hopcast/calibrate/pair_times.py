"""Times of messages between two nodes while k pairs of their processes talk: nodecomm's text, and max-rate
outputs.

nodecomm (Gropp; github.com/wgropp/BaseEnv, haloperf) prints one block for each dimension of the network:

    Pingpong for
    master:  0, 1, 2, 3
    partner: 16, 17, 18, 19
    1<TAB>3.80e-06<TAB>…            length in C ints, then full round trips with 1, 2, … pairs, three digits

BenchPress (Bienz; github.com/bienz2/BenchPress) prints, after a line `Timing … CPU` or `GPU`, lines
`Size 1024<TAB>…` of bytes and one-way times with 1, 2, … pairs; in its node-pong the pairs share the bytes.
Both become bytes of one process's message and one-way seconds.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast.archive import DAMAGED
from hopcast.errors import InputError

INT_BYTES = 4
_ROW = re.compile(r"(?P<size>\d+)\t(?P<times>[-+.\deE\t ]+)$")
_SIZE_ROW = re.compile(r"Size (?P<size>\d+)\t(?P<times>[-+.\deE\t ]+)$")


@dataclass(frozen=True)
class PairTimes:
    """One line for each number of pairs and size."""

    name: str
    pairs: np.ndarray
    sizes: np.ndarray
    """Bytes of each process's message."""
    seconds: np.ndarray
    """Times of one way."""
    conversion: str
    """Meaning that the reader gave the file's numbers, in words."""
    rounding: float = 0.0
    """Largest relative error of the printed digits."""
    findings: tuple[str, ...] = ()

    def where(self, mask: np.ndarray) -> PairTimes:
        """The lines of a mask."""
        return PairTimes(
            self.name,
            self.pairs[mask],
            self.sizes[mask],
            self.seconds[mask],
            self.conversion,
            self.rounding,
            self.findings,
        )


def read(place: Path) -> list[PairTimes]:
    """All blocks of a file of either format; `ARCHIVE::PATH` is a file of an archive."""
    return parse(_text(place), place.name)


def is_it(place: Path) -> bool:
    """True for a text of either format, and for the name of a file of an archive."""
    if "::" in str(place):
        return True
    if not place.is_file() or ".tar" in place.name:
        return False
    lines = _text(place).splitlines()
    return any(line.startswith("Pingpong for") or _SIZE_ROW.match(line) for line in lines)


def parse(text: str, name: str) -> list[PairTimes]:
    """Blocks of a text of either format."""
    lines = text.splitlines()
    if any(line.startswith("Pingpong for") for line in lines):
        return _nodecomm(lines, name)
    if any(_SIZE_ROW.match(line) for line in lines):
        return _max_rate(lines, name)
    hint = "; of an archive, name a file: ARCHIVE::PATH" if ".tar" in name else ""
    raise InputError(
        f"{name}: neither nodecomm's text ('Pingpong for') nor a max-rate output ('Size N', tabs, times)"
        + hint
    )


def median(runs: Sequence[PairTimes]) -> PairTimes:
    """Several runs of the same as one: the median of each number of pairs and size."""
    keys = sorted({key for run in runs for key in zip(run.pairs.tolist(), run.sizes.tolist(), strict=True)})
    values: dict[tuple[float, float], list[float]] = {key: [] for key in keys}
    for run in runs:
        for pairs, size, seconds in zip(
            run.pairs.tolist(), run.sizes.tolist(), run.seconds.tolist(), strict=True
        ):
            values[pairs, size].append(seconds)
    findings = tuple(finding for run in runs for finding in run.findings)
    first = runs[0]
    pairs, sizes = (np.array(part, float) for part in zip(*keys, strict=True))
    seconds = np.array([np.median(values[key]) for key in keys])
    return PairTimes(first.name, pairs, sizes, seconds, first.conversion, first.rounding, findings)


def _nodecomm(lines: list[str], name: str) -> list[PairTimes]:
    blocks: list[tuple[list[str], int]] = []
    for line in lines:
        if line.startswith("Pingpong for"):
            blocks.append(([], 0))
        elif blocks and line.startswith("master:"):
            blocks[-1] = (blocks[-1][0], len(line.removeprefix("master:").split(",")))
        elif blocks and _ROW.match(line):
            blocks[-1][0].append(line)
    conversion = (
        "lengths were C ints and became bytes (x 4); times were full round trips and became one way (/ 2)"
    )
    return [
        _block(
            f"{name}, block {number}" if len(blocks) > 1 else name,
            [match for row in rows if (match := _ROW.match(row))],
            conversion,
            unit=INT_BYTES,
            share=0.5,
            pairs=pairs,
            rounding=0.005,
        )
        for number, (rows, pairs) in enumerate(blocks, 1)
    ]


def _max_rate(lines: list[str], name: str) -> list[PairTimes]:
    sections: dict[str, list[re.Match]] = {}
    title = "pairs"
    for line in lines:
        if line.startswith("Timing"):
            title = "GPU" if "GPU" in line else "CPU"
        elif match := _SIZE_ROW.match(line):
            sections.setdefault(title, []).append(match)
    split = "node_pong" in name
    conversion = "sizes are bytes and times one way, as printed"
    if split:
        conversion += "; the pairs share the bytes of a line"
    return [
        _block(f"{name}, {title}", rows, conversion, unit=1, share=1.0, pairs=0, split=split)
        for title, rows in sections.items()
    ]


def _block(
    name: str,
    rows: Iterable[re.Match],
    conversion: str,
    *,
    unit: int,
    share: float,
    pairs: int,
    rounding: float = 0.0,
    split: bool = False,
) -> PairTimes:
    found, findings = [], []
    for row in rows:
        times = row["times"].split()
        if pairs and len(times) != pairs:
            findings.append(
                f"{name}: the line of length {row['size']} has {len(times)} of {pairs} times: the run "
                f"was cut; "
                "those that are there are taken"
            )
        size = float(row["size"]) * unit
        for count, time in enumerate(times, 1):
            found.append((count, size / count if split else size, float(time) * share))
    if not found:
        raise InputError(f"{name}: a block without any line of times: the run was cut; nothing was fitted")
    k, sizes, seconds = (np.array(part, float) for part in zip(*found, strict=True))
    kept = seconds > 0
    if not kept.any():
        raise InputError(f"{name}: no time is above zero: nothing was fitted")
    if not kept.all():
        findings.append(f"{name}: {int((~kept).sum())} times are not above zero and are left out")
    return PairTimes(name, k[kept], sizes[kept], seconds[kept], conversion, rounding, tuple(findings))


def _text(place: Path) -> str:
    archive, _, member = str(place).partition("::")
    try:
        if not member:
            return place.read_text(errors="replace")
        with tarfile.open(archive) as files:
            names = [name for name in files.getnames() if name.removeprefix("./") == member]
            if not names:
                raise InputError(f"{archive}: no file '{member}' in it")
            content = files.extractfile(names[0])
            if content is None:
                raise InputError(f"{archive}: '{member}' is no file")
            return content.read().decode(errors="replace")
    except tarfile.ReadError:
        raise InputError(f"{archive}: no archive, of which '{member}' would be a file") from None
    except DAMAGED as error:
        raise InputError(f"{archive}: this archive is cut or damaged: {error}") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}") from None
