"""Synthetic patterns, by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import core_run
from hopcast.core_run import Watch
from hopcast.errors import InputError
from hopcast.workloads import check_text

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

KIND = "pattern"


def recognises(program: Callable | str | os.PathLike) -> bool:
    """True for whatever no other kind has recognised: the core knows the names."""
    return not callable(program)


def describe(program: str | os.PathLike, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    name = os.fspath(program)
    check_text("the workload", name)
    if os.sep in name and not os.path.exists(name):
        raise InputError(f"{name}: there is no such file or folder")
    written = {key.replace("_", "-"): str(value) for key, value in kwargs.items()}
    for key, value in pairs([str(word) for word in args], name).items():
        if key in written:
            raise InputError(f"{name}: {key} is given twice, in 'args' and in 'kwargs'")
        written[key] = value
    return {"name": name, "arguments": written}


def inputs(request: RunRequest) -> Iterator[tuple[str, str, list[Path]]]:
    return iter(())


def start(request: RunRequest, watch: Watch) -> Report | None:
    with watch.signals:
        return core_run.report(core_run.run(request.to_json(), None, watch))


def pairs(words: Sequence[str], workload: str) -> dict[str, str]:
    """The arguments of a pattern: `--bytes 64KiB` or `--bytes=64KiB`, as texts by name."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise InputError(
                f"{workload}: unexpected argument '{word}'; write --name value, such as --bytes 64KiB"
            )
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not rest or rest[0].startswith("--"):
                raise InputError(f"{workload}: --{name} needs a value")
            value = rest.pop(0)
        if name in found:
            raise InputError(f"{workload}: --{name} is given twice")
        found[name] = value
    return found
