"""Errors of predicted programs in a platform's file, from real and simulated archives of one experiment."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from hopcast.calibrate import accuracy_record
from hopcast.calibrate.accuracy import accuracy
from hopcast.errors import InputError
from hopcast.experiment import archive, builtin
from hopcast.experiment.compare import Comparison
from hopcast.study import model_error


def record(platform: Path, comparison: Comparison, real: Path, simulated: Path) -> None:
    """Puts the errors of all points into a platform file, in place of those of the same experiment."""
    head = archive.read(real)[0]
    if (name := head.get("built_in", "")) in builtin.MEASURING:
        raise InputError(
            f"--record: {real} is of '{name}', whose measurements `hopcast calibrate check {platform} … "
            "--record` sets beside a platform; programs are wanted"
        )
    pairs = [(median(point.simulated), median(point.real)) for point in comparison.points]
    predicted, measured = zip(*pairs, strict=True)
    note = f"{comparison.response} of {real.name}, simulated in {simulated.name}"
    # Any program may be an application: its archive's name is that of the program.
    what = real.stem if name == "application" else name or head.get("experiment", real.stem)
    errors = {what: accuracy(predicted, measured)}
    programs = model_error.of(point.error for point in comparison.points)
    date = str(head["started"])[:10] if "started" in head else None
    accuracy_record.record(platform, errors, note, date, programs)
