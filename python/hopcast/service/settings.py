"""Settings of a service: its data, workers and limits, who may sign in, and where it listens."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, make_url


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
    processes: int = 256
    """Processes and threads of a program in a sandbox."""
    attempts: int = 3
    """Starts of a run whose process was killed from outside: the first and two more."""
    grace_s: float = 20.0
    """Time in which a run that was told to stop writes its report [s]."""
    waiting: int = 1000
    """Runs of one user that wait or go on."""
    cells: int = 1000
    """Cells of one study."""
    kept_B: int | None = None
    """Bytes of all runs of one user that are over; any number if None."""
    form_B: int = 2 << 20
    """Body of any HTTP request but those that carry uploads [B]."""
    upload_B: int = 16 << 30
    """One uploaded file [B]."""
    uploads_B: int = 64 << 30
    """All uploaded files of one user [B]."""


class SignIn(enum.Enum):
    """The way in which users of a service prove who they are."""

    LOCAL = "local"
    """One user, by the one-time token of the address that is printed."""
    MAIL = "mail"
    """Addresses of e-mail, by codes that are sent to them."""
    PROXY = "proxy"
    """Names that a proxy in front has checked, by OpenID Connect for instance, and sends in a header."""


class Encryption(enum.Enum):
    """Encryption of the connection to a mail server."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True)
class Smtp:
    """Mail server that sends codes."""

    host: str
    port: int
    encryption: Encryption
    sender: str
    """Address in the field `From`."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Accounts:
    """Users of a service."""

    sign_in: SignIn = SignIn.LOCAL
    addresses: frozenset[str] = frozenset()
    """Names that may sign in, in small letters."""
    domains: frozenset[str] = frozenset()
    """Domains whose addresses may sign in; `*` stands for all."""
    operators: frozenset[str] = frozenset()
    """Names that may list and block users; they may sign in, too."""
    header: str = "x-forwarded-email"
    """Header in which a proxy sends the name of the user, in small letters."""
    sign_out: str | None = None
    """Address of the proxy that ends its session."""
    smtp: Smtp | None = None

    def admits(self, name: str) -> bool:
        """True if a user of this name may sign in."""
        if self.sign_in is SignIn.LOCAL or name in self.addresses or name in self.operators:
            return True
        if self.sign_in is SignIn.PROXY and not self.addresses and not self.domains:
            return True  # the proxy alone decides
        local, _, domain = name.rpartition("@")
        return "*" in self.domains or (bool(local) and domain in self.domains)


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
    keep_uploads_s: float = 7 * 24 * 3600.0
    """Life of an upload [s]; runs that read it keep their own link to its file."""
    database_url: URL | None = None
    """Address of the database; a file in the folder of the data if None."""
    listen: tuple[str, int] = ("127.0.0.1", 8421)
    """Address and port on which the service listens."""
    public_url: str | None = None
    """Address under which browsers reach a service behind a proxy, without a path."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose headers about their clients are believed."""
    accounts: Accounts = field(default_factory=Accounts)
    programs: bool = False
    """True to run Python functions and compiled programs, in a sandbox."""
    scheduler: str | None = None
    """Address of the scheduler of Dask whose workers run what is submitted; this machine does if None."""

    @property
    def database(self) -> URL:
        """Address of the database."""
        return self.database_url or make_url(f"sqlite:///{self.data / 'service.sqlite'}")

    @property
    def is_encrypted(self) -> bool:
        """True if browsers reach the service by HTTPS alone."""
        return (self.public_url or "").startswith("https:")

    def run_folder(self, run: str) -> Path:
        """Folder of a run."""
        return self.data / "runs" / run

    def upload_file(self, upload: str) -> Path:
        """File of an upload."""
        return self.data / "uploads" / upload
