"""Standard output of the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_json_is_json_even_if_the_program_prints(tmp_path: Path) -> None:
    program = tmp_path / "talks.py"
    program.write_text("def main(comm):\n    print('from rank', comm.rank)\n")
    command = [Path(sys.executable).with_name("hopcast"), "run", "crossbar", "-n", "2", "--json", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["ranks"] == 2
    assert "from rank 1" in done.stderr


def test_a_missing_file_is_called_a_file() -> None:
    command = [Path(sys.executable).with_name("hopcast"), "run", "crossbar", "missing.tar.gz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "missing.tar.gz: there is no such file or folder" in done.stderr
