"""Observations of an experiment's archive: one for each configuration, at the time at which the experiment
began.

A zip file with `info.yaml`, of which `experiment` and `started` count, `results.csv`, a row for each
measurement, and `pieces.csv`, whose columns are the parameters. A unit is a node, where results name one,
with the values of all parameters; measurements of one unit become their mean. Rows of pieces that failed do
not count.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

from hopcast.errors import InputError
from hopcast.regress.logs import time_of
from hopcast.regress.store import Observation

INFO, RESULTS, PIECES = "info.yaml", "results.csv", "pieces.csv"
OF_PIECES = ("piece", "state", "why", "repetition")
"""Columns about pieces and their repetitions, which are no values."""


def read(place: Path, cluster: str, factors: Sequence[str], nodes: Sequence[str]) -> list[Observation]:
    """Observations of an archive.

    cluster: name, or empty for that of the experiment.
    factors: columns of values; without, all that are numbers and no parameters.
    nodes: names that a column of nodes may have.
    """
    info, results, pieces = _parts(place)
    parameters = list(pieces[0]) if pieces else []
    rows = [row for row in results if row.get("state", "done") == "done"]
    if not rows:
        raise InputError(f"{place}: no piece of the experiment has results")
    node = next((name for name in nodes if name in rows[0]), None)
    kept = {*parameters, *OF_PIECES, *([node] if node else [])}
    values = factors or [
        name for name in rows[0] if name not in kept and any(_number(row[name]) is not None for row in rows)
    ]
    if missing := [name for name in values if name not in rows[0]]:
        raise InputError(f"{place}: no column '{missing[0]}' in its results; columns: {', '.join(rows[0])}")
    when = time_of(str(info.get("started", "")), f"{place}: started")
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        words = [row[node]] if node else []
        words += [row[name] for name in parameters if name != node]
        groups.setdefault((words[0] if node else "", "/".join(words) or "all"), []).append(row)
    named = cluster or str(info.get("experiment", place.stem))
    return [
        Observation(named, host, unit, name, when, "", sum(found) / len(found), place.name)
        for (host, unit), some in groups.items()
        for name in values
        if (found := [value for row in some if (value := _number(row[name])) is not None])
    ]


def _parts(place: Path) -> tuple[dict, list[dict[str, str]], list[dict[str, str]]]:
    import yaml

    try:
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
            if missing := [name for name in (INFO, RESULTS) if name not in names]:
                raise InputError(f"{place}: no archive of an experiment: it has no {missing[0]}")
            info = yaml.safe_load(archive.read(INFO))
            tables = [
                list(csv.DictReader(io.StringIO(archive.read(name).decode()))) if name in names else []
                for name in (RESULTS, PIECES)
            ]
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(info, dict):
        raise InputError(f"{place}: {INFO}: keys and values are wanted")
    return info, tables[0], tables[1]


def _number(cell: str | None) -> float | None:
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if value - value == 0 else None
