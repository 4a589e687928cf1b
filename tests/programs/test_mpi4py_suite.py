"""A fast part of mpi4py's own test suite; `validation/suites/mpi4py_suite.py` runs all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hopcast.live import library

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "validation" / "suites"))

import mpi4py_suite  # noqa: E402

MODULES = (
    "test_attributes",
    "test_comm",
    "test_comm_topo",
    "test_errhandler",
    "test_errorcode",
    "test_exceptions",
    "test_grequest",
    "test_group",
    "test_info",
    "test_op",
    "test_pack",
    "test_request",
    "test_session",
    "test_status",
    "test_subclass",
    "test_win",
)


def test_a_part_of_mpi4pys_suite_passes() -> None:
    try:
        folder = mpi4py_suite.fetch()
    except subprocess.CalledProcessError:
        pytest.skip("mpi4py's test suite: PyPI cannot be reached")
    results = mpi4py_suite.run(mpi4py_suite.hopcast(3), folder, ",".join(MODULES), 3)
    assert len(results) > 400
    assert {test: what for test, what in results.items() if what not in ("passed", "skipped")} == {}
