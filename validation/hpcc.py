"""HPCC, its source untouched: all of it on Hopper, checked by itself, and its random ring on Endeavor.

The source is that of Debian's package hpcc, fetched with `apt-get source`; BLAS is Debian's OpenBLAS
(libopenblas-serial-dev). HPL, PTRANS, RandomAccess, FFT, STREAM and the rings compute what they compute
anywhere, and HPCC checks it. What MPICH's compiler has made runs, too, as it is: its checks must give the
same numbers.
The random ring is that of Miwa et al., "NSIM: An interconnection network simulator for extreme-scale
parallel computers" (2011), section 5.1, Fig. 4: HPCC's own program here, what was written after it in
nsim.py.
Expected: of Fig. 4 the text has the shape alone. The bandwidth falls with the nodes, and none of them has
more than its link's 4 GB/s.

Run it as `python validation/hpcc.py [--quick]`: quick has 4 ranks, and a ring of at most 16 nodes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import building
import debian
import hpl_input
import pictures
from recordings import Absent
from results import Kind, Range, Result, main
from run_cache import cached

KIND = Kind.OWN
NO_NULL = "compares what programs print, and rates"

HERE = Path(__file__).resolve().parent
CACHE = debian.CACHE / "hpcc"
PARTS = ("hpl/src/*", "hpl/testing/*", "DGEMM", "FFT", "PTRANS", "RandomAccess", "STREAM", "src")
DEFINED = ("-O2", "-w", "-DHPL_STDC_HEADERS", "-DHPL_CALL_CBLAS")
SETTINGS = {
    "device": 8,
    "block": 80,
    "threshold": 16.0,
    "panel": 2,
    "smallest": 4,
    "recursive": 1,
    "broadcast": 1,
    "swap": 2,
    "swap_from": 64,
}
CHECKS = (
    ("HPL's residual", "HPL_RnormI", None),
    ("PTRANS: residual", "PTRANS_residual", 0.0),
    ("RandomAccess: errors", "MPIRandomAccess_ErrorsFraction", 0.0),
    ("RandomAccess (LCG): errors", "MPIRandomAccess_LCG_ErrorsFraction", 0.0),
    ("FFT: largest error", "MPIFFT_maxErr", 1e-12),
)
"""HPCC's own checks of its results, with the limit of each."""


def program(name: str, sources: list[Path], under: str) -> Path:
    """HPCC or a part of it, compiled for `hopcast` or `mpich`."""
    target = CACHE / (f"{name}-{building.header()}" if under == "hopcast" else f"{name}-mpich")
    if target.exists():
        return target
    hpcc = debian.source("hpcc", CACHE)
    compiler = building.compilers(under, CACHE / "bin")["cc"]
    words = [compiler, *DEFINED]
    words += [f"-I{hpcc / 'include'}", f"-I{hpcc / 'hpl' / 'include'}"]
    # What finds out the machine's precision must not be optimised.
    apart = [path for path in sources if path.name == "noopt.c"]
    objects = [CACHE / f"{path.stem}.o" for path in apart]
    for path, made in zip(apart, objects, strict=True):
        building.run([*words, "-O0", "-c", path, "-o", made], CACHE, "HPCC")
    rest = [path for path in sources if path not in apart]
    needs = "HPCC (libopenblas-serial-dev is needed)"
    building.run([*words, *rest, *objects, "-o", target, "-lopenblas", "-lm"], CACHE, needs)
    return target


def whole(under: str) -> Path:
    """All of HPCC."""
    hpcc = debian.source("hpcc", CACHE)
    return program("hpcc-all", [path for part in PARTS for path in sorted(hpcc.glob(f"{part}/*.c"))], under)


def run(compiled: Path, platform: str, ranks: int, folder: Path, *flags: str) -> str:
    """Contents of the file that HPCC writes."""
    command = [sys.executable, "-m", "hopcast", "run", platform, "-n", str(ranks), "--json"]
    command += ["--compute", "none", *flags]
    done = subprocess.run([*command, str(compiled)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"HPCC failed: {done.stderr[-500:]}")
    return (folder / "hpccoutf.txt").read_text()


def fresh(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def summary(text: str) -> dict[str, str]:
    """The lines NAME=VALUE at the end of HPCC's file."""
    return dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))


def checked(out: Path, side: int) -> list[Result]:
    """All of HPCC on a square of ranks, and what it says of its results."""
    ranks = side * side
    told = {}
    for under in ("hopcast", "mpich"):
        try:
            compiled = whole(under)
        except Absent:
            if under == "hopcast":
                raise
            continue
        folder = fresh(out / "hpcc" / f"{under}-{ranks}")
        (folder / "hpccinf.txt").write_text(hpl_input.text(1000, side, side, **SETTINGS))
        text = run(compiled, "hopper", ranks, folder)
        if "End of HPC Challenge tests" not in text:
            raise RuntimeError(f"HPCC did not come to its end: {text[-500:]}")
        told[under] = summary(text)
        told[under]["PASSED"] = str(text.count("PASSED"))
    ours = told["hopcast"]
    what = f"HPCC, {ranks} ranks"
    results = [
        Result(f"{what}: it says that it has succeeded", 1, float(ours["Success"]), "", 0.0, "its own word"),
        Result(
            f"{what}: tests of HPL and PTRANS that pass", 11, float(ours["PASSED"]), "", 0.0, "its own word"
        ),
    ]
    for name, key, most in CHECKS:
        if most is not None:
            why = "its own check"
            results.append(Result(f"{what}: {name}", Range(None, most), float(ours[key]), "", 0.0, why))
    if theirs := told.get("mpich"):
        keys = ["Success", "PASSED", *(key for _, key, _ in CHECKS)]
        same = sum(theirs[key] == ours[key] for key in keys)
        why = "what mpicc has compiled runs as it is"
        results.append(Result(f"{what}: the same compiled by mpicc", len(keys), same, "numbers", 0.0, why))
    return results


def ring_GBps(out: str, nodes: int) -> dict[str, float]:
    """HPCC's bandwidth of a process in randomly ordered rings on Endeavor, and how long that took."""
    hpcc = debian.source("hpcc", CACHE)
    sources = [HERE / "hpcc_ring.c", hpcc / "src" / "bench_lat_bw_1.5.2.c"]
    folder = fresh(Path(out) / "hpcc" / f"ring-{nodes}")
    flags = ("--model", "packet")
    text = run(program("hpcc-ring", sources, "hopcast"), "endeavor", nodes, folder, *flags)
    rate = re.search(r"Randomly\s+Ordered Ring Bandwidth:\s*(\S+) MB/s", text)[1]
    if "ERROR" in text:
        raise RuntimeError(f"HPCC's ring has lost contents: {text}")
    return {"rate": float(rate) / 1000}


def ring(out: Path, quick: bool) -> list[Result]:
    """Fig. 4 of NSIM from the real benchmark."""
    nodes = [2, 4, 16] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    rates = [cached(out, f"hpcc-ring-{count}", ring_GBps, str(out), count)["rate"] for count in nodes]
    figure, axes = pictures.pyplot().subplots(figsize=(7, 4))
    axes.plot(nodes, rates, marker="o")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="nodes", ylabel="bandwidth of a process [GB/s]", title="HPCC's random ring on Endeavor")
    axes.set_ylim(bottom=0)
    pictures.save(figure, out, "hpcc_random_ring")
    most = Range(None, 4.0)
    compared = [
        Result(f"HPCC's random ring, {count} nodes", most, rate, "GB/s", 0.0, "Fig. 4: the link's at most")
        for count, rate in zip(nodes, rates, strict=True)
    ]
    rises = max(later / before for before, later in pairwise(rates))
    why = "Fig. 4: falls with the nodes"
    compared.append(Result("HPCC's random ring, largest step up", Range(None, 1.0), rises, "", 0.02, why))
    return compared


def compare(out: Path, quick: bool) -> list[Result]:
    """All of HPCC, then the ring."""
    out = out.resolve()
    sides = [2] if quick else [2, 4]
    return [result for side in sides for result in checked(out, side)] + ring(out, quick)


if __name__ == "__main__":
    main(compare, __doc__)
