"""`RunRequest`: everything that decides a run, as one value, which files hold as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from hopcast import _core, options, text_file, workloads
from hopcast.errors import InputError

VERSION = 1
"""Version of the format of request files."""

FILE = "request.json"
"""Name of a request in the directory of a report."""


@dataclass(frozen=True)
class RunRequest:
    """A run that is asked for."""

    platform: str | dict[str, str]
    """A preset's name, the path of a platform file, or `{"toml": text}`."""
    workload: dict[str, Any]
    """Workload: its `kind`, and the fields of that kind, see `hopcast.workloads`."""
    options: dict[str, Any] = field(default_factory=dict)
    """Values of the options that are given, by name, see `hopcast.options`."""
    directory: str | None = None
    """Folder in which relative paths begin and programs run; that of the process if None."""
    made_by: dict[str, Any] | None = None
    """Record of the run that this request has made: versions, and inputs with their hashes."""
    function: Callable | None = field(default=None, compare=False)
    """The rank function itself, where it was passed as such."""
    call: tuple[tuple, dict] = field(default=((), {}), compare=False)
    """Arguments of the rank function, which may be any objects."""
    command: tuple[str, ...] = field(default=(), compare=False)
    """Words of the command line that asks for it, if one does."""

    @staticmethod
    def of(
        platform: str | os.PathLike | Mapping[str, str],
        program: Callable | str | os.PathLike,
        args: Iterable = (),
        kwargs: Mapping[str, Any] | None = None,
        command: Iterable[str] = (),
        **given: Any,
    ) -> RunRequest:
        """Makes the request that `hopcast.run` makes of these. Raises `InputError` where it cannot be run."""
        args, kwargs = tuple(args), dict(kwargs or {})
        described: str | dict[str, str] = options.plain(platform)
        if isinstance(described, str):
            workloads.check_text("the platform", described)
        placement = given.get("placement")
        if isinstance(placement, (str, os.PathLike)):
            workloads.check_text("placement", os.fspath(placement))
        kind = workloads.recognised(program)
        request = RunRequest(
            described,
            {"kind": kind.KIND} | kind.describe(program, args, kwargs),
            options.given(given),
            function=program if callable(program) else None,
            call=(args, kwargs),
            command=tuple(command),
        )
        request.check()
        return request

    @staticmethod
    def from_json(text: str, name: str = "request") -> RunRequest:
        """Reads a request. Raises `InputError`, which calls it by `name`, for what is none."""
        try:
            _core.check_request(text, False)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        fields = json.loads(text)
        fields.pop("version", None)
        own = {key: fields.pop(key, None) for key in ("platform", "workload", "directory", "made_by")}
        return RunRequest(options=options.given(fields), **own)

    @staticmethod
    def load(path: str | os.PathLike) -> RunRequest:
        """Reads a request from a file, or from the directory of a report.

        Its relative paths begin in its `directory`, by default that of the file.
        """
        file = Path(path) / FILE if Path(path).is_dir() else Path(path)
        try:
            text = text_file.read(file)
        except FileNotFoundError:
            raise InputError(f"{path}: no request here (a report is a directory with a {FILE})") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
        request = RunRequest.from_json(text, str(file))
        beside = file.absolute().parent / (request.directory or ".")
        return replace(request, directory=os.path.normpath(beside))

    def check(self) -> None:
        """Raises `InputError` where the request cannot be run, with options as its writer spells them."""
        _core.check_request(self.to_json(), bool(self.command))

    def fields(self) -> dict[str, Any]:
        """The request as JSON has it."""
        own = {"directory": self.directory, "made_by": self.made_by}
        own = {key: value for key, value in own.items() if value is not None}
        return {"version": VERSION, "platform": self.platform, "workload": self.workload} | self.options | own

    def to_json(self, **changes: Any) -> str:
        """The request as JSON, with other values of some fields."""
        return json.dumps(self.fields() | changes, ensure_ascii=False)

    def save(self, path: str | os.PathLike, moves: bool = True) -> None:
        """Writes the request, with the present directory as that of its relative paths.

        moves: whether that is relative to the file if the file is in it, so that both can be moved together.
        """
        file, here = Path(path), Path(self.directory or os.getcwd())
        folder = file.absolute().parent
        is_inside = folder == here or here in folder.parents
        directory = os.path.relpath(here, folder) if moves and is_inside else str(here)
        text = json.dumps(self.fields() | {"directory": directory}, indent=2, ensure_ascii=False)
        try:
            file.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot write the request: {error.strerror or error}") from error

    def changed(self, **given: Any) -> RunRequest:
        """The request with other values of some options; None takes one away.

        Values of `set` are laid over those that it has: an empty mapping changes nothing.
        """
        if given.get("set") == {}:
            del given["set"]
        new = options.given({name: value for name, value in given.items() if value is not None})
        kept = {name: value for name, value in self.options.items() if name not in given}
        if "set" in new:
            before = {
                key: value for key, value in self.options.get("set", {}).items() if key not in new["set"]
            }
            new["set"] = before | new["set"]
        return replace(self, options=kept | new)

    def option(self, name: str) -> Any:
        """Value of an option, or its default."""
        return self.options.get(name, options.table()[name].default)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Works in the request's directory meanwhile. Raises `InputError` in any thread but the main one."""
        here = os.getcwd()
        if self.directory is None or os.path.realpath(self.directory) == os.path.realpath(here):
            yield
            return
        if current_thread() is not main_thread():
            raise InputError(
                f"this request is to run in {self.directory}, but all threads share the working directory "
                f"{here}"
            )
        try:
            os.chdir(self.directory)
        except OSError as error:
            raise InputError(f"{self.directory}: the directory of this request: {error.strerror}") from error
        try:
            yield
        finally:
            os.chdir(here)
