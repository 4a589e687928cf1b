"""ZIP archives of runs and studies, which are sent as they are made: they take no room, and begin at once."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from fastapi.responses import StreamingResponse

from hopcast.service import pool, process
from hopcast.service.schema import Run
from hopcast.service.settings import Settings

Entry = tuple[str, "Path | str"]
"""Name in an archive, and the file or the text that stands there."""

_PIECE_B = 1 << 20


def of_run(settings: Settings, run: Run) -> Iterator[Entry]:
    """Entries of a run: request, inputs, and the report's directory.

    In it, `hopcast run --request request.json` and `hopcast rerun report` work.
    """
    root = f"hopcast-{run.id}"
    yield f"{root}/request.json", json.dumps(run.request, indent=2, ensure_ascii=False) + "\n"
    inputs = pool.inputs_of(settings, run.id)
    for name in run.inputs:
        yield f"{root}/{name}", inputs / name
    yield from of_report(settings.run_folder(run.id) / process.REPORT, f"{root}/{process.REPORT}")


def of_report(report: Path, place: str) -> Iterator[Entry]:
    """Entries of a report's directory, under `place`; a program may have left folders in it."""
    for part in sorted(report.rglob("*")):
        if part.is_file():
            yield f"{place}/{part.relative_to(report)}", part


def answer(entries: Iterable[Entry], name: str) -> StreamingResponse:
    """Answer with an archive of this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(_written(entries), media_type="application/zip", headers=headers)


def _written(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Pieces of an archive."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, source in entries:
            for _ in _added(packed, name, source):
                yield sink.taken()
    yield sink.taken()


def _added(packed: zipfile.ZipFile, name: str, source: Path | str) -> Iterator[None]:
    """Adds an entry; gives way after each piece."""
    if isinstance(source, str):
        packed.writestr(name, source, zipfile.ZIP_DEFLATED)
        yield
        return
    entry = zipfile.ZipInfo.from_file(source, name)
    entry.compress_type = zipfile.ZIP_STORED if source.suffix == ".parquet" else zipfile.ZIP_DEFLATED
    with open(source, "rb") as file, packed.open(entry, "w") as out:
        while piece := file.read(_PIECE_B):
            out.write(piece)
            yield


class _Sink(io.RawIOBase):
    """End of an archive that is written, which cannot be moved in; holds what was not taken yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # type: ignore[call-overload]
        self._pieces.append(content)
        return len(content)

    def taken(self) -> bytes:
        """All that was written since the last call."""
        content, self._pieces = b"".join(self._pieces), []
        return content
