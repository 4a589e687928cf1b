"""Provenance of a report: all that is needed to make it again and to tell it from others."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import options, workloads
from hopcast.toml import tomllib

if TYPE_CHECKING:
    from hopcast.outcome import Report
    from hopcast.request import RunRequest

_NO_OPTIONS = ("set", "out")
"""Options that are not listed: overrides stand by themselves, and the place of a report decides nothing."""

_FILES_OF_PLATFORMS = (("topology", "file"), ("placement", "file"), ("hosts", "map"))
"""Keys of platforms that name files: relative to the platform file, or to the working directory if a flag
sets them."""

_MOST_AFTER_INTERRUPT_B = 2**28
"""Size of inputs up to which they are hashed after Ctrl-C, when the user does not want to wait."""


def add(report: Report, request: RunRequest) -> None:
    """Adds `made_by` to the summary of `report`, which `request` has made, and the request to the report."""
    summary = report.summary
    stopped = summary.get("stopped")
    most_B = _MOST_AFTER_INTERRUPT_B if stopped and stopped["by"] == "interrupt" else None
    toml = summary.pop("platform_toml", "")
    platform_name = request.platform if isinstance(request.platform, str) else "inline platform"
    versions = {
        "hopcast_version": summary["hopcast_version"],
        "python": platform.python_version(),
        "system": platform.platform(terse=True),
    }
    inputs = [described(role, name, files, most_B) for role, name, files in inputs_of(request, toml)]
    overrides = request.options.get("set", {})
    summary["made_by"] = versions | {
        "host": platform.node(),
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": list(request.command) if request.command else None,
        "directory": os.getcwd(),
        "platform": {"name": platform_name, "toml": toml},
        "overrides": [{"key": key, "value": _text(value)} for key, value in overrides.items()],
        "options": _options(request),
        "arguments": arguments(request.workload),
        "inputs": inputs,
    }
    made_by = versions | {"inputs": inputs, "outcome_hash": summary["outcome_hash"]}
    made_by["stopped"] = stopped and stopped["by"]
    report.request = replace(request, directory=os.getcwd(), made_by=made_by)


def _options(request: RunRequest) -> dict[str, Any]:
    """All options of any workload, with those that are given beside them; None for one that was not given."""
    all_of_them = {
        name: request.options.get(name, option.unset)
        for name, option in options.table().items()
        if "function" in option.workloads or name in request.options
    }
    placement = request.options.get("placement")
    if isinstance(placement, list):
        all_of_them["placement"] = f"list of {len(placement)} places"
    return {name: value for name, value in all_of_them.items() if name not in _NO_OPTIONS}


def arguments(workload: Mapping[str, Any]) -> list[str]:
    """Words and named values that were given to the workload."""
    words = workload.get("words") or workload.get("arguments") or []
    named = workload.get("keywords", {})
    if isinstance(words, Mapping):
        words, named = [], words
    return [*map(_text, words), *(f"{name}={_text(value)}" for name, value in named.items())]


def _text(value: Any) -> str:
    """A value in at most 400 characters."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


_Input = tuple[str, str, list[Path]]
"""Role, name and files of an input."""


def inputs_of(request: RunRequest, toml: str) -> Iterator[_Input]:
    """Inputs on which the result depends; `toml`: the platform in full."""
    given, beside = request.options.get("set", {}), Path()
    if isinstance(request.platform, str):
        beside = Path(request.platform).parent
        if Path(request.platform).is_file():
            yield "platform", request.platform, [Path(request.platform)]
    content = tomllib.loads(toml)
    for section, key in _FILES_OF_PLATFORMS:
        name = content.get(section, {}).get(key)
        if name is None:
            continue
        is_flag = f"{section}.{key}" in given or (section == "placement" and "placement" in request.options)
        yield section, name, [Path(name) if is_flag else beside / name]
    yield from workloads.named(request.workload["kind"]).inputs(request)


def files_of_platform(platform: str) -> list[Path]:
    """Files that a platform names, such as its graph and its tables of kernels, beside its own file."""
    from hopcast import core

    beside = Path(platform).parent
    texts = set(_texts(tomllib.loads(core.platform_text(platform, (), True))))
    # `Path.is_file` fails for texts that are too long to be names.
    return sorted({beside / text for text in texts if os.path.isfile(beside / text)})


def _texts(value: Any) -> Iterator[str]:
    """All texts within a value of a platform file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def described(role: str, name: str, files: list[Path], most_B: int | None) -> dict[str, Any]:
    """An input with the size [B] and hash of its files; None for both if they cannot be read any more."""
    try:
        size_B = sum(file.stat().st_size for file in files)
        wanted = most_B is None or size_B <= most_B
        sha256 = _sha256(files) if wanted else None
    except OSError:
        size_B, sha256 = None, None
    path = os.path.abspath(name) if role.startswith("trace") else str(files[0].resolve())
    return {
        "role": role,
        "name": name,
        "path": path,
        "files": len(files),
        "size_B": size_B,
        "sha256": sha256,
    }


def _sha256(files: Iterable[Path]) -> str:
    """The hash of one file, or of the list of hashes of several, as `sha256sum` writes it by file name."""
    named = sorted((file.name, file) for file in files)
    if len(named) == 1:
        return _sha256_of_file(named[0][1])
    lines = "".join(f"{_sha256_of_file(file)}  {name}\n" for name, file in named)
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def _sha256_of_file(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(2**20):
            digest.update(block)
    return digest.hexdigest()
