"""Processor time of `hopcast calibrate fit` for 1,000 sizes, 50 repetitions each, of all four kinds.

Run it as `python bench/calibrate_fit.py`: it makes up a campaign of three regimes whose calls fall
around two times, fits it without and with `--noise`, and prints the processor time, user and system, of the
whole command.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import rates

HERE = Path(__file__).resolve().parents[1]
SIZES, REPETITIONS = 1000, 50
REGIMES = ((2e-6, 2e-10, 8_000), (5e-6, 1.2e-10, 65_536), (9e-6, 9e-11, np.inf))
"""Start-up [s], time of a byte [s/B] and longest message [B]."""
SHARES = {"Isend": 0.2, "Recv": 0.3, "MPI_Send": 0.25}
"""Times of calls as a part of one message's."""
OPTIONS = ("--no-noise", "--noise")
WORDS = ["--flop-rate", "1 Gflop/s", "--eager-limit", "65536"]


def write_campaign(folder: Path) -> None:
    """Files as `calibrate measure` writes them, sizes and repetitions in random order."""
    random = np.random.default_rng(1)
    distinct = np.unique(np.floor(10 ** np.linspace(0, 6, 1400)))[-SIZES:]
    sizes = random.permutation(np.repeat(distinct, REPETITIONS))
    regimes = np.searchsorted([end for _, _, end in REGIMES], sizes)
    starts, per_byte, _ = (np.array(part)[regimes] for part in zip(*REGIMES, strict=True))

    def calls(share: float) -> np.ndarray:
        """Durations of a part of the message: a tenth of them are later."""
        times = share * (starts + per_byte * sizes) * np.exp(0.03 * random.standard_normal(len(sizes)))
        return times + 0.2 * share * starts * (random.random(len(sizes)) < 0.1)

    def lines(function: str, seconds: np.ndarray) -> list[str]:
        return [f"{function},{size:.0f},0,{time:.6g}\n" for size, time in zip(sizes, seconds, strict=True)]

    for kind in ("Isend", "Recv"):
        (folder / f"made_{kind}.csv").write_text("".join(lines(f"MPI_{kind}", calls(SHARES[kind]))))
    sends, answers = calls(SHARES["MPI_Send"]), calls(2 - SHARES["MPI_Send"])
    pairs = zip(lines("MPI_Send", sends), lines("MPI_Recv", answers), strict=True)
    (folder / "made_PingPong.csv").write_text("".join(line for pair in pairs for line in pair))


def fit_cpu_s(folder: Path, option: str) -> float:
    """Processor time of one fit of the campaign in this folder [s]."""
    command = [sys.executable, "-m", "hopcast", "calibrate", "fit", str(folder), *WORDS, option]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, "-o", str(folder / "made.toml")],
        env={**os.environ, "PYTHONPATH": str(HERE / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Makes the campaign, fits it twice and prints a line for each."""
    with tempfile.TemporaryDirectory() as name:
        write_campaign(Path(name))
        for option in OPTIONS:
            taken = fit_cpu_s(Path(name), option)
            print(f"fit of {SIZES:,} sizes x {REPETITIONS}, {option:10} {taken:6.2f} s of CPU", flush=True)
            rates.record("calibrate_fit", option, cpu_s=taken)


if __name__ == "__main__":
    main()
