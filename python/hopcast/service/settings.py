"""Settings of a service: the place of its data, its workers, and the limits of runs and users."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Limits of one run, and of one user."""

    cpu_s: int = 6 * 3600
    """Processor time of a run [s]."""
    wall_s: float = 6 * 3600.0
    """Real time of a run [s], after which it is stopped with partial results."""
    memory_B: int = 8 << 30
    """Address space of the process of a run [B]."""
    disk_B: int = 4 << 30
    """Files that a run may write [B]."""
    threads: int = 8
    """Threads that a run may ask for."""
    attempts: int = 3
    """Starts of a run whose process was killed from outside: the first and two more."""
    grace_s: float = 20.0
    """Time in which a run that was told to stop writes its report [s]."""
    waiting: int = 1000
    """Runs of one user that wait or go on."""
    form_B: int = 2 << 20
    """Body of any HTTP request but those that carry uploads [B]."""
    upload_B: int = 16 << 30
    """One uploaded file [B]."""
    uploads_B: int = 64 << 30
    """All uploaded files of one user [B]."""


@dataclass(frozen=True)
class Settings:
    """Settings of a service."""

    data: Path
    """Folder of database, uploads and runs."""
    workers: int = 2
    """Runs that go on at the same time."""
    limits: Limits = field(default_factory=Limits)
    keep_s: float | None = None
    """Age at which a run that is over is deleted [s]; never if None."""
    keep_B: int | None = None
    """Bytes that all runs that are over may have; the oldest are deleted. Any number if None."""
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    """Names under which a browser may address the service; others are refused, against DNS rebinding."""
    cookie: str = "hopcast"
    """Name of the cookie that holds a session."""

    @property
    def database(self) -> str:
        """Address of the database."""
        return f"sqlite:///{self.data / 'service.sqlite'}"

    def run_folder(self, run: str) -> Path:
        """Folder of a run."""
        return self.data / "runs" / run

    def upload_file(self, upload: str) -> Path:
        """File of an upload."""
        return self.data / "uploads" / upload
