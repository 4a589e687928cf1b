"""The walls around the process of a run hold for hostile code, which does not even get there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hopcast.service import confinement

needs_landlock = pytest.mark.skipif(not confinement.landlock_version(), reason="this kernel has no Landlock")


def outcome(code: str, tmp_path: Path, **values: object) -> str:
    """Output of code in a process that may read `inputs` and change `out`."""
    for name in ("inputs", "out", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    head = f"""
        import os, socket, signal, subprocess
        from pathlib import Path
        from hopcast.service import confinement
        here, values = Path({str(tmp_path)!r}), {values!r}
        assert confinement.confine([*confinement.places_of_python(), here / "inputs"], [here / "out"])
        try:
            {code}
            print("done")
        except OSError as error:
            print(type(error).__name__)
    """
    command = [sys.executable, "-c", textwrap.dedent(head)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=tmp_path / "out"
    ).stdout.strip()


@needs_landlock
@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd').read()",
        "open(here / 'elsewhere' / 'file').read()",
        "open('../elsewhere/file').read()",
        "os.symlink(here / 'elsewhere' / 'file', 'link'); open('link').read()",
        "os.link(here / 'elsewhere' / 'file', here / 'out' / 'hard')",
        "open(here / 'inputs' / 'file', 'w')",
        "os.unlink(here / 'inputs' / 'file')",
        "os.truncate(here / 'inputs' / 'file', 0)",
        "open(here / 'elsewhere' / 'new', 'w')",
        "os.rename(here / 'out' / 'file', here / 'elsewhere' / 'moved')",
        "os.listdir('/home'); os.listdir('/root')",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "assert not subprocess.run(['cat', '/etc/passwd'], capture_output=True).stdout; raise OSError",
    ],
)
def test_files_of_others_are_out_of_reach(code: str, tmp_path: Path) -> None:
    assert outcome(code, tmp_path) in ("PermissionError", "OSError")
    for name in ("inputs", "elsewhere"):
        assert [file.name for file in (tmp_path / name).iterdir()] == ["file"]
        assert (tmp_path / name / "file").read_text() == name


@needs_landlock
def test_own_files_are_within_reach(tmp_path: Path) -> None:
    code = "(here / 'out' / 'new').write_text((here / 'inputs' / 'file').read_text())"
    assert outcome(code, tmp_path) == "done"
    assert (tmp_path / "out" / "new").read_text() == "inputs"


@pytest.mark.skipif(confinement.landlock_version() < 4, reason="this kernel's Landlock knows no sockets")
def test_no_connection_leaves(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert outcome("socket.create_connection(('127.0.0.1', values['port']))", tmp_path, port=port) == (
            "PermissionError"
        )


@pytest.mark.skipif(confinement.landlock_version() < 6, reason="this kernel's Landlock knows no signals")
def test_no_signal_leaves(tmp_path: Path) -> None:
    assert outcome("os.kill(values['parent'], 0)", tmp_path, parent=os.getpid()) == "PermissionError"


def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    inner = "import os, time; from hopcast.service import confinement; "
    inner += "confinement.die_with_parent(os.getppid()); print(os.getpid(), flush=True); time.sleep(60)"
    outer = f"import subprocess, sys, os; p = subprocess.Popen([sys.executable, '-c', {inner!r}], "
    outer += (
        "stdout=subprocess.PIPE, text=True); print(p.stdout.readline(), flush=True); os.kill(os.getpid(), 9)"
    )
    told = subprocess.run([sys.executable, "-c", outer], capture_output=True, text=True)
    number = int(told.stdout)
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            if Path(f"/proc/{number}/stat").exists() and " Z " in Path(f"/proc/{number}/stat").read_text():
                raise ProcessLookupError
            os.kill(number, 0)
            subprocess.run(["sleep", "0.02"])


def test_limits_hold(tmp_path: Path) -> None:
    code = "from hopcast.service import confinement; confinement.limit(1, 2 << 30, 1 << 20)\n"
    spin = subprocess.run([sys.executable, "-c", code + "while True: pass"], capture_output=True)
    assert spin.returncode == -24  # SIGXCPU
    grow = subprocess.run([sys.executable, "-c", code + "bytearray(4 << 30)"], capture_output=True, text=True)
    assert "MemoryError" in grow.stderr
    file = tmp_path / "large"
    write = f"open({str(file)!r}, 'wb').write(bytes(2 << 20))"
    full = subprocess.run([sys.executable, "-c", code + write], capture_output=True, text=True)
    assert "File too large" in full.stderr and file.stat().st_size <= 1 << 20
