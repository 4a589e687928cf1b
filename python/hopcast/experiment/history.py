"""Commands of an experiment: where, when and with which output each was run."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|AUTH|PRIVATE|API_?KEY|ACCESS_?KEY|SESSION", re.I)
_IN_ADDRESS = re.compile(r"(\w+://)[^/\s@]+@")
HIDDEN = "(hidden)"


@dataclass(frozen=True)
class Command:
    """One command that has ended."""

    node: str
    command: str
    directory: str
    start: str
    """Begin, in UTC as ISO 8601."""
    end: str
    status: int
    """Exit code; negative for a signal."""
    stdout: str
    stderr: str


class History:
    """Commands in the order of their ends, also in a file, so that a killed experiment keeps its own."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.commands: list[Command] = []
        if file is not None and file.exists():
            lines = file.read_text(encoding="utf-8").splitlines()
            self.commands = [Command(**json.loads(line)) for line in lines if line.endswith("}")]

    def add(self, command: Command) -> None:
        """Keeps a command."""
        with self._lock:
            self.commands.append(command)
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(command), ensure_ascii=False) + "\n")

    def to_json(self) -> str:
        """All commands, for programs."""
        return json.dumps([asdict(command) for command in self.commands], indent=1, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """All commands, for people."""
        return "".join(_text(command) for command in self.commands)


def _text(command: Command) -> str:
    head = f"{command.start} {command.node}:{command.directory}$ {command.command}\n"
    body = "".join(f"  {line}\n" for line in (command.stdout + command.stderr).splitlines())
    return head + body + (f"  exit code {command.status}\n" if command.status else "")


def now() -> str:
    """The time in UTC, as the history has it."""
    return datetime.fromtimestamp(time.time(), timezone.utc).isoformat(timespec="microseconds")


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment whose secrets are hidden: by their names, and within addresses."""
    return {
        name: HIDDEN if _SECRET.search(name) else _IN_ADDRESS.sub(rf"\1{HIDDEN}@", value)
        for name, value in sorted(environment.items())
    }
