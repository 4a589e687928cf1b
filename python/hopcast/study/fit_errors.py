"""Errors of a fitted platform: what `hopcast calibrate` says of its values, and values drawn within them.

The files of `hopcast calibrate` have the standard error of a value beside it:

    latency = "…"          # of the line 17.7 µs (± 0.5) + 20.27 ns/B (± 0.3) n, correlation -0.42
    send_overhead = "…"    # send: 3.4 µs (± 0.1) + 0.1 ns/B (± 0.02) n, correlation -0.31
    process_rate = "…"     # ± 1.5 %
    # standard errors: start-up ± 2.46 %, n ± 0.754 %
    # correlations: start-up with n -0.517

Errors are drawn from a normal distribution with their correlations; where a file has none, independently.
Those are the errors of a line through all sizes. What single sizes are off the line does not shrink with
their number, and a program sends few sizes; the file says what 90 % of the sizes are within, ε:

    [[mpi.regimes]]        # 33 sizes; error of ping-pongs: median 4.44 %, 90 % within 6.91 %, worst 24.8 %
    δa, δb         + a z ε/1.645, + b z ε/1.645    one z for each regime and draw

The lines of a whole message, of its send and of its receive are three fits; the wire has what the first
leaves:

    wire           δ = δa − δa_send − δa_receive   of a rendezvous less its handshake, 2 δa of regime 1
    nic.latency    + δ/2 of the first regime       all messages have it twice
    latency        + δ − that
    1/process_rate + δb − δb_send − δb_receive     not above the NIC's rate
    nic.bandwidth  the draw of the best known regime that has the NIC's rate

Two overheads of one line, such as those of MPI_Send and MPI_Isend above the eager limit, have one draw. Modes
in place of a start-up are scaled like it, and those of a kernel like its time. Draws end at a quarter of a
value, and those of a time per byte at a quarter of the time; a latency ends at 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RELATIVE = re.compile(rf"^#(?: not identified:)? ± ({_NUMBER}) %")
_LINE = re.compile(
    rf"({_NUMBER}) µs (?:\(± ({_NUMBER})\)|\(at its bound\)) \+ "
    rf"({_NUMBER}) ns/B (?:\(± ({_NUMBER})\)|\(at its bound\)) n(?:, correlation ({_NUMBER}))?"
)
_SIZES = re.compile(rf"90 % within ({_NUMBER}) %")
_OF_NORMAL = 1.6449
"""Distance from zero within which 90 % of standard normal numbers are."""
_ERROR = re.compile(rf"(?:^|[,;] )(?:piece \d+ )?([^,;±]+?) (?:± ({_NUMBER}) %|± not known)")
_TOGETHER = re.compile(rf"(?:^|, )([^,]+?) with ([^,]+?) ({_NUMBER})")
_QUANTITY = re.compile(rf"({_NUMBER})(.*)", re.S)
_COEFFICIENT = re.compile(rf"({_NUMBER}) (us|ps)\b")
_LINEAR = re.compile(rf"({_NUMBER}) us(?: \+ ({_NUMBER}) ps/B)?")
_NOT_IDENTIFIED = "# not identified"
_LEAST = 0.25
"""Least part of a value that is left by a draw."""
_SAME = 1e-5
"""Relative difference of two rates of a file that were one before rounding."""

Draw = Callable[["numpy.random.Generator"], dict[str, str]]
"""Values of the platform by key, drawn together."""


@dataclass(frozen=True)
class FitErrors:
    """Errors of the values of a platform, as its file says them."""

    draws: tuple[Draw, ...]
    values: int
    """Number of values that have an error."""
    correlated: int
    """Those of them that have correlations with others."""
    not_drawn: int = 0
    """Number of formulas with errors that stay as they are: their terms are not those of the errors."""
    sizes: float = 0.0
    """Relative distance from its line within which 90 % of the sizes of a regime are, the largest of all."""

    def drawn(self, generator: numpy.random.Generator) -> dict[str, str]:
        """Values by key, in place of those of the file."""
        return {key: value for draw in self.draws for key, value in draw(generator).items()}

    def words(self) -> str:
        """Kind of the draws in words, and what is not drawn."""
        text = self._kind()
        if self.sizes:
            text += f"; messages of one size: 90 % within {100 * self.sizes:.3g} % of the fitted lines"
        if self.not_drawn:
            formulas = "formula" if self.not_drawn == 1 else "formulas"
            text += f"; not drawn: {self.not_drawn} {formulas} with other terms than the errors have"
        return text

    def _kind(self) -> str:
        if self.correlated == self.values:
            return f"{self.values} values, with the correlations of the fit"
        if not self.correlated:
            return f"{self.values} values, as independent: the file has no correlations"
        apart = self.values - self.correlated
        return f"{self.values} values, {apart} of them as independent: the file has no correlations of these"


def read(text: str) -> FitErrors:
    """Errors that a platform file names; none in one that no calibration has made."""
    import tomlkit

    document = tomlkit.parse(text)
    found: list[tuple[Draw, int, int]] = []
    groups: dict[str, list[_Regime]] = {}
    not_drawn = 0
    nic_is_drawn = False
    for path, table, comments in _tables(document, ""):
        regime = _regime(path, table, comments)
        if regime is not None:
            groups.setdefault(path.partition(".regimes[")[0], []).append(regime)
            not_drawn += regime.not_drawn
            of_lines = regime.keys_of_lines()
            found += _single(path, table, {key: comments[key] for key in comments if key not in of_lines})
        elif path.startswith("compute.kernels["):
            own, left = _kernel(path, table, comments)
            found, not_drawn = found + own, not_drawn + left
        else:
            found += _single(path, table, comments)
            nic_is_drawn |= path == "nic" and _RELATIVE.match(comments.get("bandwidth", "")) is not None
    nic, mpi = document.get("nic", {}), document.get("mpi", {})
    for path, regimes in groups.items():
        nic_us = nic_Bps = None
        if path == "mpi":
            nic_us = _us(str(nic.get("latency", "")))
            nic_Bps = None if nic_is_drawn else _rate(str(nic.get("bandwidth", "")))
        limit = _bytes(str(mpi.get("eager_limit" if path == "mpi" else "memory_eager_limit", "")))
        draw = _messages(_in_order(regimes, limit), nic_us, nic_Bps)
        known, together = zip(*(regime.counts() for regime in regimes), strict=True)
        found.append((draw, sum(known), sum(together)))
    draws, values, correlated = zip(*found, strict=True) if found else ((), (), ())
    deviations = [regime.deviation for regimes in groups.values() for regime in regimes]
    sizes = _OF_NORMAL * max(deviations, default=0.0)
    return FitErrors(tuple(draws), sum(values), sum(correlated), not_drawn, sizes)


def _tables(container: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any], dict[str, str]]]:
    """Tables of a document by path, with the comment beside each value, and those that stand alone.

    The key of the comment beside the name of a table is empty.
    """
    from tomlkit.items import AoT, Comment, Table

    comments: dict[str, str] = {"": container.trivia.comment if isinstance(container, Table) else ""}
    body = container.value.body if isinstance(container, Table) else container.body
    for key, item in body:
        if isinstance(item, Comment):
            word, colon, rest = item.trivia.comment.removeprefix("# ").partition(": ")
            if colon:
                comments[f"# {word}"] = rest
        elif key is not None:
            comments[key.key] = item.trivia.comment
    yield path, container, comments
    for key, item in body:
        if key is None:
            continue
        below = f"{path}.{key.key}" if path else key.key
        if isinstance(item, AoT):
            for number, table in enumerate(item):
                yield from _tables(table, f"{below}[{number}]")
        elif isinstance(item, Table):
            yield from _tables(item, below)


@dataclass(frozen=True)
class _Line:
    """A fitted line a + b n with the standard errors of both [s, s/B]; 0 where there is none."""

    start_s: float = 0.0
    start_error_s: float = 0.0
    byte_s: float = 0.0
    byte_error_s: float = 0.0
    correlation: float | None = None

    def times(self, share: float) -> tuple[float, float]:
        """A share of both."""
        return share * self.start_s, share * self.byte_s

    def errors(self, generator: numpy.random.Generator) -> tuple[float, float]:
        """Errors of both, drawn together."""
        one, two = generator.standard_normal(2)
        together = self.correlation or 0.0
        rest = max(0.0, 1 - together**2) ** 0.5
        return self.start_error_s * one, self.byte_error_s * (together * one + rest * two)


def _parsed(comment: str) -> _Line | None:
    found = _LINE.search(comment)
    if found is None:
        return None
    start, start_error, byte, byte_error, together = (
        None if text is None else float(text) for text in found.groups()
    )
    return _Line(
        1e-6 * (start or 0.0),
        1e-6 * (start_error or 0.0),
        1e-9 * (byte or 0.0),
        1e-9 * (byte_error or 0.0),
        together,
    )


@dataclass(frozen=True)
class _Overhead:
    """Time of a process for a message as the file has it, and the line that it was cut from [s, s/B]."""

    start_s: float
    byte_s: float
    modes: Sequence[Mapping[str, Any]]
    """Modes of its start-up; empty where single calls do not vary."""
    comment: str
    """The line as the file says it."""
    line: _Line

    def drawn(self, errors: tuple[float, float]) -> tuple[float, float, dict[str, str]]:
        """Errors of this part of the line, and the overhead and its modes with them by the ends of keys."""
        start_s = self.start_s + sum(mode["weight"] * _seconds(mode["mean"]) for mode in self.modes)
        start, byte = errors
        start *= start_s / self.line.start_s if self.line.start_s else 0.0
        byte *= self.byte_s / self.line.byte_s if self.line.byte_s else 0.0
        start, byte = max(start, (_LEAST - 1) * start_s), max(byte, (_LEAST - 1) * self.byte_s)
        factor = 1 + start / start_s if start_s > 0 else 1.0
        written = f"{1e6 * factor * self.start_s:.9g} us"
        if self.byte_s:
            written += f" + {1e12 * (self.byte_s + byte):.9g} ps/B"
        values = {"overhead": written}
        if self.modes:
            values["modes"] = _written(self.modes, lambda text: f"{1e9 * factor * _seconds(text):.9g} ns")
        return start, byte, values


@dataclass(frozen=True)
class _Regime:
    """A range of messages of the file: its values, and the lines that they were made of."""

    path: str
    latency_us: float
    rate_key: str
    rate_Bps: float
    rate_error: float | None
    """Relative error of the rate; None where it is not identified."""
    whole: _Line
    deviation: float
    """Relative standard deviation of single sizes from the line."""
    overheads: Mapping[str, _Overhead]
    """Measured overheads by the beginning of their keys: send, receive, isend."""
    up_to_B: float
    is_rendezvous: bool
    not_drawn: int
    """Number of overheads that are no line."""

    def of_sizes(self, generator: numpy.random.Generator) -> tuple[float, float]:
        """Errors of the line at the sizes of a program."""
        return self.whole.times(self.deviation * float(generator.standard_normal()))

    def keys_of_lines(self) -> tuple[str, ...]:
        """Keys whose values the lines say."""
        return ("latency", self.rate_key, *(f"{key}_overhead" for key in self.overheads))

    def counts(self) -> tuple[int, int]:
        """Number of values that have an error, and of those with a correlation; a line counts once."""
        apart = {overhead.comment: overhead.line for overhead in self.overheads.values()}
        lines = [self.whole, *apart.values()]
        known = sum((line.start_error_s > 0) + (line.byte_error_s > 0) for line in lines)
        return known, sum(2 for line in lines if line.correlation is not None)


def _regime(path: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> _Regime | None:
    """The regime in a table; None if it is none with an error."""
    whole = _parsed(comments.get("latency", ""))
    rate_key = next((key for key in ("process_rate", "bandwidth") if key in table), "")
    latency_us, rate_Bps = _us(str(table.get("latency", ""))), _rate(str(table.get(rate_key, "")))
    if whole is None or latency_us is None or rate_Bps is None:
        return None
    overheads, not_drawn = {}, 0
    for key in ("send", "receive", "isend"):
        comment = comments.get(f"{key}_overhead", "")
        if (line := _parsed(comment)) is None:
            continue
        if (found := _LINEAR.fullmatch(str(table[f"{key}_overhead"]))) is None:
            not_drawn += 1
            continue
        modes = table[f"{key}_modes"].unwrap() if f"{key}_modes" in table else ()
        start_s, byte_s = 1e-6 * float(found[1]), 1e-12 * float(found[2] or 0)
        overheads[key] = _Overhead(start_s, byte_s, modes, comment, line)
    sizes = _SIZES.search(comments.get("", ""))
    comment = comments.get(rate_key, "")
    error = None if comment.startswith(_NOT_IDENTIFIED) else _RELATIVE.match(comment)
    up_to_B = _bytes(str(table.get("up_to", "")))
    return _Regime(
        path,
        latency_us,
        rate_key,
        rate_Bps,
        None if error is None else float(error[1]) / 100,
        whole,
        float(sizes[1]) / 100 / _OF_NORMAL if sizes else 0.0,
        overheads,
        float("inf") if up_to_B is None else up_to_B,
        str(table.get("name", "")).startswith("rendezvous"),
        not_drawn,
    )


def _in_order(regimes: Sequence[_Regime], limit_B: float | None) -> list[_Regime]:
    """Regimes from the shortest messages on; those that begin at the eager limit or above are rendezvous."""
    ordered = sorted(regimes, key=lambda regime: regime.up_to_B)
    begins = [0.0, *(regime.up_to_B for regime in ordered)]
    return [
        replace(regime, is_rendezvous=regime.is_rendezvous or (limit_B is not None and above >= limit_B))
        for regime, above in zip(ordered, begins, strict=False)
    ]


def _messages(regimes: Sequence[_Regime], nic_us: float | None, nic_Bps: float | None) -> Draw:
    """Draw of all regimes of one kind of messages; `nic_us`, `nic_Bps`: of the NIC, which they share."""
    on_nic = [
        (regime.rate_error, number)
        for number, regime in enumerate(regimes)
        if regime.rate_error is not None and nic_Bps and abs(regime.rate_Bps / nic_Bps - 1) < _SAME
    ]
    # A faster regime than the NIC says that its rate is of another source.
    is_fastest = nic_Bps is not None and all(regime.rate_Bps <= (1 + _SAME) * nic_Bps for regime in regimes)
    source = min(on_nic)[1] if on_nic and is_fastest else None

    def draw(generator: numpy.random.Generator) -> dict[str, str]:
        values: dict[str, str] = {}
        first_us = shared_us = 0.0
        rates_Bps = []
        for number, regime in enumerate(regimes):
            start_s, byte_s = map(
                sum, zip(regime.whole.errors(generator), regime.of_sizes(generator), strict=True)
            )
            if number == 0:
                first_us = 1e6 * start_s
            errors: dict[str, tuple[float, float]] = {}
            for key, overhead in regime.overheads.items():
                if overhead.comment not in errors:
                    errors[overhead.comment] = overhead.line.errors(generator)
                own_start_s, own_byte_s, written = overhead.drawn(errors[overhead.comment])
                values |= {f"{regime.path}.{key}_{end}": text for end, text in written.items()}
                if key != "isend":
                    start_s, byte_s = start_s - own_start_s, byte_s - own_byte_s
            wire_us = 1e6 * start_s - (2 * first_us if regime.is_rendezvous else 0.0)
            if number == 0 and nic_us:
                shared_us = max(wire_us, 2 * (_LEAST - 1) * nic_us)
                values["nic.latency"] = f"{nic_us + shared_us / 2:.9g} us"
            latency_us = max(0.0, regime.latency_us + wire_us - shared_us)
            values[f"{regime.path}.latency"] = f"{latency_us:.9g} us"
            rates_Bps.append(1 / max(1 / regime.rate_Bps + byte_s, _LEAST / regime.rate_Bps))
        most_Bps = nic_Bps if source is None else rates_Bps[source]
        if source is not None:
            values["nic.bandwidth"] = f"{1e-9 * rates_Bps[source]:.9g} GB/s"
        for regime, rate_Bps in zip(regimes, rates_Bps, strict=True):
            if nic_Bps is not None and most_Bps is not None and regime.rate_Bps <= (1 + _SAME) * nic_Bps:
                rate_Bps = min(rate_Bps, most_Bps)
            values[f"{regime.path}.{regime.rate_key}"] = f"{1e-9 * rate_Bps:.9g} GB/s"
        return values

    return draw


def _written(modes: Sequence[Mapping[str, Any]], changed: Callable[[str], str]) -> str:
    """Modes as a platform takes them, with means and deviations changed."""
    tables = []
    for mode in modes:
        own = {key: changed(value) if key in ("mean", "deviation") else value for key, value in mode.items()}
        tables.append(", ".join(f"{key} = {json.dumps(value)}" for key, value in own.items()))
    return f"[{', '.join(f'{{ {table} }}' for table in tables)}]"


def _us(text: str) -> float | None:
    """Microseconds of `1.5 us`, as calibrations write times."""
    found = re.fullmatch(rf"({_NUMBER}) us", text)
    return None if found is None else float(found[1])


def _rate(text: str) -> float | None:
    """Bytes per second of `1.5 GB/s`, as calibrations write rates."""
    found = re.fullmatch(rf"({_NUMBER}) GB/s", text)
    return None if found is None else 1e9 * float(found[1])


def _seconds(text: str) -> float:
    """Seconds of `1.5 ns`, as calibrations write modes."""
    found = re.fullmatch(rf"({_NUMBER}) ns", text)
    return 0.0 if found is None else 1e-9 * float(found[1])


def _bytes(text: str) -> float | None:
    """Bytes of `8192 B`, as calibrations write sizes."""
    found = re.fullmatch(rf"({_NUMBER}) B", text)
    return None if found is None else float(found[1])


def _single(path: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> list[tuple[Draw, int, int]]:
    """Draws of values with an error of their own: `± 4.06 %`."""
    draws = []
    for key, comment in comments.items():
        error = _RELATIVE.match(comment)
        value = _QUANTITY.fullmatch(str(table.get(key, "")))
        if error is None or value is None:
            continue
        draws.append((_relative(f"{path}.{key}", float(value[1]), value[2], float(error[1]) / 100), 1, 0))
    return draws


def _relative(key: str, number: float, unit: str, error: float) -> Draw:
    def draw(generator: numpy.random.Generator) -> dict[str, str]:
        factor = max(_LEAST, 1 + error * float(generator.standard_normal()))
        return {key: f"{factor * number:.9g}{unit}"}

    return draw


def _kernel(
    path: str, table: Mapping[str, Any], comments: Mapping[str, str]
) -> tuple[list[tuple[Draw, int, int]], int]:
    """Draws of the coefficients of a kernel's time or modes, and of its deviation; how many are not drawn."""
    draws, not_drawn = [], 0
    kinds = (
        ("time" if "time" in table else "modes", "# standard errors", "# correlations"),
        ("deviation", "# standard errors of the deviation", ""),
    )
    for key, errors, together in kinds:
        if errors not in comments:
            continue
        names = _ERROR.findall(comments[errors])
        numbers = [float(error) / 100 if error else 0.0 for _, error in names]
        matrix = _matrix([name for name, _ in names], _TOGETHER.findall(comments.get(together, "")))
        value = table[key].unwrap() if key in table else ""
        modes = [] if isinstance(value, str) else value
        formulas = [mode[part] for mode in modes for part in ("mean", "deviation") if part in mode]
        if numbers and all(_fits(formula, len(numbers)) for formula in formulas or [value]):
            draw = _coefficients(f"{path}.{key}", value, numbers, matrix)
            draws.append((draw, len(numbers), 0 if matrix is None else len(numbers)))
        else:
            not_drawn += 1
    return draws, not_drawn


def _fits(formula: str, count: int) -> bool:
    """True for a formula of so many coefficients, and for one that is zero whatever they are."""
    numbers = [float(number) for number, _ in _COEFFICIENT.findall(formula)]
    return len(numbers) == count or (bool(numbers) and not any(numbers))


def _matrix(names: list[str], pairs: list[tuple[str, str, str]]) -> numpy.ndarray | None:
    """Square root of the matrix of correlations; None where there are none."""
    import numpy

    matrix = numpy.eye(len(names))
    for one, two, value in pairs:
        if one in names and two in names:
            first, second = names.index(one), names.index(two)
            matrix[first, second] = matrix[second, first] = float(value)
    if not pairs:
        return None
    values, vectors = numpy.linalg.eigh(matrix)
    return vectors * numpy.sqrt(numpy.maximum(values, 0.0))


def _coefficients(
    key: str, value: str | Sequence[Mapping[str, Any]], errors: list[float], root: numpy.ndarray | None
) -> Draw:
    """Draw of a formula, or of modes, whose formulas all have the errors of one fit."""

    def draw(generator: numpy.random.Generator) -> dict[str, str]:
        normal = generator.standard_normal(len(errors))
        if root is not None:
            normal = root @ normal
        drawn = [error * float(one) for error, one in zip(errors, normal, strict=True)]
        if isinstance(value, str):
            return {key: _changed(value, drawn)}
        return {key: _written(value, lambda formula: _changed(formula, drawn))}

    return draw


def _changed(formula: str, errors: Sequence[float]) -> str:
    """The formula with errors of its coefficients, each relative to the size of the coefficient."""
    if len(_COEFFICIENT.findall(formula)) != len(errors):
        return formula
    left = iter(errors)

    def changed(found: re.Match[str]) -> str:
        is_negative = found[1].startswith("-") or formula[: found.start()].rstrip().endswith("-")
        factor = max(_LEAST, 1 + (-next(left) if is_negative else next(left)))
        return f"{float(found[1]) * factor:.9g} {found[2]}"

    return _COEFFICIENT.sub(changed, formula)
