"""Load of others while a run measures computing: said where it is high, and where computing was measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hopcast
from hopcast.live import library, other_load
from hopcast.live.other_load import Moment

MEASURED = {"how": "measured", "stretches": 1000, "discarded": 12}
BEGUN = Moment(clock=100.0, busy=50.0, stolen=1.0, own=10.0)


def after(wall: float, *, others: float = 0.0, stolen: float = 0.0, own: float = 2.0) -> Moment:
    """A moment this much later, when others, the hypervisor and the run have used so many core-seconds."""
    return Moment(BEGUN.clock + wall, BEGUN.busy + others + own, BEGUN.stolen + stolen, BEGUN.own + own)


@pytest.mark.parametrize(
    ("moment", "cores"),
    [
        (after(10), 2),
        (after(10, others=6), 2),
        (after(10, others=60), 64),
        (after(10, others=14, own=0.9), 2),
    ],
)
def test_little_load_or_a_short_run_says_nothing(moment: Moment, cores: int) -> None:
    assert other_load.warning(BEGUN, moment, cores, MEASURED) is None


@pytest.mark.parametrize("taken", [{"others": 14.0}, {"stolen": 14.0}, {"others": 4.0, "stolen": 10.0}])
def test_others_and_the_hypervisor_count(taken: dict[str, float]) -> None:
    said = other_load.warning(BEGUN, after(10, **taken), 2, MEASURED)
    assert said is not None
    assert "other programs took 1.4 of this machine's 2 cores" in said
    assert "12 of 1,000 stretches were discarded as interrupted" in said


def test_what_was_not_measured_is_not_disturbed() -> None:
    for how in ("none", "profile"):
        assert other_load.warning(BEGUN, after(10, others=20), 2, MEASURED | {"how": how}) is None
    assert other_load.warning(None, after(10, others=20), 2, MEASURED) is None


SOURCE = r"""
#include <mpi.h>
int main(int count, char **words) {
    MPI_Init(&count, &words);
    for (int turn = 0; turn < 3000; turn++) {
        for (volatile long step = 0; step < 2000000; step++)
            ;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"""


@pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")
@pytest.mark.skipif(Moment.now() is None, reason="the kernel has no /proc/stat")
def test_a_run_beside_busy_programs_warns(tmp_path: Path) -> None:
    """Twice as many busy programs as cores: they take two thirds of the machine at least."""
    source, program = tmp_path / "work.c", tmp_path / "work"
    source.write_text(SOURCE)
    words = [sys.executable, "-m", "hopcast", "cc", "-O1", str(source), "-o", str(program)]
    subprocess.run(words, check=True)
    spinning = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spinning) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        report = hopcast.run("hopper", str(program), 1)
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert any("of this machine's" in text for text in report.warnings), report.warnings
    unmeasured = hopcast.run("hopper", str(program), 1, compute="none")
    assert not any("of this machine's" in text for text in unmeasured.warnings)
