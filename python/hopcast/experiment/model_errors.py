"""Errors of predicted programs in a platform's file, from real and simulated archives of one experiment."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from hopcast import core
from hopcast.calibrate import accuracy_record
from hopcast.calibrate.accuracy import accuracy
from hopcast.errors import InputError
from hopcast.experiment import archive, builtin
from hopcast.experiment.compare import Comparison
from hopcast.study import model_error
from hopcast.toml import tomllib

_SIMULATED = "simulated:"


def check(platform: Path, real: Path, simulated: Path) -> list[str]:
    """Checks, before anything is written, that the errors are of programs, on a machine, and of a platform.

    Gives findings: that the simulation was on another platform than that of the file.
    """
    text = core.platform_text(str(platform), (), False)
    core.platform_text(str(platform), (), True)  # refuses what is no platform
    heads = [archive.read(file)[0] for file in (real, simulated)]
    if (name := heads[0].get("built_in", "")) in builtin.MEASURING:
        raise InputError(
            f"--record: {real} is of '{name}', whose measurements `hopcast calibrate check {platform} … "
            "--record` sets beside a platform; programs are wanted"
        )
    places = [str(head.get("place", "")) for head in heads]
    if places[0].startswith(_SIMULATED):
        raise InputError(f"--record: {real} was simulated, too: the first archive has to be of a machine")
    if places[1] and not places[1].startswith(_SIMULATED):
        raise InputError(f"--record: {simulated} was not simulated, but run --on {places[1]}")
    other = _simulated_platform(simulated, places[1])
    if other is None or _values(other) == _values(text):
        return []
    return [
        f"{simulated} was simulated on another platform than {platform} is now: its errors are of that one"
    ]


def record(platform: Path, comparison: Comparison, real: Path, simulated: Path) -> None:
    """Puts the errors of all points into a platform file, in place of those of the same experiment."""
    head = archive.read(real)[0]
    pairs = np.array([(median(point.simulated), median(point.real)) for point in comparison.points])
    note = f"{comparison.response} of {real.name}, simulated in {simulated.name}"
    # Any program may be an application: its archive's name is that of the program.
    name = head.get("built_in", "")
    what = real.stem if name == "application" else name or head.get("experiment", real.stem)
    errors = {what: accuracy(pairs[:, 0], pairs[:, 1])}
    programs = model_error.of(point.error for point in comparison.points)
    date = str(head["started"])[:10] if "started" in head else None
    accuracy_record.record(platform, errors, note, date, programs)


def _simulated_platform(simulated: Path, place: str) -> str | None:
    """Text of the platform of an archive: the file in it, or the preset that its place names."""
    with zipfile.ZipFile(simulated) as opened:
        if archive.PLATFORM in opened.namelist():
            return opened.read(archive.PLATFORM).decode()
    words = shlex.split(place.removeprefix(_SIMULATED))
    try:
        return core.platform_text(words[0], (), False) if words else None
    except InputError:  # A preset of another hopcast.
        return None


def _values(text: str) -> dict[str, Any]:
    """All that decides a simulation."""
    return {key: value for key, value in tomllib.loads(text).items() if key != "calibration"}
