"""The command line in the process of the tests, which reads its libraries once."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock


def hopcast(
    *words: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Code and output of `hopcast WORDS`, as of a process of its own, in this folder and environment."""
    from hopcast.cli import commands
    from hopcast.cli.exits import guarded

    out, error = io.StringIO(), io.StringIO()
    with (
        _within(folder),
        mock.patch.dict(os.environ, environment or {}),
        mock.patch.object(sys, "argv", ["hopcast", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        code = guarded(lambda: commands.main(list(words), prog_name="hopcast", standalone_mode=False))
    return subprocess.CompletedProcess(["hopcast", *words], code, out.getvalue(), error.getvalue())


@contextlib.contextmanager
def _within(folder: Path | None) -> Iterator[None]:
    here = Path.cwd()
    os.chdir(folder or here)
    try:
        yield
    finally:
        os.chdir(here)
