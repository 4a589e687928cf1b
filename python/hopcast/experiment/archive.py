"""Archive of an experiment: one zip file that holds all that was done, and repeats it.

The same for machines and for simulations, and written however an experiment ends.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shlex
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopcast import __version__, provenance
from hopcast.errors import InputError
from hopcast.experiment import files, information
from hopcast.experiment.history import now
from hopcast.experiment.nodes import CommandFailed, NodeDied
from hopcast.experiment.pieces import LOST, Piece, Result

if TYPE_CHECKING:
    from hopcast.experiment.base import Experiment

HISTORY = "history.jsonl"
INFO, RESULTS, PIECES, INSTALL, SCRIPT, PLATFORM = (
    "info.yaml",
    "results.csv",
    "pieces.csv",
    "install.yaml",
    "experiment.py",
    "platform.toml",
)
BESIDE_PLATFORM = "platform/"
"""Folder of the files that the platform names relative to its own."""


def source_of(kind: type) -> tuple[str, str]:
    """Text of the file that defines an experiment, and its hash; only a name of one typed in a terminal."""
    try:
        text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    except (OSError, TypeError):
        return "", kind.__qualname__
    return text, hashlib.sha256(text.encode()).hexdigest()


def rows(pieces: Sequence[Piece], results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """A row for each measurement of each piece, and one for each piece that has none."""
    table = []
    for piece in pieces:
        result = results.get(piece.key, Result(LOST, "was not run"))
        head = {"piece": piece.number, **piece.parameters, "state": result.state, "why": result.why}
        table += [head | dict(row) for row in (result.rows or [result.values])]
    return table


def write(experiment: Experiment, file: Path) -> Path:
    """Writes the archive, whole or not at all."""
    import yaml

    draft = file.with_name(f".{file.name}.draft")
    file.parent.mkdir(parents=True, exist_ok=True)
    nodes = dict(_nodes(experiment))
    versions = nodes.pop("versions", {})
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(INFO, yaml.safe_dump(_info(experiment, file, versions), sort_keys=False, width=110))
        archive.writestr("history.json", experiment.history.to_json())
        archive.writestr("commands.log", experiment.history.to_text())
        archive.writestr(RESULTS, files.to_csv(experiment.rows()))
        if monitored := experiment.monitored():
            archive.writestr("monitoring.csv", files.to_csv(monitored))
        for name, text in nodes.items():
            archive.writestr(name, text)
        for name, content in _verbatim(experiment):
            archive.writestr(name, content)
        for name, path in experiment.added.items():
            for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if one.is_file():
                    inner = f"files/{name}" + (
                        f"/{one.relative_to(path).as_posix()}" if path.is_dir() else ""
                    )
                    archive.write(one, inner)
    draft.replace(file)
    return file


def _nodes(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    """Information about the nodes by file name, and versions by node; of a node that is gone, why."""
    versions: dict[str, dict[str, str]] = {}
    # The end was asked for already: what is asked of the nodes now is short.
    asked, experiment.stop.asked_by = experiment.stop.asked_by, None
    try:
        for node in experiment.nodes:
            try:
                for name, text in information.of_node(node):
                    yield f"information/{node.host}/{name}", text
                versions[node.host] = information.versions(node)
            except (NodeDied, CommandFailed) as error:
                yield f"information/{node.host}/unknown.txt", f"{error}\n"
    finally:
        experiment.stop.asked_by = experiment.stop.asked_by or asked
    for host, why in experiment.nodes.dead.items():
        yield f"information/{host}/unknown.txt", f"{why}\n"
    yield "versions", versions


def _info(experiment: Experiment, file: Path, versions: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about the run."""
    from hopcast.experiment import builtin

    kind = type(experiment)
    states = [row["state"] for row in {row["piece"]: row for row in experiment.rows()}.values()]
    return {
        "experiment": kind.__name__,
        "built_in": next((name for name, one in builtin.EXPERIMENTS.items() if one is kind), ""),
        "experiment_sha256": source_of(kind)[1],
        "pieces_sha256": _hash(experiment.sources["pieces"]),
        "platform_sha256": _hash(experiment.place.simulated),
        "hopcast": __version__,
        "place": experiment.place.again or experiment.place.text,
        "command": shlex.join(["hopcast", *sys.argv[1:]]) if sys.argv[1:] else "",
        "replay_command": shlex.join(["hopcast", "experiment", "run", file.name]),
        "started": experiment.began.isoformat(timespec="microseconds"),
        "written": now(),
        "aborted": experiment.ended or False,
        "steps": experiment.steps,
        "pieces": {state: states.count(state) for state in dict.fromkeys(states)},
        "nodes": [node.host for node in experiment.nodes],
        "dead_nodes": dict(experiment.nodes.dead),
        "versions": dict(versions),
        "differences": _differences(versions),
        "machine_settings": [setting.record() for setting in experiment.settings],
        "install": dict(experiment.install),
        "repositories": list(experiment.repositories),
        "notes": list(experiment.notes),
    }


def _differences(versions: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Names of versions that are not the same on all nodes."""
    names = dict.fromkeys(name for found in versions.values() for name in found)
    return [name for name in names if len({found.get(name) for found in versions.values()}) > 1]


def _verbatim(experiment: Experiment) -> Iterator[tuple[str, bytes]]:
    """The files that were given, byte for byte, and the script."""
    pieces, install = experiment.sources["pieces"], experiment.sources["install"]
    if isinstance(pieces, (str, Path)):
        yield PIECES, Path(pieces).read_bytes()
    elif pieces:
        yield PIECES, files.to_csv(piece.parameters for piece in experiment.pieces).encode()
    if isinstance(install, (str, Path)):
        yield INSTALL, Path(install).read_bytes()
    text, _ = source_of(type(experiment))
    if text:
        yield SCRIPT, text.encode()
    platform = experiment.place.simulated
    if platform and os.path.isfile(platform):
        yield PLATFORM, Path(platform).read_bytes()
        beside = Path(platform).parent
        for path in map(Path, map(os.path.normpath, provenance.files_of_platform(platform))):
            if path.is_relative_to(beside):
                yield f"{BESIDE_PLATFORM}{path.relative_to(beside).as_posix()}", path.read_bytes()


def _hash(file: Any) -> str | None:
    if isinstance(file, (str, Path)) and os.path.isfile(file):
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return None


@dataclass(frozen=True)
class Unpacked:
    """Files of an archive from which it is repeated; None for each that it has none of."""

    script: Path
    built_in: str
    """Name of an experiment that comes with hopcast; empty for others."""
    place: str
    """Text of `--on`."""
    pieces: Path | None
    install: Path | None
    platform: Path | None


def unpack(file: Path, folder: Path) -> Unpacked:
    """Takes out of an archive all that repeats it."""
    import yaml

    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            for name in sorted(names):
                if name in (SCRIPT, PIECES, INSTALL) or name.startswith(("files/", BESIDE_PLATFORM)):
                    place = archive.extract(name, folder)
                    # Programs stay programs.
                    if archive.getinfo(name).external_attr >> 16 & 0o100:
                        os.chmod(place, 0o755)
            if PLATFORM in names:
                archive.extract(PLATFORM, folder / BESIDE_PLATFORM)
            info = yaml.safe_load(archive.read(INFO)) if INFO in names else {}
    except (OSError, zipfile.BadZipFile, yaml.YAMLError) as error:
        raise InputError(f"{file}: is no archive of an experiment: {error}") from error
    if SCRIPT not in names:
        raise InputError(f"{file}: is no archive of an experiment that can be repeated: it has no {SCRIPT}")
    return Unpacked(
        script=folder / SCRIPT,
        built_in=info.get("built_in", ""),
        place=info.get("place", "local"),
        pieces=folder / PIECES if PIECES in names else None,
        install=folder / INSTALL if INSTALL in names else None,
        platform=folder / BESIDE_PLATFORM / PLATFORM if PLATFORM in names else None,
    )


def read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts and results of an archive."""
    import csv
    import io

    import yaml

    try:
        with zipfile.ZipFile(file) as archive:
            info = yaml.safe_load(archive.read(INFO))
            text = archive.read(RESULTS).decode()
    except FileNotFoundError as error:
        raise InputError(f"{file}: there is no such file") from error
    except (OSError, zipfile.BadZipFile, KeyError, yaml.YAMLError) as error:
        raise InputError(f"{file}: is no archive of an experiment: {error}") from error
    reader = csv.DictReader(io.StringIO(text))
    return info, [{name: files.value_of(value) for name, value in row.items()} for row in reader]
