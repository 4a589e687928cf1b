"""A fast part of MPICH's own test suite; `validation/suites/mpich_suite.py` runs all of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hopcast.live import library

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "validation" / "suites"))

import mpich_build  # noqa: E402
import mpich_suite  # noqa: E402

pytestmark = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")

PROGRAMS = {
    "pt2pt/sendall": 4,
    "pt2pt/isendirecv": 10,
    "pt2pt/waitany_null": 1,
    "coll/coll2": 5,
    "coll/coll4": 4,
    "coll/coll13": 4,
}
"""And their numbers of ranks."""


def test_a_part_of_mpichs_suite_passes(tmp_path) -> None:
    try:
        source = mpich_build.fetch(mpich_build.CACHE)
    except mpich_build.Absent as reason:
        pytest.skip(f"MPICH's test suite: {reason}")
    programs = mpich_build.build_alone(source, list(PROGRAMS), tmp_path)
    failed = {}
    for name, program in programs.items():
        test = mpich_suite.Test("", name, PROGRAMS[name], (), (), (), "No Errors")
        if why := mpich_suite.run(program, test, "hopcast", 30):
            failed[name] = why
    assert failed == {}
