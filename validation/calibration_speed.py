"""Speed of fits, and cost of noise: 1,000 sizes of 50 repetitions, and runs with and without modes.

A campaign that bench/calibrate_fit.py makes up is fitted by `hopcast calibrate fit`, without and with
`--noise`; the processor time of the whole command counts. Noise costs what bench/noise.py counts:
instructions of the same run on `dahu` with the mean of each time, with modes that are drawn and change
nothing, and with modes in a regime that no message reaches. The goals: at most 10 s; at most 10 % where noise
is drawn; and where it is off, at most 2 %, which is what two runs differ by in time: there is a regime more
to look through. Instructions are those of the iterations alone, and repeat to a part in ten thousand on any
machine.

Needs valgrind for the cost of noise. Run it as `python validation/calibration_speed.py [--quick]`: quick
counts one case.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from recordings import Absent
from results import Kind, Range, Result, main

KIND = Kind.OWN
NO_NULL = "times and instructions of hopcast itself"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import calibrate_fit  # noqa: E402
import noise  # noqa: E402

NAMES = {"drawn": "modes are drawn", "unused": "modes in a regime that is not reached"}
FIT_CPU_S = 10.0


def of_fits(folder: Path) -> list[Result]:
    """Processor time of a fit without noise, and with it."""
    calibrate_fit.write_campaign(folder)
    what = f"fit of {calibrate_fit.SIZES:,} sizes, {calibrate_fit.REPETITIONS} repetitions"
    return [
        Result(
            f"{what}, {option}",
            Range(high=FIT_CPU_S),
            calibrate_fit.fit_cpu_s(folder, option),
            "s",
            0.0,
            "processor time of the command",
        )
        for option in calibrate_fit.OPTIONS
    ]


def of_noise(folder: Path, quick: bool) -> list[Result]:
    """Instructions that noise adds to each case."""
    files = noise.platforms(folder)
    rows = []
    for case in noise.CASES[:1] if quick else noise.CASES:
        own = noise.own_instructions(files, case)
        for name, what in NAMES.items():
            most = 100 * noise.GOALS[name]
            more = 100 * (own[name] / own["off"] - 1)
            why = f"{own['off'] / 1e6:,.0f} M instructions without"
            rows.append(Result(f"{case.name}: {what}", Range(high=most), more, "%", 0.0, why))
    return rows


def compare(out: Path, quick: bool) -> list[Result]:
    """All rows."""
    if shutil.which("valgrind") is None:
        raise Absent(
            "skipped: valgrind is not installed, which counts instructions (Debian's package valgrind)"
        )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return of_fits(folder) + of_noise(folder, quick)


if __name__ == "__main__":
    main(compare, __doc__)
