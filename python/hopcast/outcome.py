"""`Report`: what one run leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

    from hopcast.request import RunRequest

_COLUMN_TYPES = {"u32": "uint32", "u64": "uint64", "f64": "float64"}


class Tables(Mapping):
    """The tables of a run by name, each turned into a `pyarrow.Table` when it is first asked for."""

    def __init__(self, raw: dict[str, list[tuple[str, str, Any]]]):
        """`raw`: by table the columns as the core gives them: `(name, type, bytes or texts)`."""
        self._raw = raw
        self._made: dict[str, pyarrow.Table] = {}

    def __getitem__(self, name: str) -> pyarrow.Table:
        if name not in self._made:
            self._made[name] = table_of(self._raw[name])
        return self._made[name]

    def __iter__(self):
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def table_of(columns: list[tuple[str, str, Any]]) -> pyarrow.Table:
    """The table of columns as the core gives them: `(name, type, bytes or texts)`."""
    import pyarrow

    arrays = [_array(kind, content) for _, kind, content in columns]
    return pyarrow.table(arrays, names=[column for column, _, _ in columns])


def _array(kind: str, content: Any):
    import pyarrow

    if kind == "text":
        return pyarrow.array(content, type=pyarrow.string())
    import numpy

    return pyarrow.array(numpy.frombuffer(content, dtype=_COLUMN_TYPES[kind]))


class Links:
    """The links of the network, as far as the run used them."""

    def __init__(self, report: Report):
        self._report = report

    def busiest(self, count: int = 5) -> list[dict]:
        """The busiest links, most busy first; at most as many as `report.json` keeps."""
        return self._report.summary["busiest_links"][:count]

    def table(self) -> pyarrow.Table:
        """Every link that was used."""
        return self._report.table("links")


class Report:
    """A prediction and where it comes from.

    Every key of `report.json` is an attribute: `makespan_s` [s], `outcome_hash`, `ranks`, `messages`,
    `bytes`, `calls`, `time`, `busiest_links`, `warnings`, `failure`, … `results` holds what the rank
    functions returned, by rank.
    """

    def __init__(self, summary: dict[str, Any], tables: Mapping, results: list | None = None):
        from hopcast.report.causes import limit_of

        self.summary = summary
        summary.setdefault("limit", limit_of(summary))
        self.tables = tables
        self.results = results
        self.error: BaseException | None = None
        """The exception that left a rank function, if one did."""
        self.is_asked_to_stop = False
        """True if the user asked the run to stop, as it did, or as it was done already."""
        self.request: RunRequest | None = None
        """The request that made it, with the versions and hashes of its inputs."""

    def __getattr__(self, name: str):
        if name.startswith("_") or name not in self.__dict__.get("summary", {}):
            known = ", ".join(self.__dict__.get("summary", {}))
            raise AttributeError(f"a report has no '{name}'; it has: {known}")
        return self.summary[name]

    @property
    def links(self) -> Links:
        """The links of the network: `report.links.busiest(5)`."""
        return Links(self)

    @property
    def energy(self) -> dict[str, float | None] | None:
        """Energy to solution by cause [J]; None where the platform has no `[power]`.

        `report.energy["computing_J"]`: causes that it gives no power for are None. The sum is `energy_J`, and
        that over the makespan `mean_power_W`.
        """
        return self.summary.get("energy")

    def table(self, name: str) -> pyarrow.Table:
        """One of the tables by name, such as "ranks" or "links"."""
        if name not in self.tables:
            raise KeyError(f"no table '{name}' in this report; it has: {', '.join(self.tables)}")
        return self.tables[name]

    def to_json(self) -> str:
        """`report.json`."""
        return json.dumps(self.summary, indent=2, ensure_ascii=False) + "\n"

    def save(self, directory: str | Path) -> Path:
        """Writes `report.html`, `report.json` and the tables into `directory`; gives the page's path."""
        from hopcast.report import write
        from hopcast.report.store import Result

        return write(Result(self.summary, self.tables, self.request), Path(directory))

    def _repr_html_(self) -> str:
        """The short page that a notebook shows."""
        from hopcast.report.html import notebook

        return notebook(self.summary)

    def __dir__(self):
        return [*super().__dir__(), *self.summary]

    def __repr__(self) -> str:
        end = f", failed: {self.summary['failure']['kind']}" if self.summary.get("failure") else ""
        what = f"{self.summary['workload']} on {self.summary['platform']}, {self.summary['ranks']} ranks"
        return f"Report({what}: {self.summary['makespan_s']} s{end})"
