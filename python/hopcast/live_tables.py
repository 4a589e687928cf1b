"""`follow`: the tables of a run while it goes on."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopcast.errors import InputError
from hopcast.report import parts, store

if TYPE_CHECKING:
    import pyarrow

_LOOK_EVERY_S = 0.1
"""Period at which a follower looks for new parts [s]."""


@dataclass(frozen=True)
class Standing:
    """A run at one time: its rows so far."""

    simulated_s: float
    """Simulated time that the run has reached [s]."""
    events: int
    """Events so far."""
    tables: dict[str, pyarrow.Table]
    """Rows so far of `messages`, `matrix_periods`, `router_matrix_periods`, `links_over_time`, `links` and
    `rank_progress`; at the end all of the report.

    Rows of matrices with the same period, source and destination add up, also where periods overlap.
    `messages` holds an equal share of the messages so far: that in its column `share`. Periods of links do
    not overlap, and grow longer with the run; `links` has names alone. Of `rank_progress`, later rows of a
    domain take the place of earlier ones.
    """
    ended: str | None
    """None while the run goes on; "finished" when its report is there, "killed" if it has left none."""

    def table(self, name: str) -> pyarrow.Table | None:
        """One of the tables; None if it has no rows yet."""
        return self.tables.get(name)


def follow(directory: str | os.PathLike, *, wait_s: float = 10.0) -> Iterator[Standing]:
    """Follows a run that writes its report into `directory`, from another process or thread.

    Gives a `Standing` whenever there are new rows, and one more at the end. Runs write rows of tables that
    `messages=` and `matrix_periods=` ask for.

    wait_s: how long a run may take to begin to write [s].

    Raises `InputError` if no run writes there, and no report is there.
    """
    folder = Path(directory)
    importlib.import_module("pyarrow.parquet")  # takes long, and the run may be short
    state = _first(folder, wait_s)
    seen: dict[Path, pyarrow.Table] = {}
    while state is not None:
        # Asked before the parts are read: what a run wrote before it was killed is there.
        alive = parts.is_alive(state)
        is_new = _read_new(folder, seen)
        if alive and parts.state(folder) is None:
            break  # its report has come, and parts may have been gone already
        if is_new or not alive:
            ended = None if alive else "killed"
            yield Standing(state["simulated_s"], state["events"], _together(seen), ended)
            if not alive:
                return
        time.sleep(_LOOK_EVERY_S)
        state = parts.state(folder)
    report = _report(folder, wait_s)
    summary = report.summary
    yield Standing(summary["makespan_s"], summary["events"], dict(report.tables), "finished")


def rows(directory: str | os.PathLike, *names: str) -> dict[str, pyarrow.Table]:
    """Rows that the run in `directory` has written so far, by table; see `Standing.tables`.

    names: tables that are read; all if none is named.
    """
    seen: dict[Path, pyarrow.Table] = {}
    _read_new(Path(directory), seen, names)
    return _together(seen)


def each_part(directory: str | os.PathLike, name: str) -> Iterator[pyarrow.Table]:
    """Parts of one table that the run in `directory` has written so far, one at a time."""
    from pyarrow import parquet

    for path in parts.written(Path(directory), name):
        try:
            table = parquet.read_table(path)
        except FileNotFoundError:  # the run has just ended, or has begun again
            return
        yield table


def _first(folder: Path, wait_s: float) -> dict | None:
    """State of the run, as soon as there is one; None if there is a report already."""
    if folder.is_file() or folder.is_fifo():
        raise InputError(f"{folder}: is no folder; name the one of --out, into which the run writes")
    until = time.monotonic() + wait_s
    while (state := parts.state(folder)) is None and not (folder / "report.json").is_file():
        if time.monotonic() > until:
            raise InputError(
                f"{folder}: no run writes rows here; start one with --out {folder} and --messages ROWS or "
                "--matrix-periods ROWS"
            )
        time.sleep(_LOOK_EVERY_S)
    return state


def _report(folder: Path, wait_s: float) -> store.Result:
    """Report of a run that has ended, which is put into its place at this moment."""
    until = time.monotonic() + wait_s
    while not (folder / "report.json").is_file() and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
    return store.read(folder)


def _read_new(folder: Path, seen: dict[Path, pyarrow.Table], names: tuple[str, ...] = ()) -> bool:
    """Reads new parts, and forgets those of a run that has begun again; says whether anything changed."""
    from pyarrow import parquet

    there = [path for path in parts.written(folder) if not names or path.parent.name in names]
    gone = seen.keys() - set(there)
    for path in gone:
        del seen[path]
    new = [path for path in there if path not in seen]
    for path in new:
        try:
            seen[path] = parquet.read_table(path)
        except FileNotFoundError:  # the run has just ended, or has begun again
            return False
    return bool(new or gone)


def _together(seen: dict[Path, pyarrow.Table]) -> dict[str, pyarrow.Table]:
    """All rows by table."""
    import pyarrow

    tables: dict[str, list[pyarrow.Table]] = {}
    for path, table in sorted(seen.items()):
        tables.setdefault(path.parent.name, []).append(table)
    joined = {name: pyarrow.concat_tables(several) for name, several in tables.items()}
    if "messages" in joined:
        joined["messages"] = _of_one_share(joined["messages"])
    return joined


def _of_one_share(messages: pyarrow.Table) -> pyarrow.Table:
    """Messages of the smallest share among the parts, so that all had the same chance to be kept."""
    import pyarrow
    from pyarrow import compute

    share = compute.min(messages["share"])
    kept = messages.filter(compute.less(messages["sample"], share))
    column = pyarrow.repeat(share, kept.num_rows)
    return kept.set_column(kept.schema.get_field_index("share"), "share", column)
