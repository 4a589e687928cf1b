"""Check that nothing of the server's own lies where programs and traces can read it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hopcast.errors import InputError
from hopcast.service import confinement, sandbox
from hopcast.service.settings import Settings


def check(settings: Settings) -> None:
    """Raises `InputError` if data or database overlap with what every run can read."""
    for name, path in _owned(settings):
        if (place := exposed(path)) is not None:
            raise InputError(f"{name} {str(path)!r} {words(path, place)}")


def words(path: Path, place: Path) -> str:
    """End of a sentence about a path that overlaps with a place."""
    where = "below" if _real(place) in (_real(path), *_real(path).parents) else "above"
    return f"lies {where} '{place}', where programs and traces can read; allowed: a place apart from it"


def exposed(path: Path) -> Path | None:
    """The place that every run can read and that is below or above a path; None if there is none."""
    real = _real(path)
    for place in _readable():
        other = _real(place)
        if real == other or other in real.parents or real in other.parents:
            return place
    return None


def _owned(settings: Settings) -> Iterator[tuple[str, Path]]:
    yield "data", settings.data
    url = settings.database
    if url.get_backend_name() == "sqlite" and url.database:
        yield "database.url", Path(url.database)


def _readable() -> list[Path]:
    """Files and folders that a sandbox, or the wall of Landlock around a run, lets a run read."""
    places = {*sandbox.installed(), *confinement.places_of_python()}
    # `python -m` puts its folder first, which the process of a run does not do.
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return sorted(place for place in places if str(place) != os.getcwd() or str(place) in given)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
