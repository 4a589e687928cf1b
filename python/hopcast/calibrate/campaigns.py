"""Reader of raw campaigns of SimGrid's MPI calibration, in a directory or an archive, as they are.

A campaign is a set of files `PREFIX_KIND.csv` of one folder, without header: function, bytes, start [s],
duration [s]. `Recv` is a receive whose message has come; `Isend` the call alone; `PingPong` alternates
MPI_Send and the MPI_Recv of the answer; `Iprobe` and `Test` are single polls; `Wtime` has totals of
ten million calls. Beside them: `…breakpoints` (columns Limit, Name) and the benchmark's configuration in XML,
with the limits of the protocols and the nominal latency and bandwidth.

Source of the format: Cornebize et al., github.com/Ezibenroc/platform-calibration.
"""

from __future__ import annotations

import io
import math
import re
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import numpy as np

from hopcast.archive import DAMAGED
from hopcast.calibrate import conditions
from hopcast.calibrate.conditions import Conditions
from hopcast.calibrate.series import Calls, by_size
from hopcast.errors import InputError

KINDS = ("Recv", "Isend", "PingPong", "Wtime", "Iprobe", "Test", "Memory")
WTIME_CALLS = 10_000_000
"""Calls of MPI_Wtime in each line of its file."""
_RESULT = re.compile(rf"(?P<prefix>.*)_(?P<kind>{'|'.join(KINDS)})\.csv")
_SETTINGS = {
    "eager_threshold": "eager_limit",
    "detached_threshold": "detached_limit",
    "expected_latency": "latency",
    "expected_bandwidth": "bandwidth",
}


POLLS = ("iprobe", "test")
FACTS = "machine.json"
"""File of facts of the machine and of conditions, beside results of `calibrate measure`."""


@dataclass(frozen=True)
class Campaign:
    """Measurements between two processes."""

    name: str
    """Folder and prefix of its files."""
    calls: Mapping[str, Calls]
    """Calls by kind: recv, isend, send, round_trip, iprobe, test, copy (memcpy)."""
    wtime_s: float | None = None
    """Time of one call of MPI_Wtime."""
    wtime_error_s: float = math.nan
    """Its standard error; nan where it was measured once."""
    wtime_each: tuple[float, ...] = ()
    """The time of one call by each measurement of it."""
    breakpoints: tuple[float, ...] = ()
    """Breakpoints that came with the campaign, in bytes."""
    settings: Mapping[str, float] = field(default_factory=dict)
    """Configured ones of: eager_limit [B], detached_limit [B], latency [s], bandwidth [B/s]."""
    findings: tuple[str, ...] = ()
    """Notes of the reader about data that it left out."""
    conditions: Conditions | None = None
    """Those of `calibrate measure`; None where others have measured."""
    prefix: str = ""
    """Beginning of the names of its files."""
    runs: tuple[int, ...] = ()
    """Round trips of each run that it was joined from, in their order; empty for a single one."""

    @property
    def within_a_host(self) -> bool:
        """True where its name, or that of its files, says that both processes were on one host."""
        return "loopback" in self.name or "loopback" in self.prefix

    def without_clock(self) -> Campaign:
        """Times less those of reading the clock, which every measured call has once, a round trip twice.

        Messages with a time that is no longer than its clock's stay as they are, and polls take no time then.
        """
        if not self.wtime_s:
            return self
        calls = {}
        for kind, part in self.calls.items():
            own = part.seconds - (2 if kind == "round_trip" else 1) * self.wtime_s
            if kind in POLLS:
                own = np.maximum(own, 0.0)
            calls[kind] = replace(part, seconds=own) if kind in POLLS or (own > 0).all() else part
        return replace(self, calls=calls)


def read(place: Path) -> list[Campaign]:
    """All campaigns of a directory, of an archive, or of the one whose file `place` is."""
    texts = _texts(place)
    groups: dict[str, dict[str, str]] = {}
    for name, text in texts.items():
        if match := _RESULT.fullmatch(name):
            groups.setdefault(match["prefix"], {})[match["kind"]] = text
    if not groups:
        wanted = ", ".join(f"…_{kind}.csv" for kind in KINDS)
        raise InputError(f"{place}: no campaign: none of {wanted}")
    counts = {prefix: str(PurePosixPath(prefix).parent) for prefix in groups}
    return [
        _campaign(prefix, files, _beside(texts, prefix), alone=list(counts.values()).count(folder) == 1)
        for (prefix, files), folder in zip(groups.items(), counts.values(), strict=True)
    ]


def choose(campaigns: Sequence[Campaign], name: str | None, place: str) -> Campaign:
    """The campaign of that name, or the only one between hosts; two machines are never fitted as one."""
    known = ", ".join(_said(campaign) for campaign in campaigns)
    if name is not None:
        found = [campaign for campaign in campaigns if campaign.name == name]
        if not found:
            raise InputError(f"{place}: unknown campaign '{name}'; known: {known}")
        return found[0]
    found = [campaign for campaign in campaigns if not campaign.within_a_host] or list(campaigns)
    if len(found) > 1:
        raise InputError(
            f"{place}: {len(found)} campaigns, which may be of different machines or conditions, and one is "
            f"fitted: choose with --campaign; known: {known}; or fit runs of one machine as one with --joined"
        )
    return found[0]


def _said(campaign: Campaign) -> str:
    load = "" if campaign.conditions is None else f" (background {campaign.conditions.background})"
    return f"'{campaign.name}'{load}"


def _texts(place: Path) -> dict[str, str]:
    """Contents of the files of campaigns below a place, by their paths in it."""
    if not place.is_dir() and not place.is_file():
        raise InputError(f"{place}: neither a directory nor a file")
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.is_file() and _is_read(file.name))
        return {file.relative_to(place).as_posix(): file.read_text(errors="replace") for file in files}
    if _RESULT.fullmatch(place.name):
        return {name: text for name, text in _texts(place.parent).items() if _same_campaign(name, place)}
    try:
        with tarfile.open(place) as archive:
            members = [member for member in archive if member.isfile() and _is_read(member.name)]
            return {
                str(PurePosixPath(member.name)): content.read().decode(errors="replace")
                for member in members
                if (content := archive.extractfile(member)) is not None
            }
    except tarfile.ReadError:
        raise InputError(
            f"{place}: neither a directory, an archive, a table with a header nor a file of a campaign"
        ) from None
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{place}: this archive is cut or damaged: {error}") from None


def _same_campaign(name: str, place: Path) -> bool:
    own, match = _RESULT.fullmatch(place.name), _RESULT.fullmatch(name)
    assert own is not None, "it is a result of a campaign"
    return "/" not in name and (match is None or match["prefix"] == own["prefix"])


def _is_read(name: str) -> bool:
    return name.endswith((".csv", ".xml", FACTS)) or "breakpoints" in name


def _beside(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Files of a campaign's folder that are not results."""
    folder = PurePosixPath(prefix).parent
    return {
        PurePosixPath(name).name: text
        for name, text in texts.items()
        if PurePosixPath(name).parent == folder and not _RESULT.fullmatch(name)
    }


def _campaign(prefix: str, files: Mapping[str, str], beside: Mapping[str, str], alone: bool) -> Campaign:
    findings: list[str] = []
    rows = {kind: _rows(f"{prefix}_{kind}.csv", text, findings) for kind, text in files.items()}
    calls: dict[str, Calls] = {}
    for kind in ("Recv", "Isend", "Iprobe", "Test"):
        if kind in rows and len(rows[kind].seconds):
            calls[kind.lower()] = rows[kind]
    if "PingPong" in rows:
        calls.update(_ping_pong(prefix, rows["PingPong"], findings))
    if "Memory" in rows and len((copies := rows["Memory"].of("memcpy")).seconds):
        calls["copy"] = copies
    path = PurePosixPath(prefix)
    name = str(path.parent) if alone and str(path.parent) != "." else prefix
    settings = _settings(beside)
    own = {
        key: text for key, text in beside.items() if alone or path.name.split("_")[0] in key or "eth" in key
    }
    return Campaign(
        name,
        calls,
        *clock([] if "Wtime" not in rows else rows["Wtime"].seconds / WTIME_CALLS),
        _breakpoints(own, path.name),
        settings,
        tuple(findings),
        conditions.parse(beside[FACTS], f"{path.parent / FACTS}") if FACTS in beside else None,
        path.name,
    )


def clock(each: Sequence[float] | np.ndarray) -> tuple[float | None, float, tuple[float, ...]]:
    """Time of one call of MPI_Wtime, its standard error, and what each measurement says."""
    if not len(each):
        return None, math.nan, ()
    each = np.asarray(each, float)
    found = by_size(np.zeros(len(each)), each)
    return float(found.seconds[0]), float(found.seconds[0] * found.errors[0]), tuple(each.tolist())


def _rows(name: str, text: str, findings: list[str]) -> Calls:
    """Lines of a file; what a run that was cut has left at its end is dropped, with a finding."""
    columns, rest = _whole(text), []
    if columns is None:
        lines = text.split("\n")
        complete = [line for line in lines if line.count(",") == 3]
        rest = [line for line in lines if line.strip() and line.count(",") != 3]
        if complete and not text.endswith("\n") and len(complete[-1]) < len(complete[0]) - 8:
            rest.append(complete.pop())
        columns = list(zip(*(line.split(",") for line in complete), strict=True)) or [(), (), (), ()]
    try:
        sizes, starts, seconds = (np.array(column, dtype=float) for column in columns[1:])
    except ValueError as error:
        raise InputError(f"{name}: a line is not 'function,bytes,start,duration': {error}") from None
    if rest:
        findings.append(
            f"{name}: {len(rest)} incomplete lines, the last '{rest[-1][:40]}': the run was cut; "
            f"the fit takes the {len(seconds)} complete ones"
        )
    return Calls(np.char.strip(np.array(columns[0], dtype=str)), sizes, starts, seconds)


def _whole(text: str) -> Sequence[Sequence[str]] | None:
    """Columns of a text whose lines are all complete; None for one that has to be read line by line."""
    words = text.replace("\n", ",\n,").split(",")  # a line is four words and its end
    if not text.endswith("\n") or len(words) % 5 != 1 or set(words[4::5]) != {"\n"}:
        return None
    return [words[place:-1:5] for place in range(4)]


def _ping_pong(prefix: str, rows: Calls, findings: list[str]) -> dict[str, Calls]:
    """Sends, and round trips: each send with the receive that follows it."""
    sends, receives = rows.of("MPI_Send"), rows.of("MPI_Recv")
    count = min(len(sends.seconds), len(receives.seconds))
    if len(sends.seconds) != len(receives.seconds):
        findings.append(
            f"{prefix}_PingPong.csv: {len(sends.seconds)} MPI_Send and {len(receives.seconds)} "
            f"MPI_Recv: the run "
            f"was cut; the fit takes the first {count} of each"
        )
    sends, receives = sends.first(count), receives.first(count)
    if not np.array_equal(sends.sizes, receives.sizes):
        raise InputError(f"{prefix}_PingPong.csv: lines of MPI_Send and MPI_Recv do not alternate")
    if not count:
        return {}
    return {
        "send": sends,
        "round_trip": Calls(sends.functions, sends.sizes, sends.starts, sends.seconds + receives.seconds),
    }


def _breakpoints(files: Mapping[str, str], prefix: str) -> tuple[float, ...]:
    candidates = [name for name in files if "breakpoints" in name]
    best = next(
        (name for name in candidates if prefix.split("_")[0] in name), candidates[0] if candidates else None
    )
    if best is None:
        return ()
    limits = [line.split(",")[0] for line in io.StringIO(files[best]) if line[:1].isdigit()]
    return tuple(_number(limit, f"{best}: Limit") for limit in limits)


def _settings(files: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, text in files.items():
        if not name.endswith(".xml"):
            continue
        try:
            root = ElementTree.fromstring(text)
        except ElementTree.ParseError:
            continue
        for tag, key in _SETTINGS.items():
            node = root.find(tag)
            value = None if node is None else node.get("value")
            if value:
                found[key] = _number(value, f"{name}: {tag}")
    return found


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"{place}: '{text[:40]}' is not a number (bytes, seconds, bytes per second)"
        ) from None
