"""Sources of uncertainty of a run: seeds, values, errors of the fit and of the model, clusters and days.

A source changes the setting of a replicate by the replicate's number alone, so that the same replicate can be
run with one source varied, or with all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopcast import core
from hopcast.errors import InputError
from hopcast.overrides import check_keys
from hopcast.request import RunRequest
from hopcast.study import fit_errors, model_error
from hopcast.toml import tomllib

SEEDS, FIT, MODEL, CLUSTER, DAY = "seeds", "fit", "model", "cluster", "day"
_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(.*)", re.S)


@dataclass(frozen=True)
class Setting:
    """Seed, values and processors of one replicate of a run."""

    seed: int
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Values of the platform by key."""
    cluster: int = 0
    """Seed of the drawn cluster."""
    day: int = 0
    factor: float = 1.0
    """Factor of the predicted time."""


@dataclass(frozen=True)
class Source:
    """A source of uncertainty."""

    name: str
    words: str
    varied: Callable[[Setting, int], Setting]
    """The setting of a replicate, with what this source draws for its number."""


class Clusters:
    """Drawn processors in place of a table of the platform's kernel."""

    def __init__(self, model: Path, request: RunRequest, folder: Path) -> None:
        """`folder`: place of the tables."""
        from hopcast.cluster import model as models

        self._model, self._folder = models.read(model), folder
        platform = _platform(request)
        kernels = platform.get("compute", {}).get("kernels", [])
        tables = [number for number, kernel in enumerate(kernels) if "table" in kernel]
        if len(tables) != 1:
            raise InputError(
                f"--cluster {model}: the platform has {len(tables)} kernels with a table of processors: it "
                "needs one, whose table is drawn anew"
            )
        self._key = f"compute.kernels.{tables[0]}.table"
        self._hosts = core.topology_survey(str(request.platform), _overrides(request), 1)["hosts"]

    def overrides(self, setting: Setting) -> dict[str, str]:
        """The table of a setting's cluster and day, as a value of the platform."""
        from hopcast.cluster import draw, table

        file = self._folder / f"nodes-{setting.cluster}-{setting.day}.csv"
        if not file.exists():
            drawn = draw.draw(self._model, self._hosts, seed=setting.cluster, day=setting.day)
            said = f"Replicate: cluster {setting.cluster}, day {setting.day}\nModel: {self._model.source}"
            file.write_text(table.text(drawn, said), encoding="utf-8")
        return {self._key: str(file)}


def sources(
    request: RunRequest, spreads: Mapping[str, float], clusters: Clusters | None, only: Sequence[str] = ()
) -> list[Source]:
    """Sources of a run: those that it has, or those of them that `only` names.

    spreads: relative standard deviations of values of the platform, by key.
    """
    found = [_of_value(request, key, spread) for key, spread in spreads.items()]
    if (fit := _of_fit(request, spreads)) is not None:
        found.append(fit)
    if (model := _of_model(request)) is not None:
        found.append(model)
    if clusters is not None:
        found.append(Source(CLUSTER, "other processors of the model", _other_cluster))
        found.append(Source(DAY, "other days of the same processors", _other_day))
    found.append(Source(SEEDS, _words_of_seeds(request), _other_seed))
    known = [source.name for source in found]
    for name in only:
        if name not in known:
            raise InputError(f"--vary {name}: this run varies {', '.join(known)}")
    return [source for source in found if not only or source.name in only]


def _words_of_seeds(request: RunRequest) -> str:
    """Sources of the differences between equal runs, in words."""
    words = "noise, random placements and traffic"
    is_measured = request.workload["kind"] in ("compiled", "mpi4py") and str(
        request.option("compute")
    ).startswith("measured")
    return f"{words}; computing, which each run measures anew" if is_measured else words


def _other_seed(setting: Setting, number: int) -> Setting:
    return replace(setting, seed=setting.seed + number)


def _other_cluster(setting: Setting, number: int) -> Setting:
    return replace(setting, cluster=setting.cluster + number)


def _other_day(setting: Setting, number: int) -> Setting:
    return replace(setting, day=setting.day + number)


def _of_value(request: RunRequest, key: str, spread: float) -> Source:
    number, unit = _value(request, key)

    def varied(setting: Setting, replicate: int) -> Setting:
        factor, attempt = 0.0, 0
        while factor <= 0:
            stream = _stream(request, key, replicate, attempt)
            factor, attempt = float(1 + spread * stream.standard_normal()), attempt + 1
        text = f"{number * factor:.12g}{unit}"
        return replace(setting, overrides={**setting.overrides, key: text})

    return Source(key, f"± {100 * spread:g} %", varied)


def _of_fit(request: RunRequest, spreads: Mapping[str, float]) -> Source | None:
    """Errors of the platform's fit, other than of values that the run itself gives."""
    if not isinstance(request.platform, str):
        return None
    errors = fit_errors.read(core.platform_text(request.platform, (), False))
    if not errors.values:
        return None
    given = {_plain(key) for key in [*spreads, *request.options.get("set", {})]}

    def varied(setting: Setting, replicate: int) -> Setting:
        drawn = errors.drawn(_stream(request, FIT, replicate, 0))
        own = {key: value for key, value in drawn.items() if _plain(key) not in given}
        return replace(setting, overrides={**own, **setting.overrides})

    return Source(FIT, errors.words(), varied)


def _of_model(request: RunRequest) -> Source | None:
    """Errors of programs that were predicted on the platform and measured.

    They stay where the run changes the platform, and say that they were measured without it.
    """
    if not isinstance(request.platform, str):
        return None
    errors = model_error.read(tomllib.loads(core.platform_text(request.platform, (), False)))
    if errors is None:
        return None

    def varied(setting: Setting, replicate: int) -> Setting:
        return replace(setting, factor=errors.factor(_stream(request, MODEL, replicate, 0)))

    return Source(MODEL, errors.words([*request.options.get("set", {})]), varied)


def _stream(request: RunRequest, name: str, replicate: int, attempt: int) -> Any:
    """Random numbers of one replicate: those of other names and numbers are as they were without it."""
    import numpy

    return numpy.random.default_rng([request.option("seed"), replicate, attempt, *name.encode()])


def _plain(key: str) -> str:
    return key.replace("[", ".").replace("]", "")


def _overrides(request: RunRequest) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in request.options.get("set", {}).items())


def _platform(request: RunRequest) -> dict[str, Any]:
    return tomllib.loads(core.platform_text(str(request.platform), _overrides(request), True))


def _value(request: RunRequest, key: str) -> tuple[float, str]:
    """Number and unit of a value of the platform."""
    if not isinstance(request.platform, str):
        raise InputError(f"--uncertain {key}: the platform must be a preset or a file")
    parts = _plain(key).split(".")
    if parts[0] == "calibration":
        raise InputError(
            f"--uncertain {key}: it says how the platform was measured, and no run depends on it"
        )
    value: Any = _platform(request)
    for part in parts:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise InputError(f"--uncertain {key}: the platform has no such value") from None
    found = _QUANTITY.fullmatch(str(value))
    if isinstance(value, bool) or found is None:
        raise InputError(f"--uncertain {key}: {value!r} is no quantity")
    return float(found[1]), found[2]


def spreads_of(texts: Sequence[str]) -> dict[str, float]:
    """Relative deviations of `KEY=5%`."""
    found = {}
    check_keys("--uncertain", [text.partition("=")[0].strip() for text in texts])
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            share = float(value.strip().removesuffix("%")) / 100
        except ValueError:
            share = -1.0
        if not equals or not value.strip().endswith("%") or not 0 < share < 1:
            raise InputError(f"--uncertain {text}: write section.key=5%, a standard deviation below 100 %")
        found[key.strip()] = share
    return found
