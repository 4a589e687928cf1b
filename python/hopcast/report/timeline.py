"""The timeline: call records in the Chrome trace event format, which Perfetto opens.

One track per rank, one slice per MPI call; times are microseconds of simulated time.
Format: "Trace Event Format", the Chromium project; https://ui.perfetto.dev opens it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


def write_timeline(records: pyarrow.Table, file: Path) -> None:
    """Writes the table `call_records` (rank, call, begin_s, end_s) record by record."""
    with file.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        out.write('{"ph":"M","pid":0,"name":"process_name","args":{"name":"simulated ranks"}}')
        for rank in sorted(set(records["rank"].to_pylist())):
            names = {
                "ph": "M",
                "pid": 0,
                "tid": rank,
                "name": "thread_name",
                "args": {"name": f"rank {rank}"},
            }
            out.write(",\n" + json.dumps(names, separators=(",", ":")))
        for batch in records.to_batches(max_chunksize=65_536):
            columns = (batch.column(name).to_pylist() for name in ("rank", "call", "begin_s", "end_s"))
            for rank, call, begin_s, end_s in zip(*columns, strict=True):
                out.write(
                    f',\n{{"ph":"X","pid":0,"tid":{rank},"name":{json.dumps(call)},'
                    f'"ts":{begin_s * 1e6:.6f},"dur":{(end_s - begin_s) * 1e6:.6f}}}'
                )
        out.write("\n]}\n")
