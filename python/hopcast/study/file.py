"""Study files: what varies, and the run that each cell is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from hopcast import options, text_file
from hopcast.errors import InputError
from hopcast.study import clusters, designs
from hopcast.study.clusters import Drawing
from hopcast.study.expressions import Formula, plain_name
from hopcast.study.factors import Factor, factor
from hopcast.study.run_cell import RESPONSES
from hopcast.toml import tomllib

_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "platform": str,
    "workload": (str, list),
    "options": dict,
    "set": dict,
    "factors": dict,
    "derived": dict,
    "exclude": list,
    "design": dict,
    "files": dict,
    "clusters": dict,
    "responses": dict,
    "repetitions": list,
    "ranking": dict,
}
_PLACES = ("platform", "workload")
"""Keys that may be factors instead."""


@dataclass(frozen=True)
class Ranking:
    """Order in which configurations are listed."""

    by: str = "makespan_s"
    """Response that decides."""
    smallest_is_best: bool = True


@dataclass(frozen=True)
class Study:
    """Contents of a study file."""

    name: str
    text: str
    """The file, verbatim."""
    directory: Path
    """Folder of the file, in which relative paths begin."""
    platform: str
    workload: list[str]
    options: dict[str, Any]
    overrides: dict[str, Any]
    files: dict[str, str]
    """Input files of the workload: by name the text, in which names in braces stand for their values."""
    factors: list[Factor]
    derived: dict[str, Formula]
    exclude: list[Formula]
    design: dict[str, Any]
    responses: dict[str, Formula]
    """Values made of a cell's names and results."""
    clusters: dict[str, Drawing] = field(default_factory=dict)
    """Tables of processors by file, drawn for each cell."""
    repetitions: list[str] = field(default_factory=list)
    """Factors whose levels repeat the cells of the others, beside `seed`."""
    ranking: Ranking = field(default_factory=lambda: Ranking())
    place: str = field(default="study")
    """Name of the file in errors."""

    def settings(self) -> Iterator[dict[str, Any]]:
        """Names and values of each cell, in order: factors, then what is derived."""
        for given in designs.settings(self.factors, self.design, f"{self.place}: [design]"):
            if (cell := self._completed(given)) is not None:
                yield cell

    def _completed(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """The cell with its derived names, or None if a condition excludes it.

        A condition is asked as soon as it can be: `960 % p` may have to exclude before 960 // p is a name.
        """
        known = set(map(plain_name, given))
        early = [formula for formula in self.exclude if formula.names() <= known]
        if any(formula(given) for formula in early):
            return None
        cell = dict(given)
        for name, formula in self.derived.items():
            cell[name] = formula(cell)
        return None if any(formula(cell) for formula in self.exclude if formula not in early) else cell


def load(path: Path) -> Study:
    """Reads a study file. Raises `InputError` for what is none."""
    try:
        text = text_file.read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return read(text, str(path), path.absolute().parent, path.stem)


def read(text: str, place: str, directory: Path, name: str) -> Study:
    """Reads the text of a study file, which errors call `place`."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place}: {error}") from error
    for key, value in written.items():
        if key not in _KEYS:
            raise InputError(f"{place}: unknown key '{key}'; known: {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise InputError(f"{place}: {key} = {value!r} has the wrong type")
    factors = [
        factor(key, value, f"{place}: [factors] {key}") for key, value in written.get("factors", {}).items()
    ]
    study = Study(
        name=written.get("name", name),
        text=text,
        directory=directory,
        platform=_wanted(written, factors, "platform", place),
        workload=_words(_wanted(written, factors, "workload", place)),
        options=written.get("options", {}),
        overrides=dict(_flat(written.get("set", {}))),
        files={
            name: _template(directory / str(path), f"{place}: [files] {name}")
            for name, path in written.get("files", {}).items()
        },
        factors=factors,
        derived=_formulas(written, "derived", place),
        exclude=[Formula(text, f"{place}: exclude") for text in written.get("exclude", [])],
        design=written.get("design", {}),
        responses=_formulas(written, "responses", place),
        clusters={
            name: clusters.read(one, directory, f"{place}: [clusters] {name}")
            for name, one in written.get("clusters", {}).items()
        },
        repetitions=_repetitions(written, factors, place),
        ranking=_ranking(written, place),
        place=place,
    )
    _check_use(study)
    _check_clusters(study)
    return study


def _wanted(written: Mapping[str, Any], factors: list[Factor], key: str, place: str) -> Any:
    if key in written:
        return written[key]
    if any(key in factor.settings(factor.levels[0]) for factor in factors):
        return f"{{{key}}}"
    raise InputError(f"{place}: '{key}' is missing")


def _words(workload: str | list) -> list[str]:
    return shlex.split(workload) if isinstance(workload, str) else [str(word) for word in workload]


def _repetitions(written: Mapping[str, Any], factors: list[Factor], place: str) -> list[str]:
    known = [factor.name for factor in factors]
    given = written.get("repetitions", [])
    for name in given:
        if name not in known:
            raise InputError(f"{place}: repetitions: unknown factor '{name}'; known: {', '.join(known)}")
    return [name for name in known if name in given or name == "seed"]


def _ranking(written: Mapping[str, Any], place: str) -> Ranking:
    given = written.get("ranking", {})
    known = ["makespan_s", *written.get("responses", {})]
    for key, value in given.items():
        choices = {"by": known, "best": ["smallest", "largest"]}.get(key)
        if choices is None:
            raise InputError(f"{place}: [ranking]: unknown key '{key}'; known: by, best")
        if value not in choices:
            raise InputError(f"{place}: [ranking] {key} = {value!r}; known: {', '.join(choices)}")
    return Ranking(given.get("by", "makespan_s"), given.get("best", "smallest") == "smallest")


def _template(path: Path, place: str) -> str:
    try:
        return text_file.read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {path}: {getattr(error, 'strerror', None) or error}") from error


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values by `section.key`, however deep the tables of a file are."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _formulas(written: Mapping[str, Any], section: str, place: str) -> dict[str, Formula]:
    return {
        name: Formula(str(text), f"{place}: [{section}] {name}")
        for name, text in written.get(section, {}).items()
    }


def _check_use(study: Study) -> None:
    """Refuses names that decide nothing, and options that are none."""
    for name in study.options:
        if name not in options.table() or name in ("set", "out"):
            raise InputError(f"{study.place}: [options]: unknown option '{name}'")
    if "stop_at" in study.options or any(factor.name == "stop_at" for factor in study.factors):
        raise InputError(f"{study.place}: stop_at ends runs early, whose times are then none to compare")
    templates = [study.platform, *study.workload, *map(str, study.options.values())]
    templates += [*map(str, study.overrides.values()), *study.files.values()]
    templates += [template for drawing in study.clusters.values() for template in drawing.templates()]
    used = {name for template in templates for name in fields(template, study.place)}
    formulas = [*study.derived.values(), *study.exclude, *study.responses.values()]
    words = {word for formula in formulas for word in formula.names()}
    names = [name for factor in study.factors for name in factor.settings(factor.levels[0])]
    twice = {name for name in [*names, *study.derived] if [*names, *study.derived].count(name) > 1}
    if twice:
        raise InputError(f"{study.place}: '{sorted(twice)[0]}' is named twice")
    _check_once(study, names)
    known = {plain_name(name) for name in [*names, *study.derived]} | RESPONSES.keys()
    for name, formula in study.responses.items():
        for word in sorted(formula.names() - known - study.responses.keys()):
            raise InputError(
                f"{study.place}: [responses] {name}: unknown name '{word}'; known: {', '.join(sorted(known))}"
            )
    unknown = used - set(names) - set(study.derived)
    if unknown:
        raise InputError(f"{study.place}: {{{sorted(unknown)[0]}}} is no factor; known: {', '.join(names)}")
    for one in study.factors:
        parts = one.settings(one.levels[0])
        if not any(name in used or plain_name(name) in words or goes_by_itself(name) for name in parts):
            raise InputError(
                f"{study.place}: [factors] {one.name}: decides nothing; write {{{one.name}}} in the "
                "workload, or call it section.key of the platform, --argument, or an option of a run"
            )


def _check_clusters(study: Study) -> None:
    """Refuses drawn tables that nothing names, or that another file stands for."""
    for name in study.clusters:
        if Path(name).name != name or name in study.files:
            raise InputError(f"{study.place}: [clusters] {name}: the name of a file of its own is wanted")
        if name not in study.overrides.values():
            raise InputError(
                f"{study.place}: [clusters] {name}: nothing names it; write in [set] "
                f'"compute.kernels.0.table" = "{name}"'
            )


def _check_once(study: Study, names: list[str]) -> None:
    """Refuses factors of which the file also gives a fixed value."""
    fixed = {"platform": study.platform, "workload": " ".join(study.workload)}
    for section, given in (("", fixed), ("[options] ", study.options), ("[set] ", study.overrides)):
        for name in names:
            if name in given and f"{{{name}" not in str(given[name]):
                raise InputError(
                    f"{study.place}: [factors] {name}: {section}{name} = {given[name]!r} gives it a value "
                    "already; leave one of them out"
                )


def goes_by_itself(name: str) -> bool:
    """True for a factor that needs no template: its name says what it sets."""
    return name in _PLACES or name in options.table() or name.startswith("--") or "." in name


def fields(template: str, place: str) -> Iterator[str]:
    """Names in braces of a template."""
    try:
        for _, name, _, _ in Formatter().parse(template):
            if name is not None:
                yield name
    except ValueError as error:
        raise InputError(f"{place}: '{template}': {error}") from error
