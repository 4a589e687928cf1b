"""Cells of a study: each is a request of an ordinary run, and a piece that the engine runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hopcast import __version__, _core, options, provenance
from hopcast.errors import InputError
from hopcast.experiment.pieces import Piece
from hopcast.request import RunRequest
from hopcast.study.clusters import Tables
from hopcast.study.file import Study, fields


def pieces(study: Study) -> list[Piece]:
    """All cells. Raises `InputError` for the first that cannot be run."""
    hashes, tables = InputHashes(), Tables(_filled)
    cells = []
    for number, settings in enumerate(study.settings()):
        try:
            request = request_of(study, settings)
            inputs = {
                "hopcast": [__version__, hashes.core],
                "request": {key: value for key, value in request.fields().items() if key != "directory"},
                "hashes": hashes.of(request),
                "files": {
                    **{name: str(_filled(text, settings)) for name, text in study.files.items()},
                    **{name: tables.text(drawing, settings) for name, drawing in study.clusters.items()},
                },
            }
        except InputError as error:
            raise InputError(f"{study.place}: cell {number} ({_words(settings)}): {error}") from error
        cells.append(Piece(number, settings, inputs))
    return cells


def request_of(study: Study, settings: Mapping[str, Any]) -> RunRequest:
    """The run of one cell."""
    workload = [str(_filled(word, settings)) for word in study.workload]
    overrides = {key: _text(_filled(value, settings)) for key, value in study.overrides.items()}
    given = {key: _filled(value, settings) for key, value in study.options.items()}
    for name, value in settings.items():
        if name in options.table():
            given[name] = value
        elif name.startswith("--"):
            workload += [name, str(value)]
        elif "." in name:
            overrides[name] = _text(value)
    platform = str(_filled(study.platform, settings))
    words = [word for text in workload[:1] for word in text.split()] + workload[1:]
    if not words:
        raise InputError("the workload is empty")
    return RunRequest.of(platform, words[0], words[1:], **given, set=overrides)


def _filled(template: Any, settings: Mapping[str, Any]) -> Any:
    """A template with values instead of names; one that is a name alone keeps the value's type."""
    if not isinstance(template, str) or "{" not in template:
        return template
    names = list(fields(template, "template"))
    if len(names) == 1 and template == f"{{{names[0]}}}":
        return settings[names[0]]
    try:
        return template.format_map(settings)
    except (ValueError, KeyError, AttributeError, IndexError, TypeError) as error:
        raise InputError(f"'{template}': {error}") from error


def _text(value: Any) -> str:
    """A value of a platform as its file would have it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())


class InputHashes:
    """Hashes of the files that runs read, each made once."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, ...], str | None] = {}
        self._files_of = cache(provenance.files_of_platform)
        core_file = Path(str(_core.__file__))
        self.core = self._hash("core", core_file.name, [core_file])
        """Hash of the compiled core: another build may predict otherwise."""

    def of(self, request: RunRequest) -> dict[str, str | None]:
        """Hashes by role and name. A file that cannot be read has None: its run says why it failed."""
        found = {
            f"{role} {name}": self._hash(role, name, files)
            for role, name, files in provenance.inputs_of(request, "")
        }
        for file in self._files_of(str(request.platform)):
            found[f"platform {file}"] = self._hash("platform", str(file), [file])
        values = [*request.options.get("set", {}).values(), request.options.get("placement")]
        for value in values:
            if isinstance(value, str) and os.path.isfile(value):
                found[f"option {value}"] = self._hash("option", value, [Path(value)])
        return found

    def _hash(self, role: str, name: str, files: list[Path]) -> str | None:
        key = tuple(map(str, files))
        if key not in self._hashes:
            self._hashes[key] = provenance.described(role, name, files, None)["sha256"]
        return self._hashes[key]
