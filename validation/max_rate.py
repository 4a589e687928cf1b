"""The max-rate model: k = 1 to 16 senders of one host, in three protocol regimes, against the formula.

Compared: the time in which k processes of one host send n bytes each to another, T = s + k n / min(R_N,
R_Cb + (k-1) R_Ci), with the numbers of a Cray XE6 as they are published (four parameters), and with R_Ci =
R_Cb (three). Both are run in the models `max-rate` and `flow`.
Source: Gropp, Olson, Samfass, "Modeling MPI communication performance on SMP nodes: is it time to retire
the ping pong test" (EuroMPI 2016), slides "A Slightly Better Model", "Another Refinement", "New Model". The
three-parameter fit of the slides is a picture only: here R_C is the four-parameter model's R_Cb. Where the
regimes end is not on the slides; it is Cray's default (512 B and 8 KiB, intro_mpi(3)).
Expected: no disagreement but rounding, as long as the formula has a meaning. In the short regime R_Cb +
(k-1) R_Ci is negative from k = 5 on; hopcast then keeps the rate of k = 4, and nothing is compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pictures
import results
from results import Kind, Result

import hopcast

KIND = Kind.FORMULA
NO_NULL = "compares with a formula of the NIC, which an infinite network does not have"

PLATFORMS = Path(__file__).with_name("platforms")
SENDERS = range(1, 17)
SLOT_S = 0.25
"""Each case has this much simulated time to itself [s]."""
TOLERANCE = 0.001


@dataclass(frozen=True)
class Regime:
    """Published numbers: s [s], rates [B/s]."""

    name: str
    up_to: float
    start_s: float
    base: float
    further: float
    nic: float

    def time_s(self, senders: int, nbytes: int, parameters: int) -> float | None:
        """The formula; None where it has no meaning."""
        further = self.base if parameters == 3 else self.further
        rate = min(self.nic, self.base + (senders - 1) * further)
        return self.start_s + senders * nbytes / rate if rate > 0 else None


REGIMES = (
    Regime("short", 512, 4e-6, 0.63e9, -0.18e9, math.inf),
    Regime("eager", 8192, 11e-6, 1.7e9, 0.062e9, math.inf),
    Regime("rendezvous", math.inf, 20e-6, 3.6e9, 0.61e9, 5.5e9),
)


def regime_of(nbytes: int) -> Regime:
    """The regime of a message's size."""
    return next(regime for regime in REGIMES if nbytes <= regime.up_to)


Case = tuple[int, int]
"""Senders, and bytes of each."""


def times_s(cases: list[Case], parameters: int, model: str) -> dict[Case, float]:
    """The time of each case: from the start of all sends until the last message is there [s]."""
    most = max(SENDERS)

    def program(comm):
        mine = []
        for number, (senders, nbytes) in enumerate(cases):
            start = number * SLOT_S
            comm.sleep_until(start)
            if comm.rank < senders:
                comm.send(nbytes=nbytes, dest=comm.rank + most)
            elif most <= comm.rank < most + senders:
                comm.recv(source=comm.rank - most)
                mine.append(comm.Wtime() - start)
            else:
                mine.append(0.0)
        return mine if comm.rank >= most else None

    platform = PLATFORMS / f"xe6-{parameters}-parameters.toml"
    report = hopcast.run(platform, program, 2 * most, ppn=most, model=model)
    ends = zip(*report.results[most:], strict=True)
    return {case: max(end) for case, end in zip(cases, ends, strict=True)}


def worst(simulated: dict[Case, float], regime: Regime, parameters: int) -> tuple[float, Case]:
    """The largest relative error of a regime, and where."""
    errors = []
    for (senders, nbytes), time in simulated.items():
        formula = regime.time_s(senders, nbytes, parameters)
        if regime_of(nbytes) is regime and formula is not None:
            errors.append((abs(time / formula - 1), (senders, nbytes)))
    return max(errors)


def plot(simulated: dict[int, dict[Case, float]], out: Path) -> None:
    """Rate per process by message size, as the slides' figures (b) and (c)."""
    figure, panels = pictures.pyplot().subplots(1, 2, figsize=(12, 5), sharey=True)
    for axes, (parameters, times) in zip(panels, simulated.items(), strict=True):
        for senders in (1, 2, 4, 8, 16):
            points = [(nbytes, nbytes / time / 1e6) for (k, nbytes), time in times.items() if k == senders]
            line = axes.plot(*zip(*points, strict=True), marker=".", label=f"k = {senders}")[0]
            formula = [(size, regime_of(size).time_s(senders, size, parameters)) for size, _ in points]
            drawn = [(size, size / time / 1e6) for size, time in formula if time is not None]
            circles = {"linestyle": "none", "marker": "o", "fillstyle": "none", "color": line.get_color()}
            axes.plot(*zip(*drawn, strict=True), **circles)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="message [B]", title=f"{parameters} parameters (circles: formula)")
        axes.legend()
    panels[0].set_ylabel("rate per process [MB/s]")
    pictures.save(figure, out, "max_rate")


def compare(out: Path, quick: bool) -> list[Result]:
    """Every number of senders, sizes from 8 B to 4 MiB."""
    sizes = [2**power for power in range(3, 23, 3 if quick else 1)]
    cases = [(senders, nbytes) for senders in SENDERS for nbytes in sizes]
    compared = []
    drawn = {}
    for parameters in (3, 4):
        for model in ("max-rate", "flow"):
            simulated = times_s(cases, parameters, model)
            drawn.setdefault(parameters, simulated)
            for regime in REGIMES:
                _, (senders, nbytes) = worst(simulated, regime, parameters)
                formula = regime.time_s(senders, nbytes, parameters)
                what = (
                    f"{regime.name}, {parameters} parameters, {model}: k = {senders}, {nbytes} B (the worst)"
                )
                ours = 1e6 * simulated[senders, nbytes]
                compared.append(Result(what, 1e6 * formula, ours, "µs", TOLERANCE, "the formula"))
    plot(drawn, out)
    return compared


if __name__ == "__main__":
    results.main(compare, __doc__)
