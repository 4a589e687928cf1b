"""Laws of every regime of max-rate data: fits, the lines that show them, and regimes for a platform file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import pair_times, rate_regimes, rates
from hopcast.calibrate.accuracy import Accuracy, percent
from hopcast.calibrate.pair_times import PairTimes
from hopcast.calibrate.rates import Law
from hopcast.errors import InputError

NEAR = 0.05
"""Distance from the least error at numbers of pairs held back within which the criterion decides."""
KS_LEAST = {"postal": 1, "extended": 3}
"""Numbers of pairs that a law needs to say anything of further ones; two are enough for others."""
POSTAL = "postal (1 pair)", "postal (all pairs)", "postal (1 to all)"


@dataclass(frozen=True)
class RegimeFit:
    """A regime with its laws."""

    above: float
    up_to: float | None
    laws: dict[str, Law]
    held_back: dict[str, Accuracy]
    """Errors at even k of a fit to odd k; empty with fewer than three numbers of pairs."""

    @property
    def by_criterion(self) -> str:
        """The law of the least criterion; the first of those that differ by rounding."""
        return self._least(self.laws)

    @property
    def best(self) -> str:
        """The law of the least criterion among those whose error at k held back is near the least."""
        if not self.held_back:
            return self.by_criterion
        least = min(errors.median for errors in self.held_back.values())
        return self._least([name for name, errors in self.held_back.items() if errors.median <= least + NEAR])

    def _least(self, names: Iterable[str]) -> str:
        return min(names, key=lambda name: round(self.laws[name].criterion, 6))


def choose(runs: Sequence[PairTimes], block: str | None, places: int) -> PairTimes:
    """The block to fit; runs of several places are put together by their medians."""
    names = [run.name.rpartition(", ")[2] if ", " in run.name else run.name for run in runs]
    wanted = [run for run, name in zip(runs, names, strict=True) if block is None or name == block]
    if not wanted:
        raise InputError(f"unknown block '{block}'; known: {', '.join(dict.fromkeys(names))}")
    kinds = dict.fromkeys(name for name, run in zip(names, runs, strict=True) if run in wanted)
    if len(wanted) > places or (block is None and len(kinds) > 1 and places == 1):
        raise InputError(
            f"several blocks, which are not of the same kind: choose with --block: {', '.join(kinds)}"
        )
    if len({run.conversion for run in wanted}) > 1:
        raise InputError("data of different formats or programs: fit them apart")
    return wanted[0] if len(wanted) == 1 else pair_times.median(wanted)


def fit_regimes(data: PairTimes, ends: Sequence[float] | None, models: Sequence[str]) -> list[RegimeFit]:
    """Fits of every regime; ends that are not given are learned."""
    if ends is None:
        ends = rate_regimes.learn(data)
        if "modified" in models and not {"max-rate", "extended"} & set(models):
            ends = rate_regimes.merged(data, ends, "modified")
    edges = [0.0, *ends, np.inf]
    fits = []
    for above, up_to in itertools.pairwise(edges):
        part = data.where((data.sizes > above) & (data.sizes <= up_to))
        if not len(part.seconds):
            raise InputError(
                f"{data.name}: no message from {above:g} B to {up_to:g} B was measured: name other regimes"
            )
        numbers = len(np.unique(part.pairs))
        usable = [name for name in models if name not in rates.MODELS or numbers >= KS_LEAST.get(name, 2)]
        if not usable:
            raise InputError(
                f"{data.name}: the laws {', '.join(models)} need {KS_LEAST.get(models[0], 2)} numbers of "
                f"pairs, and {numbers} were measured: measure more, or take postal"
            )
        laws = {name: rates.fit(part, name) for name in usable}
        held = {}
        if numbers > 2:
            held = {name: rates.held_back(part, name)[1] for name in usable}
        fits.append(RegimeFit(above, None if np.isinf(up_to) else up_to, laws, held))
    return fits


def postal_laws(data: PairTimes) -> dict[str, Law]:
    """Three postal laws: fitted to one pair, to all pairs at once, and to one to all."""
    one, most = data.where(data.pairs == 1), data.where(data.pairs == data.pairs.max())
    return {
        name: rates.fit(part, "postal")
        for name, part in zip(POSTAL, (one, most, data), strict=True)
        if len(part.seconds) > 1
    }


def lines(fits: Sequence[RegimeFit]) -> list[str]:
    """Screen lines."""
    shown = []
    for fit in fits:
        end = (
            f"{fit.above:,.0f} to {fit.up_to:,.0f} B"
            if fit.up_to is not None
            else f"above {fit.above:,.0f} B"
        )
        shown.append(f"{end}, {next(iter(fit.laws.values())).rows} times; {_why(fit)}: {fit.best}")
        for name, law in fit.laws.items():
            values = ", ".join(_value(law, key) for key in law.values)
            held = (
                f"; held back: median {percent(fit.held_back[name].median)}" if name in fit.held_back else ""
            )
            shown.append(f"  {name:<9} {values}")
            shown.append(f"            {law.accuracy}{held}")
    return shown


def _why(fit: RegimeFit) -> str:
    return "best by BIC" if fit.best == fit.by_criterion else "best at numbers of pairs held back"


def findings(fits: Sequence[RegimeFit]) -> tuple[str, ...]:
    """Notes of all laws about what they leave out, by regime."""
    return tuple(
        f"{'up to ' + format(fit.up_to, ',.0f') + ' B' if fit.up_to else 'last regime'}, {name}: {note}"
        for fit in fits
        for name, law in fit.laws.items()
        for note in law.notes
    )


def toml(data: PairTimes, fits: Sequence[RegimeFit]) -> str:
    """Regimes for a platform file, each of the law of the least criterion."""
    advice = [
        "# Times of a message hold its overheads and the network: where [mpi.regimes] of your",
        "# platform have overheads and [nic] a latency, take them off `latency`.",
    ]
    return "\n".join([*provenance(data), *advice, "", *regimes(fits)])


def provenance(data: PairTimes) -> list[str]:
    """Comments about the data of a fit."""
    return [
        f"# Fitted by `hopcast calibrate rates` to {data.name}: up to {data.pairs.max():.0f} pairs of "
        "processes.",
        f"# Read as: {data.conversion}.",
    ]


def regimes(fits: Sequence[RegimeFit]) -> list[str]:
    """Lines of `[[mpi.regimes]]`, an empty one after each."""
    parts = []
    for number, fit in enumerate(fits, 1):
        law = chosen(fit)
        parts += [f"[[mpi.regimes]]    # {law.model}; {law.accuracy}", f'name = "regime {number}"']
        if fit.up_to is not None:
            parts.append(f'up_to = "{fit.up_to:.0f} B"')
        parts += [*_keys(law), ""]
    return parts


_KEYS = {"s": "latency", "R_C": "process_rate", "R_Cb": "process_rate", "R_N": "nic_rate"}


def chosen(fit: RegimeFit) -> Law:
    """The law of a regime that a platform gets."""
    return fit.laws[fit.best]


def _keys(law: Law) -> list[str]:
    found = ['overlap = "nic"    # T = max(k n / R_N, s + n / R_C)'] if law.model == "modified" else []
    for name, value in law.values.items():
        if value is None:
            found += [f"# {note}" for note in law.notes if note.startswith(f"{name} ")]
            continue
        error = f"    # ± {percent(law.errors[name] / abs(value))}" if value else ""
        if name == "R_Ci":
            key = "further_process_rate" if value >= 0 else "further_process_loss"
            found.append(f'{key} = "{abs(value) / 1e9:.6g} GB/s"{error}')
        elif name == "s":
            found.append(f'latency = "{1e6 * value:.6g} us"{error}')
        else:
            found.append(f'{_KEYS[name]} = "{value / 1e9:.6g} GB/s"{error}')
    return found


def _value(law: Law, name: str) -> str:
    value = law.values[name]
    if value is None:
        return f"{name} not identified"
    unit, scale = ("µs", 1e6) if name == "s" else ("GB/s", 1e-9)
    return f"{name} {scale * value:.4g} ± {scale * law.errors[name]:.2g} {unit}"
