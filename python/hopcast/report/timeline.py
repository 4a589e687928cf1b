"""The timeline: call records in the Chrome trace event format, which Perfetto opens.

One track per rank, one slice per MPI call or stretch of computing, with its bytes and partners; one arrow
per message, from the call that sent it to that in which it was received. Times are microseconds of simulated
time.
Format: "Trace Event Format", the Chromium project; https://ui.perfetto.dev opens it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow

_PARTNERS = 16
"""Most partners that a slice names; others are only counted."""

_INSIDE_S = 1e-9
"""Distance of an arrow's end from the end of its slice: at the end itself Perfetto takes the next one."""


@dataclass
class _Slice:
    """One call, or one stretch of computing."""

    rank: int
    name: str
    begin_s: float
    end_s: float
    bytes: int
    to: dict[int, int] = field(default_factory=dict)
    """Bytes sent by receiver."""
    source: dict[int, int] = field(default_factory=dict)
    """Bytes received by sender."""

    @property
    def may_send(self) -> bool:
        """True for calls that may send: neither computing nor a mere receive."""
        name = self.name.lower()
        return name != "compute" and ("recv" not in name or "send" in name)

    @property
    def may_receive(self) -> bool:
        """True for calls that may receive: neither computing nor a mere send."""
        name = self.name.lower()
        return name != "compute" and ("send" not in name or "recv" in name)

    def event(self) -> str:
        """The slice as a complete event."""
        begin, length = f"{self.begin_s * 1e6:.6f}", f"{(self.end_s - self.begin_s) * 1e6:.6f}"
        head = (
            f'"ph":"X","pid":0,"tid":{self.rank},"name":{json.dumps(self.name)},"ts":{begin},"dur":{length}'
        )
        details: dict[str, int | str] = {"bytes": self.bytes} if self.bytes else {}
        details |= _partners("to", "sent", self.to) | _partners("from", "received", self.source)
        return f'{{{head},"args":{json.dumps(details, separators=(",", ":"))}}}'


def _partners(word: str, done: str, partners: dict[int, int]) -> dict[str, int | str]:
    if not partners:
        return {}
    shown = ", ".join(map(str, list(partners)[:_PARTNERS]))
    more = f" and {len(partners) - _PARTNERS} more" if len(partners) > _PARTNERS else ""
    ranks = "rank" if len(partners) == 1 else "ranks"
    return {word: f"{ranks} {shown}{more}", f"bytes {done}": sum(partners.values())}


class _Track:
    """The slices of one rank, which follow one another."""

    def __init__(self) -> None:
        self.slices: list[_Slice] = []
        self._begins: list[float] = []

    def sort(self) -> None:
        """Sorts the slices; called when all are there."""
        self.slices.sort(key=lambda slice_: (slice_.begin_s, slice_.end_s))
        self._begins = [slice_.begin_s for slice_ in self.slices]

    def sending(self, time_s: float, size: int) -> _Slice | None:
        """The slice in which `size` bytes were sent: of several at that time, a call of as many bytes that
        has sent nothing yet, else the last.
        """
        around = [slice_ for slice_ in self._around(time_s) if slice_.may_send] or self._around(time_s)
        exact = (slice_ for slice_ in around if slice_.bytes == size and not slice_.to)
        return next(exact, around[-1] if around else None)

    def receiving(self, time_s: float, size: int) -> _Slice | None:
        """The slice in which `size` bytes were received: of several at that time, a call of as many bytes
        that has received nothing yet, else the first, which it ended.
        """
        around = [slice_ for slice_ in self._around(time_s) if slice_.may_receive] or self._around(time_s)
        exact = (slice_ for slice_ in around if slice_.bytes == size and not slice_.source)
        return next(exact, around[0] if around else None)

    def _around(self, time_s: float) -> list[_Slice]:
        """Slices in which a time lies, their borders included."""
        end = bisect_right(self._begins, time_s)
        begin = end
        while begin > 0 and self.slices[begin - 1].end_s >= time_s:
            begin -= 1
        return self.slices[begin:end]


def write_timeline(records: pyarrow.Table, messages: pyarrow.Table | None, file: Path) -> None:
    """Writes the tables `call_records` and `message_records`.

    An arrow is drawn where both of its ends lie in calls that were kept.
    """
    tracks: dict[int, _Track] = {}
    for slice_ in _slices(records):
        tracks.setdefault(slice_.rank, _Track()).slices.append(slice_)
    for track in tracks.values():
        track.sort()
    arrows = list(_arrows(messages, tracks)) if messages is not None else []
    with file.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        out.write('{"ph":"M","pid":0,"name":"process_name","args":{"name":"simulated ranks"}}')
        for rank, track in sorted(tracks.items()):
            named = f'"name":"thread_name","args":{{"name":"rank {rank}"}}'
            out.write(f',\n{{"ph":"M","pid":0,"tid":{rank},{named}}}')
            for slice_ in track.slices:
                out.write(",\n" + slice_.event())
        for arrow in arrows:
            out.write(",\n" + arrow)
        out.write("\n]}\n")


def _slices(records: pyarrow.Table) -> Iterator[_Slice]:
    names = ("rank", "call", "begin_s", "end_s", "bytes")
    for batch in records.to_batches(max_chunksize=65_536):
        columns = [batch.column(name).to_pylist() for name in names if name in batch.schema.names]
        if len(columns) < len(names):  # a report of an older hopcast
            columns.append([0] * batch.num_rows)
        yield from map(_Slice, *columns)


def _arrows(messages: pyarrow.Table, tracks: dict[int, _Track]) -> Iterator[str]:
    """Two flow events for each message; adds partners to the slices at both ends."""
    names = ("source", "destination", "bytes", "sent_s", "received_s")
    columns = [messages.column(name).to_pylist() for name in names]
    for number, (source, to, size, sent_s, received_s) in enumerate(zip(*columns, strict=True)):
        begin = tracks[source].sending(sent_s, size) if source in tracks else None
        end = tracks[to].receiving(received_s, size) if to in tracks else None
        if begin is None or end is None:
            continue
        begin.to[to] = begin.to.get(to, 0) + size
        end.source[source] = end.source.get(source, 0) + size
        name = json.dumps(f"{size} B from rank {source} to rank {to}")
        head = f'"cat":"message","name":{name},"id":{number},"pid":0'
        arrives_s = max(end.begin_s, min(received_s, end.end_s - _INSIDE_S))
        yield f'{{"ph":"s",{head},"tid":{source},"ts":{sent_s * 1e6:.6f}}}'
        yield f'{{"ph":"f","bp":"e",{head},"tid":{to},"ts":{arrives_s * 1e6:.6f}}}'
