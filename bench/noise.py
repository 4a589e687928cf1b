"""Cost of noise: the same runs without noise, with noise that does not show, and with noise.

Run it as `python bench/noise.py [--repeat N] [--only TEXT] [--instructions]`. The platform is `dahu`, whose
sends, receives and wires have modes: "off" is dahu with their means; "unused" has modes in one more regime,
which no message reaches; "drawn" has as many modes as dahu, all of the same mean and of a deviation below the
clock's picosecond, so that all is drawn and nothing is changed; "on" is dahu as it is.

The cost is the CPU time of the command less that of the same command with one iteration. The platforms take
turns; of all turns, the median of the ratio to "off" counts, so that a machine whose speed drifts over
minutes changes little, and its quartiles show what the turns differ by. The goals: "drawn" takes at most
10 % more than "off", "unused" nothing. "on", which runs once, is another simulation: ranks that went in step
do so no more, and what happened at one time, and was handled at once, now happens at many. "events" says by
how many the runs differ. With --instructions, valgrind counts those of a tenth of the iterations instead,
once, which no other work on the machine changes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rates

from hopcast import core

HOPCAST = (sys.executable, "-m", "hopcast")
PLATFORM = "dahu"
TABLE = Path(__file__).resolve().parents[1] / "data" / "platforms" / "dahu-dgemm.csv"
"""Kernels of it, which stand beside it."""
GOALS = {"unused": 0.02, "drawn": 0.10}
"""Largest part of a run's time; 2 % is what runs of the same platform differ by."""
TINY = "0.00001 ns"
UNUSED = """
[[mpi.regimes]]
name = "unused"
send_modes = [{ weight = 1.0, mean = "1 us", deviation = "0.1 us" }]
receive_modes = [{ weight = 1.0, mean = "1 us", deviation = "0.1 us" }]
latency_modes = [{ weight = 1.0, mean = "1 us", deviation = "0.1 us" }]
"""
BEYOND = "64 GiB"
"""End of the last regime of dahu, behind which the unused one begins."""


@dataclass(frozen=True)
class Case:
    """A run."""

    name: str
    words: str
    """Arguments of `hopcast run` behind the platform, without iterations."""
    iterations: int


CASES = (
    Case("halo3d 8 KiB, flow", "-n 512 --model flow halo3d --bytes 8KiB", 400),
    Case("halo3d 8 KiB, max-rate", "-n 512 --model max-rate halo3d --bytes 8KiB", 800),
    Case("alltoall 1 KiB, max-rate", "-n 256 --model max-rate alltoall --bytes 1KiB", 40),
    Case("allreduce 8 B, flow", "-n 1024 --model flow allreduce --bytes 8B", 400),
    Case("halo3d 256 KiB, flow", "-n 512 --model flow halo3d --bytes 256KiB", 200),
)
"""Short messages, collectives, and long messages whose wire has modes, too."""


def platforms(folder: Path) -> dict[str, Path]:
    """Platform files by the noise that they have."""
    text = core.platform_text(PLATFORM, (), False)
    modes = re.compile(
        r'^(\w+?)((?:_overhead)?) = "([^"]*)".*\n\1_modes = \[\n((?:.*\n)*?)\]\n', re.MULTILINE
    )
    plain = modes.sub(without, text)
    assert "_modes" not in plain and "_modes" in text, "all lists of modes are found"
    start = plain.rindex("[[mpi.regimes]]")
    end = plain.find("\n[", start + 2)
    last = plain[start : end if end > 0 else len(plain)]
    assert "up_to" not in last, "the last regime holds for all longer messages"
    bounded = re.sub(r"(\nname = .*\n)", rf'\1up_to = "{BEYOND}"\n', last, count=1)
    unused = plain[:start] + bounded + "\n" + UNUSED + plain[start + len(last) :]
    shutil.copy(TABLE, folder)
    files = {}
    drawn = modes.sub(without_effect, text)
    for name, content in {"off": plain, "unused": unused, "drawn": drawn, "on": text}.items():
        files[name] = folder / f"{name}.toml"
        files[name].write_text(content)
    return files


def mean_ns(modes: str) -> float:
    """Mean of a list of modes, in TOML."""
    found = re.findall(r'weight = ([\d.e-]+), mean = "([\d.-]+) ns"', modes)
    return round(sum(float(weight) * float(mean) for weight, mean in found), 3)


def without(found: re.Match) -> str:
    """A time with the mean of its modes, in TOML."""
    per_byte = f" + {found[3]}" if "B" in found[3] else ""
    return f'{found[1]}{found[2]} = "{mean_ns(found[4])} ns{per_byte}"\n'


def without_effect(found: re.Match) -> str:
    """Modes that all have the same mean."""
    mean = mean_ns(found[4])
    equal = re.sub(
        r'mean = "[^"]*", deviation = "[^"]*"', f'mean = "{mean} ns", deviation = "{TINY}"', found[0]
    )
    return equal


def command(platform: Path, case: Case, iterations: int) -> list[str]:
    """Words of one run."""
    return [*HOPCAST, "run", str(platform), *case.words.split(), "--iterations", str(iterations), "--json"]


def cost(platform: Path, case: Case, iterations: int) -> tuple[float, int]:
    """CPU time [s] and events of one command."""
    words = command(platform, case, iterations)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(words, stdout=said, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        errors.seek(0)
        if child.returncode != 0:
            raise SystemExit(f"{' '.join(words)} failed:\n{errors.read().decode(errors='replace')}")
        return usage.ru_utime + usage.ru_stime, int(json.load(said)["events"])


def instructions(platform: Path, case: Case, iterations: int) -> int:
    """Instructions of one command, as valgrind counts them."""
    words = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    words += command(platform, case, iterations)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
    return int(re.search(r"I +refs: +([\d,]+)", done.stderr)[1].replace(",", ""))


def own_instructions(files: dict[str, Path], case: Case) -> dict[str, int]:
    """Instructions of one case by the noise that there is, without those of one iteration."""
    return {
        name: instructions(files[name], case, case.iterations // 10) - instructions(files[name], case, 1)
        for name in ("off", "unused", "drawn")
    }


def compare_instructions(files: dict[str, Path], case: Case) -> None:
    """Prints the lines of one case."""
    own = own_instructions(files, case)
    for name, count in own.items():
        share = count / own["off"] - 1
        print(f"{case.name:26} {name:7} {count / 1e6:8.1f} M instructions {share:+7.2%}", flush=True)


def compare(files: dict[str, Path], case: Case, repeat: int) -> None:
    """Prints and records the lines of one case."""
    own: dict[str, list[float]] = {name: [] for name in files}
    events: dict[str, int] = {}
    for turn in range(repeat):
        for name, file in files.items():
            if name == "on" and turn > 0:
                continue
            whole, events[name] = cost(file, case, case.iterations)
            own[name].append(whole - cost(file, case, 1)[0])
    shares = {}
    for name in files:
        ratios = [one / off - 1 for one, off in zip(own[name], own["off"], strict=False)]
        low, shares[name], high = np.quantile(ratios, (0.25, 0.5, 0.75))
        other = events[name] / events["off"] - 1
        goal = f"  {'met' if shares[name] <= GOALS[name] else 'MISSED'}" if name in GOALS else ""
        print(
            f"{case.name:26} {name:7} {np.median(own[name]):8.3f} s of CPU  {shares[name]:+7.1%} "
            f"({low:+.1%} to {high:+.1%})   events {other:+7.1%}{goal}",
            flush=True,
        )
    measures = {f"{name}_share": float(shares[name]) for name in ("unused", "drawn", "on")}
    rates.record("noise", case.name, off_cpu_s=float(np.median(own["off"])), **measures)


def main() -> None:
    """Compares all cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files = platforms(Path(name))
        for case in CASES:
            if words.only not in case.name:
                continue
            if words.instructions:
                compare_instructions(files, case)
            else:
                compare(files, case, words.repeat)


if __name__ == "__main__":
    main()
