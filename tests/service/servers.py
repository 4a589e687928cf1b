"""A server as a process: `hopcast serve`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from hopcast.service.client import Client

HOPCAST = [sys.executable, "-m", "hopcast"]


class Server:
    """A `hopcast serve` on a free port."""

    def __init__(self, data: Path, *flags: str) -> None:
        self.data = data
        command = [*HOPCAST, "serve", "--no-browser", "--port", "0", "--data", str(data), *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        printed = "".join(self.process.stdout.readline() for _ in range(3))
        self.entry = re.findall(r"http://\S+/enter\?token=\S+", printed)[0]
        self.address = self.entry.partition("/enter")[0]
        self.token = (data / "token").read_text().strip()
        self.client = Client(self.address, self.token)

    def end(self, number: int = signal.SIGTERM) -> str:
        """Ends it by a signal, and gives what it has written on standard error."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]
