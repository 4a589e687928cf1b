"""Programs recorded on this machine, and replayed on a platform that is calibrated to it.

Compared: how long a program takes on two cores of this host under MPICH, from starting to its end less that
of a program that does nothing; what the replay of its recording predicts on a platform of one host, whose
memory and software are those that a ping-pong has here; and what it takes while it is recorded. Each
program runs plain and recorded in turn, and medians are compared.
Programs: HPCC (Debian's package hpcc), all of its tests; SUNDIALS' heat equation in C++ and its Brusselator
in Fortran (package sundials); and examples/hydro.c.
Source: none; the bounds are hopcast's own, 10 % for the prediction and 5 % for the recorder.
Expected: a prediction follows from recorded computing and simulated messages, so what a program waits for
or copies inside MPI must come from the platform. HPCC's RandomAccess asks 17 million times whether anything
has come (MPI_Testany), and mostly nothing has: such calls are counted, and not recorded one by one.
On a machine that does other work meanwhile, neither bound means anything: runs without the recorder have
been up to 50 % apart.

Run it as `python validation/recorded_here.py [--quick]`; quick has one run of each, and of hydro and the heat
equation only.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import applications
import building
import hpcc
import hpl_input
from recordings import ROOT, Absent
from results import Kind, Range, Result, main

import hopcast

KIND = Kind.MEASURED
NO_NULL = "sets it row by row"

RANKS = 2
HEAT = "arkode/CXX_parallel/ark_heat2D_p"
BRUSSELATOR = "arkode/F2003_parallel/ark_brusselator1D_task_local_nls_f2003"
HPCC_N = 2000


@dataclass(frozen=True)
class Program:
    """A program that runs on two ranks."""

    name: str
    words: tuple[str, ...]


def compiled(source: Path, folder: Path) -> Path:
    """A program of one file, by MPICH's compiler."""
    target = folder / source.stem
    building.run([building.MPICH["cc"], "-O2", source, "-o", target, "-lm"], folder, source.name)
    return target


def programs(folder: Path, quick: bool) -> list[Program]:
    """All that are compared."""
    sundials = applications.built("mpich")
    found = [
        Program("hydro", (str(compiled(ROOT / "examples" / "hydro.c", folder)), "48", "400")),
        Program("heat equation", (str(sundials / HEAT), "--np", "2", "1", "--mesh", "48", "48")),
    ]
    if quick:
        return found
    (folder / "hpccinf.txt").write_text(hpl_input.text(HPCC_N, 1, 2, **hpcc.SETTINGS))
    found.append(Program("Brusselator", (str(sundials / BRUSSELATOR), "--nx", "12800")))
    found.append(Program("HPCC", (str(hpcc.whole("mpich")),)))
    return found


def took(words: list[str], folder: Path) -> float:
    """The time of a command [s]."""
    begun = time.perf_counter()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words} failed: {done.stdout[-300:]}{done.stderr[-300:]}")
    return time.perf_counter() - begun


def platform(folder: Path, launched: list[str]) -> Path:
    """This host, as a ping-pong sees it.

    A message of n bytes takes o(n) on either side, and n/B; B is that of the longest messages, and o(n), in
    steps, what the ping-pong has beyond that.
    """
    pingpong = compiled(Path(__file__).with_name("one_host_pingpong.c"), folder)
    out = subprocess.run([*launched, str(pingpong)], capture_output=True, text=True, check=True).stdout
    times = {int(size): float(half) for size, half in map(str.split, out.splitlines())}
    (near, near_s), (far, far_s) = list(times.items())[-2:]
    rate = (far - near) / (far_s - near_s)
    regimes = []
    for size, half_s in times.items():
        overhead = max(0.0, half_s - size / rate) / 2
        limit = f'up_to = "{size} B"\n' if size != far else ""
        regimes.append(
            f'[[mpi.regimes]]\nname = "to {size} B"\n{limit}'
            f'send_overhead = "{1e9 * overhead:.1f} ns"\nreceive_overhead = "{1e9 * overhead:.1f} ns"\n'
        )
    file = folder / "this-host.toml"
    file.write_text(
        'name = "this-host"\nsource = "a ping-pong on it"\n'
        '[topology]\nkind = "crossbar"\nhosts = 1\n'
        '[nic]\nbandwidth = "infinite"\nlatency = "0 ns"\n'
        f'[host]\nprocesses = {RANKS}\n[host.memory]\nlatency = "0 ns"\nbandwidth = "{rate / 1e9:.4f} GB/s"\n'
        '[mpi]\nlibrary = "mpich"\nmemory_eager_limit = "64 KiB"\n' + "".join(regimes) + "[compute]\n"
        'flop_rate = "1 Gflop/s"\n'
    )
    return file


def compared(program: Program, rounds: int, folder: Path, launched: list[str], host: Path) -> list[Result]:
    """One program: what the replay predicts, and what the recorder costs."""
    nothing = compiled(Path(__file__).with_name("one_host_nothing.c"), folder)
    recorder = [sys.executable, "-m", "hopcast", "trace", "record", "--mpicc", building.MPICH["cc"]]
    plain, recorded, replayed, without = [], [], [], []
    for turn in range(rounds):
        trace = folder / f"{program.name.replace(' ', '-')}-{turn}.hct"
        shutil.rmtree(trace, ignore_errors=True)
        start = took([*launched, str(nothing)], folder)
        plain.append(took([*launched, *program.words], folder) - start)
        under = [*recorder, "-o", str(trace), "--", *launched]
        took([*under, *program.words], folder)
        recorded.append(run_s(trace) - start)
        replayed.append(hopcast.run(host, trace, model="loggp").makespan_s)
        without.append(hopcast.run(host, trace, model="infinite").makespan_s)
    run_time, with_recorder, predicted, null = map(statistics.median, (plain, recorded, replayed, without))
    return [
        Result(
            f"{program.name}: predicted",
            run_time,
            predicted,
            "s",
            0.1,
            "measured without the recorder",
            null=null,
        ),
        Result(
            f"{program.name}: recorded over plain",
            Range(high=1.05),
            with_recorder / run_time,
            "",
            0.0,
            f"median of {rounds} runs",
            Kind.OWN,
        ),
    ]


def run_s(trace: Path) -> float:
    """Duration of the command of a recording [s]."""
    return json.loads((trace / "run.json").read_text())["took_s"]


def compare(out: Path, quick: bool) -> list[Result]:
    """All programs."""
    launcher = shutil.which("mpiexec.mpich")
    if launcher is None or (os.cpu_count() or 1) < RANKS:
        raise Absent(f"skipped: MPICH (Debian's package mpich) and {RANKS} cores are needed")
    folder = out.resolve() / "recorded-here"
    folder.mkdir(parents=True, exist_ok=True)
    launched = [launcher, "-n", str(RANKS)]
    host = platform(folder, launched)
    rounds = 1 if quick else 3
    return [
        result
        for program in programs(folder, quick)
        for result in compared(program, rounds, folder, launched, host)
    ]


if __name__ == "__main__":
    main(compare, __doc__)
