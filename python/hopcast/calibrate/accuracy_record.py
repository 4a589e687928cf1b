"""Errors beside measurements in the platform file itself: the section `[calibration]`, said by every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from hopcast.calibrate import whole_file
from hopcast.calibrate.accuracy import Accuracy
from hopcast.errors import InputError
from hopcast.study.model_error import ModelError

UNKNOWN_DAY = "on an unknown day"
"""Date of measurements that do not tell theirs."""
_DIGITS = 3


def section(date: str | None, load: str | None, errors: Mapping[str, Accuracy], note: str) -> str:
    """TOML of the section, for the end of a platform file.

    errors: by what was measured; those of no measurement are left out.
    """
    document = tomlkit.document()
    document["calibration"] = _head(date, load)
    _put(document, errors, note)
    return tomlkit.dumps(document)


def record(
    file: Path,
    errors: Mapping[str, Accuracy],
    note: str,
    date: str | None,
    programs: ModelError | None = None,
) -> None:
    """Puts the errors into a platform file, in place of earlier ones of the same measurements.

    programs: the same errors if they are those of whole programs, which prediction intervals draw from.
    """
    try:
        document = tomlkit.parse(file.read_text())
    except (OSError, TOMLKitError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    if "calibration" not in document:
        document["calibration"] = _head(date, None)
    _put(document, errors, note, programs)
    whole_file.write(file, tomlkit.dumps(document))


def worst(errors: Sequence[Accuracy]) -> Accuracy:
    """Largest median, 90th percentile and error of all groups."""
    return Accuracy(
        sum(each.count for each in errors),
        max(each.median for each in errors),
        max(each.most_of for each in errors),
        max(each.worst for each in errors),
    )


def check_is_file(platform: str) -> None:
    """Refuses presets: errors are recorded in files of one's own."""
    if not Path(platform).is_file():
        raise InputError(
            f"--record: '{platform}' is no file; copy a preset by `hopcast platform show PRESET > FILE`"
        )


def _head(date: str | None, load: str | None) -> Table:
    head = tomlkit.table()
    head["date"] = date or UNKNOWN_DAY
    if load:
        head["load"] = load
    return head


def _put(
    document: tomlkit.TOMLDocument,
    errors: Mapping[str, Accuracy],
    note: str,
    programs: ModelError | None = None,
) -> None:
    calibration = document["calibration"]
    assert isinstance(calibration, Table), "it was made as one, or the file is a checked platform"
    earlier = calibration.pop("checks", [])
    checks = AoT([])
    for check in earlier:
        if check["what"] not in errors:
            checks.append(check)
    for what, found in errors.items():
        if found.count:
            checks.append(_check(what, found, note, programs))
    calibration["checks"] = checks


def _check(what: str, found: Accuracy, note: str, programs: ModelError | None) -> Table:
    check = tomlkit.table()
    check["what"] = what
    for key, value in (("median", found.median), ("p90", found.most_of), ("worst", found.worst)):
        check[key] = float(f"{value:.{_DIGITS}g}")
    check["note"] = note
    if programs is not None:
        check["rms"] = float(f"{programs.rms:.{_DIGITS}g}")
        check["count"] = programs.count
    return check
