"""HPL, its source untouched, on Dahu: kernels by model beside kernels that run, and beside the real machine.

The source is that of Debian's package hpcc, fetched with `apt-get source`; BLAS is Debian's OpenBLAS
(libopenblas-serial-dev), and the compiler `hopcast cc`. One function is linked in a faster form with the
same answer: the list of the rows that a panel exchanges (hpl_pipid.c). In "simulated-flops mode" every kernel
really runs, and takes the time of its model; otherwise no kernel runs, and large memory is folded. The
published numbers: HPL on 32 nodes of Dahu with one process for each core, 32 x 32, NB = 128, and the
published simulator's prediction and run time, from Cornebize's thesis
(validation_dahu_matrix_size_upto_250k.csv).

Run it as `python validation/hpl.py [--quick]`: quick compares at N = 4,000 instead of 20,000, and leaves out
the comparison with the machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import building
import debian
import hpcc
import hpl_input
import null_model
from results import Kind, Range, Result, main
from run_cache import cached

KIND = Kind.OWN

HERE = Path(__file__).resolve().parent
CACHE = hpcc.CACHE
SETTINGS = {
    "device": 6,
    "block": 128,
    "panel": 1,
    "smallest": 2,
    "recursive": 2,
    "broadcast": 2,
    "swap": 0,
    "swap_from": 128,
}
FOLDED = ("--fold-memory", "64KiB", "--fold-above", "64KiB", "--fold-private", "HPL_pdpanel_init")
MODELLED = ("--kernels", "skip", "--polls", "endless", *FOLDED)
"""No kernel runs; of panels, each rank keeps what HPL writes itself: pivots, and what belongs to them.
Messages alone end the loops in which HPL probes."""


@dataclass(frozen=True)
class Run:
    """Results of a run of HPL."""

    gflops: float
    """As HPL prints it [Gflop/s]."""
    seconds: float
    """As HPL prints it [s]."""
    cpu_s: float
    """Processor time of this machine, of the one thread that simulates [s]."""
    memory_B: int
    """The most that it took [B]."""
    passed: bool
    """True if HPL's own check of the solution passed."""
    messages: int = 0
    """Messages that were simulated."""


def program(equal_pivots: bool = False) -> Path:
    """HPL, compiled for hopcast. With equal pivots, rows are exchanged as in the published simulations."""
    replaced = {"HPL_pipid": "hpl_pipid.c"} | ({"HPL_pdmxswp": "hpl_equal_pivots.c"} if equal_pivots else {})
    sources = [HERE / file for file in replaced.values()]
    contents = b"".join(source.read_bytes() for source in sources)
    target = CACHE / f"hpl-{hashlib.sha256(contents).hexdigest()[:10]}-{building.header()}"
    if not target.exists():
        wraps = [f"-Wl,--wrap={function}" for function in replaced]
        compile_with(HERE / "hpl_driver.c", "hopcast", target, [*wraps, *sources])
    return target


def compile_with(driver: Path, under: str, target: Path, more: Sequence[str | Path] = ()) -> None:
    """Compiles HPL with its main function of this file for `hopcast`, `mpich` or `openmpi`."""
    hpl = debian.source("hpcc", CACHE) / "hpl"
    files = [driver, *sorted(hpl.glob("src/*/*.c")), *sorted(hpl.glob("testing/*/*.c"))]
    includes = (f"-I{hpl / 'include'}", f"-I{hpl.parent / 'include'}")
    words = [building.compilers(under, CACHE / "bin")["cc"], *hpcc.DEFINED, *includes]
    needs = "HPL (libopenblas-serial-dev is needed)"
    building.run([*words, *more, *files, "-o", target, "-lopenblas", "-lm"], CACHE, needs)


def run(
    order: int,
    rows: int,
    columns: int,
    folder: Path,
    *flags: str,
    checked: bool = False,
    platform: str | Path = "dahu",
    equal_pivots: bool = False,
    settings: Mapping[str, int] = SETTINGS,
) -> Run:
    """HPL for a matrix of that order on a grid of processes on Dahu, or on another platform."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = hpl_input.text(order, rows, columns, threshold=16.0 if checked else 0.0, **settings)
    (folder / "hpccinf.txt").write_text(text)
    words = [sys.executable, "-m", "hopcast", "run", str(platform), "-n", str(rows * columns), "--json"]
    words += ["--compute", "none", "--model", null_model.model("flow"), *flags]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*words, str(program(equal_pivots))], cwd=folder, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"HPL failed: {done.stderr[-500:]}")
    printed = (folder / "hpccoutf.txt").read_text()
    seconds, gflops = re.search(r"^WR\S+(?:\s+\d+){4}\s+(\S+)\s+(\S+)$", printed, re.MULTILINE).groups()
    report = json.loads(done.stdout)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    passed = "PASSED" in printed
    return Run(float(gflops), float(seconds), used, report["peak_rss_B"], passed, report["messages"])


def kept_run(
    out: Path, name: str, order: int, grid: tuple[int, int], flags: tuple[str, ...], checked: bool = False
) -> Run:
    """HPL on a grid of processes, or what this build of hopcast has given before."""
    folder, kept = out.resolve() / "hpl" / name, f"hpl-{name}-{order}-{grid[0]}x{grid[1]}"
    return Run(**cached(out, kept, facts, order, grid, str(folder), flags, checked))


def facts(order: int, grid: tuple[int, int], folder: str, flags: tuple[str, ...], checked: bool) -> dict:
    """Facts that are kept of a run."""
    return asdict(run(order, *grid, Path(folder), *flags, checked=checked))


def compare(out: Path, quick: bool) -> list[Result]:
    """Kernels by model beside kernels that run; the modelled run beside the machine."""
    program()
    order = 4_000 if quick else 20_000
    modelled = kept_run(out, "modelled", order, (8, 8), MODELLED)
    running = kept_run(out, "running", order, (8, 8), ("--kernels", "run"), checked=True)
    if not running.passed:
        raise RuntimeError("HPL's own check of the solution fails where its kernels run")
    results = [
        Result(
            f"HPL, N = {order:,}, 8 x 8: no kernel runs, beside the same with kernels that run",
            running.gflops,
            modelled.gflops,
            "Gflop/s",
            0.01,
            f"{modelled.cpu_s:.0f} s of CPU time and {modelled.memory_B / 2**20:.0f} MiB, instead of "
            f"{running.cpu_s:.0f} s and {running.memory_B / 2**20:.0f} MiB",
        )
    ]
    return results if quick else results + machine(out)


def machine(out: Path) -> list[Result]:
    """1,024 ranks, N = 100,000."""
    large = kept_run(out, "large", 100_000, (32, 32), MODELLED)
    what = "HPL, N = 100,000, 32 x 32"
    thesis = "Cornebize's thesis, HPL on Dahu"
    return [
        Result(
            f"{what}: time",
            Range(35.87, 38.58),
            large.seconds,
            "s",
            None,
            f"{thesis}: eight runs",
            Kind.MEASURED,
        ),
        Result(
            f"{what}: performance",
            Range(17_280, 18_590),
            large.gflops,
            "Gflop/s",
            None,
            thesis,
            Kind.MEASURED,
        ),
        Result(
            f"{what}: CPU time of the simulation, one core",
            Range(None, 300.0),
            large.cpu_s,
            "s",
            0.0,
            "at most 5 minutes; the published simulator took 3,227 s",
        ),
        Result(
            f"{what}: memory",
            Range(None, 4 * 2**30),
            large.memory_B,
            "B",
            0.0,
            "at most 4 GiB; the matrix is 75 GiB; the published simulator took 2.3 GB",
        ),
    ]


if __name__ == "__main__":
    main(compare, __doc__)
