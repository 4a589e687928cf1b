"""A server as a process: `hopcast serve`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hopcast.service import leavings
from hopcast.service.client import Client

HOPCAST = [sys.executable, "-m", "hopcast"]


class Server:
    """A `hopcast serve` on a free port, or as a configuration file says."""

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        usual = () if "--config" in flags else ("--no-browser", "--port", "0", "--data", str(data))
        self.process = subprocess.Popen(
            [*HOPCAST, "serve", *usual, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        printed = "".join(self.process.stdout.readline() for _ in range(3))
        self.address = re.findall(r"http://localhost:\d+", printed)[0]
        self.entry = next(iter(re.findall(r"http://\S+/enter\?token=\S+", printed)), "")
        self.token = (data / "token").read_text().strip()
        self.client = Client(self.address, self.token)

    def end(self, number: int = signal.SIGTERM) -> str:
        """Ends it by a signal, and gives what it has written on standard error."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]


class Unprivileged:
    """A server with a configuration, as a user who is not root: programs run in a sandbox there."""

    def __init__(self, configuration: str = "[programs]\nenabled = true\n", on: str = "local") -> None:
        self.user = "nobody" if os.geteuid() == 0 else None
        self._python = _python_of(self.user)
        self.folder = Path(tempfile.mkdtemp(prefix="hopcast-programs-"))
        self.data = self.folder / "data"
        file = self.folder / "service.toml"
        file.write_text(
            f'data = "{self.data}"\non = "{on}"\n[server]\nlisten = "127.0.0.1:0"\n{configuration}'
        )
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._said = open(self.folder / "said.txt", "w")  # noqa: SIM115, for it is closed at the end
        command = [self._python, "-m", "hopcast", "serve", "--config", str(file)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._said, text=True, cwd=self.folder, **_as(self.user)
        )
        assert self.process.stdout is not None
        printed = "".join(self.process.stdout.readline() for _ in range(3))
        self.address = re.findall(r"http://localhost:\d+", printed)[0]
        token = (self.data / "token").read_text().strip()
        self.client, self.bearer = Client(self.address, token), {"Authorization": f"Bearer {token}"}

    def said(self) -> str:
        """Words of the server on standard error."""
        return (self.folder / "said.txt").read_text()

    def close(self) -> None:
        """Ends it and removes all that it has written."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        self._said.close()
        leavings.remove(self.folder)


def _as(user: str | None) -> dict[str, Any]:
    """Arguments of `subprocess` for a process of another user, who finds hopcast where we do."""
    paths = ":".join(path for path in sys.path if os.path.isabs(path) and Path(path).is_dir())
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    if user is None:
        return {"env": environment}
    paths = ":".join(path for path in paths.split(":") if "site-packages" in path or path.endswith("/python"))
    return {"env": environment | {"PYTHONPATH": paths}, "user": user, "group": "nogroup", "extra_groups": []}


def _python_of(user: str | None) -> str:
    """An interpreter of our version that a user may start; the test is skipped where there is none."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}"):
        command = [candidate, "-c", "import hopcast, fastapi, sqlalchemy, uvicorn, pyseccomp"]
        with contextlib.suppress(OSError):
            if subprocess.run(command, capture_output=True, cwd="/", **_as(user)).returncode == 0:
                return candidate
    pytest.skip(f"no {version} with hopcast's libraries that {user or 'this user'} may start")
