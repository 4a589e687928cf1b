"""ZIP archives of runs: request, inputs, and the report's directory."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

from hopcast.service import pool, process
from hopcast.service.schema import Run
from hopcast.service.settings import Settings


def write(settings: Settings, run: Run) -> Path:
    """Writes the archive of a run into a temporary file, which the caller removes.

    In it, `hopcast run --request request.json` and `hopcast rerun report` work.
    """
    folder = settings.data / "archives"
    folder.mkdir(exist_ok=True)
    root = f"hopcast-{run.id}"
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".zip", delete=False) as file:
        try:
            with zipfile.ZipFile(file, "w") as archive:
                request = json.dumps(run.request, indent=2, ensure_ascii=False) + "\n"
                archive.writestr(f"{root}/request.json", request, zipfile.ZIP_DEFLATED)
                inputs = pool.inputs_of(settings, run.id)
                for name in run.inputs:
                    archive.write(inputs / name, f"{root}/{name}")
                report = settings.run_folder(run.id) / process.REPORT
                pack(archive, report, f"{root}/{process.REPORT}")
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    return Path(file.name)


def pack(archive: zipfile.ZipFile, report: Path, place: str) -> None:
    """Adds the files of a report's directory to an archive, under `place`."""
    for part in sorted(report.glob("*")):
        packed = zipfile.ZIP_STORED if part.suffix == ".parquet" else zipfile.ZIP_DEFLATED
        archive.write(part, f"{place}/{part.name}", packed)
