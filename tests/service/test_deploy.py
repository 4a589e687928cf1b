"""Files to deploy a service with: each is checked by the tool that reads it, where it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from servers import HOPCAST, Server

from hopcast.service import config
from hopcast.service.settings import Limits, Settings, SignIn

DEPLOY = Path(config.__file__).parent / "deploy"
EXAMPLES = {"config": "service.toml", "systemd": "hopcast.service", "container": "Containerfile"}


def printed(name: str) -> str:
    done = subprocess.run([*HOPCAST, "serve", "--example", name], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_printed_whole(name: str) -> None:
    assert printed(name) == (DEPLOY / EXAMPLES[name]).read_text()


def test_the_example_of_a_configuration_is_one(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(printed("config"))
    found = config.read(file)
    assert found.accounts.sign_in is SignIn.MAIL and found.data == Path("/var/lib/hopcast")
    assert found.limits == Limits(waiting=100), (
        "what it says of limits is as without a file, but for the queue"
    )
    assert found.keep_uploads_s == Settings.keep_uploads_s
    # Each line that stands behind a # is a key, too.
    file.write_text(
        re.sub(r"^# (\w+ = )", r"\1", printed("config"), flags=re.MULTILINE).replace(
            '"/etc/hopcast/database-password"', json.dumps(str(file))
        )
    )
    assert config.read(file).keep_B == 500 << 30


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_one_for_systemd(tmp_path: Path) -> None:
    def verified(text: str) -> str:
        (tmp_path / "hopcast.service").write_text(text)
        command = ["systemd-analyze", "verify", str(tmp_path / "hopcast.service")]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode == 0 else f"{done.returncode} {done.stderr}"

    # What it starts is not installed here: the check looks whether it is there.
    unit = printed("systemd").replace("/opt/hopcast/bin/hopcast", sys.executable)
    assert verified(unit) == ""
    assert "Unknown key" in verified(unit.replace("Delegate=", "Delegates="))
    assert verified(unit.replace("RestartSec=5", "RestartSec=soon")) != ""


def test_the_unit_starts_what_hopcast_understands() -> None:
    start = re.findall(r"^ExecStart=/opt/hopcast/bin/hopcast (.*)$", printed("systemd"), re.MULTILINE)[0]
    command = [*HOPCAST, *start.replace("/etc/hopcast/service.toml", "/no/such/service.toml").split()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "/no/such/service.toml: No such file" in done.stderr


@pytest.mark.skipif(
    shutil.which("hadolint", path=str(Path(sys.executable).parent)) is None, reason="no hadolint"
)
def test_the_container_file_is_one(tmp_path: Path) -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    # Versions of Debian's packages are those of the base image, on purpose.
    command = [hadolint, "--ignore", "DL3008", "-"]
    good = subprocess.run(command, input=printed("container"), capture_output=True, text=True)
    assert good.returncode == 0, good.stdout
    bad = subprocess.run(
        command, input=printed("container").replace("USER ", "USR "), capture_output=True, text=True
    )
    assert bad.returncode != 0


def test_the_container_starts_and_is_looked_after(server: Server) -> None:
    """Its entry point is a command of hopcast's, its packages exist, its look at the health answers."""
    text = printed("container")
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    rest = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    assert entry[0] == "/opt/hopcast/bin/hopcast"
    command = [*HOPCAST, *entry[1:], *rest[:-1], "/no/such/service.toml"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "/no/such/service.toml: No such file" in done.stderr
    look = json.loads(re.findall(r"^HEALTHCHECK .*? CMD (\[.*\])$", text, re.MULTILINE)[0])
    here = [part.replace("http://127.0.0.1:8421", server.address) for part in look[1:]]
    assert here != look[1:]
    assert subprocess.run([sys.executable, *here]).returncode == 0
    server.end()
    assert subprocess.run([sys.executable, *here], stderr=subprocess.DEVNULL).returncode != 0
