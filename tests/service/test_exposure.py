"""Data, database and passwords are refused where programs and traces can read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import HOPCAST
from sqlalchemy import make_url

from hopcast.errors import InputError
from hopcast.service import config, exposure
from hopcast.service.settings import Settings


def test_data_apart_are_taken(tmp_path: Path) -> None:
    exposure.check(Settings(tmp_path / "data"))


@pytest.mark.parametrize(("data", "where"), [(f"{sys.prefix}/data", "below"), ("/", "above")])
def test_data_below_and_above_are_refused(data: str, where: str) -> None:
    with pytest.raises(InputError, match=f"data '{data}' lies {where} "):
        exposure.check(Settings(Path(data)))


def test_a_link_to_a_place_is_refused(tmp_path: Path) -> None:
    os.symlink("/usr/share", tmp_path / "link")
    with pytest.raises(InputError, match="lies below"):
        exposure.check(Settings(tmp_path / "link" / "data"))


def test_a_database_there_is_refused(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data", database_url=make_url("sqlite:////usr/share/hopcast.sqlite"))
    with pytest.raises(InputError, match=r"database.url '/usr/share/hopcast.sqlite' lies below '/usr'"):
        exposure.check(settings)


def test_a_password_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    database = 'url = "postgresql://hopcast@db/runs"\npassword_file = "/usr/share/password"'
    file.write_text(f'data = "{tmp_path}/data"\n[database]\n{database}\n')
    with pytest.raises(InputError, match=r"database.password_file = '/usr/share/password' lies below '/usr'"):
        config.read(file)


def test_the_server_does_not_start(tmp_path: Path) -> None:
    """It runs with a folder of libraries of its own, in which the data would be."""
    command = [*HOPCAST, "serve", "--no-browser", "--port", "0", "--data", str(tmp_path / "data")]
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"lies below '{tmp_path}'" in done.stderr, done.stderr
