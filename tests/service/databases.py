"""A PostgreSQL server of a test, in a folder of its own, as a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url


def binaries() -> Path | None:
    """Folder of `initdb` and `pg_ctl`; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


class Postgres:
    """A PostgreSQL server that listens on a port of the loopback interface."""

    def __init__(self) -> None:
        place = binaries()
        if place is None:
            pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
        self._binaries = place
        self._folder = Path(tempfile.mkdtemp(prefix="hopcast-postgres-"))
        self._user = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            self._user = "postgres" if _exists("postgres") else "nobody"
            shutil.chown(self._folder, self._user)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self._call("initdb", "--username=hopcast", "--auth=trust", "--encoding=UTF8", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        """Address of the database, as a configuration names it."""
        return f"postgresql://hopcast@127.0.0.1:{self.port}/postgres"

    @property
    def engine_url(self) -> URL:
        """The same for SQLAlchemy."""
        return make_url(self.url).set(drivername="postgresql+psycopg")

    def start(self) -> None:
        """Starts it, again if need be."""
        flags = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
        log = self._folder / "log.txt"
        self._call("pg_ctl", "--wait", f"--options={flags}", f"--log={log}", "start")

    def stop(self) -> None:
        """Ends it at once, as a crash does."""
        self._call("pg_ctl", "--wait", "--mode=immediate", "stop")

    def close(self) -> None:
        """Ends it and removes all that it has written."""
        self.stop()
        shutil.rmtree(self._folder)

    def _call(self, program: str, *flags: str) -> None:
        command = [str(self._binaries / program), f"--pgdata={self._folder / 'data'}", *flags]
        who = (
            {}
            if self._user is None
            else {"user": self._user, "group": _group(self._user), "extra_groups": []}
        )
        log = self._folder / f"{program}.txt"
        with open(log, "w") as out:  # a server that goes on must not hold a pipe open
            done = subprocess.run(command, stdout=out, stderr=out, cwd=self._folder, **who)
        assert done.returncode == 0, log.read_text()


def _exists(name: str) -> bool:
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def _group(name: str) -> int:
    return pwd.getpwnam(name).pw_gid
