"""Errors of a fitted platform: what `hopcast calibrate` says of its values, and values drawn within them.

The files of `hopcast calibrate` have the standard error of a value beside it:

    latency = "…"          # of the line 17.7 µs (± 0.5) + 20.27 ns/B (± 0.3) n, correlation -0.42
    send_overhead = "…"    # send: 3.4 µs (± 0.1) + 0.1 ns/B (± 0.02) n, correlation -0.31
    process_rate = "…"     # ± 1.5 %
    # standard errors: start-up ± 2.46 %, n ± 0.754 %
    # correlations: start-up with n -0.517

Errors are drawn from a normal distribution with their correlations; where a file has none, independently. The
lines of a whole message, of its send and of its receive are three fits; the wire has what the first leaves:

    wire           δ = δa − δa_send − δa_receive   of a rendezvous less its handshake, 2 δa of regime 1
    nic.latency    + δ/2 of the first regime       all messages have it twice
    latency        + δ − that
    1/process_rate + δb − δb_send − δb_receive     below the NIC's rate, or that is the fastest of them
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RELATIVE = re.compile(rf"^#(?: not identified:)? ± ({_NUMBER}) %")
_LINE = re.compile(
    rf"({_NUMBER}) µs (?:\(± ({_NUMBER})\)|\(at its bound\)) \+ "
    rf"({_NUMBER}) ns/B (?:\(± ({_NUMBER})\)|\(at its bound\)) n(?:, correlation ({_NUMBER}))?"
)
_ERROR = re.compile(rf"(?:^|[,;] )(?:piece \d+ )?([^,;±]+?) (?:± ({_NUMBER}) %|± not known)")
_TOGETHER = re.compile(rf"(?:^|, )([^,]+?) with ([^,]+?) ({_NUMBER})")
_QUANTITY = re.compile(rf"({_NUMBER})(.*)", re.S)
_COEFFICIENT = re.compile(rf"({_NUMBER}) (us|ps)\b")
_LINEAR = re.compile(rf"({_NUMBER}) us(?: \+ ({_NUMBER}) ps/B)?")
_LEAST = 1e-3
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

    def drawn(self, generator: numpy.random.Generator) -> dict[str, str]:
        """Values by key, in place of those of the file."""
        return {key: value for draw in self.draws for key, value in draw(generator).items()}

    def words(self) -> str:
        """Kind of the draws in words."""
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
    between_hosts: list[_Regime] = []
    for path, table, comments in _tables(document, ""):
        regime = _regime(path, table, comments)
        if regime is not None and path.startswith("mpi."):
            between_hosts.append(regime)
        elif regime is not None:
            found.append((_messages([regime], None, None), *regime.counts()))
        elif path.startswith("compute.kernels["):
            found += _kernel(path, table, comments)
        else:
            found += _single(path, table, comments)
    if between_hosts:
        nic = document.get("nic", {})
        draw = _messages(
            between_hosts, _us(str(nic.get("latency", ""))), _rate(str(nic.get("bandwidth", "")))
        )
        known, together = zip(*(regime.counts() for regime in between_hosts), strict=True)
        found.append((draw, sum(known), sum(together)))
    draws, values, correlated = zip(*found, strict=True) if found else ((), (), ())
    return FitErrors(tuple(draws), sum(values), sum(correlated))


def _tables(container: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any], dict[str, str]]]:
    """Tables of a document by path, with the comment beside each value, and those that stand alone."""
    from tomlkit.items import AoT, Comment, Table

    comments: dict[str, str] = {}
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
class _Regime:
    """A range of messages of the file: its values, and the lines that they were made of."""

    path: str
    latency_us: float
    rate_key: str
    rate_Bps: float
    whole: _Line
    overheads: Mapping[str, tuple[str, _Line]]
    """Value and line of each overhead that was measured."""
    is_rendezvous: bool

    def counts(self) -> tuple[int, int]:
        """Number of values that have an error, and of those with a correlation."""
        lines = [self.whole, *(line for _, line in self.overheads.values())]
        known = sum((line.start_error_s > 0) + (line.byte_error_s > 0) for line in lines)
        return known, sum(2 for line in lines if line.correlation is not None)


def _regime(path: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> _Regime | None:
    """The regime in a table; None if it is none with an error."""
    whole = _parsed(comments.get("latency", ""))
    rate_key = next((key for key in ("process_rate", "bandwidth") if key in table), "")
    latency_us, rate_Bps = _us(str(table.get("latency", ""))), _rate(str(table.get(rate_key, "")))
    if whole is None or latency_us is None or rate_Bps is None:
        return None
    overheads = {
        key: (str(table[key]), line)
        for key in ("send_overhead", "receive_overhead", "isend_overhead")
        if key in table and (line := _parsed(comments.get(key, ""))) is not None
    }
    is_rendezvous = str(table.get("name", "")).startswith("rendezvous")
    return _Regime(path, latency_us, rate_key, rate_Bps, whole, overheads, is_rendezvous)


def _messages(regimes: list[_Regime], nic_us: float | None, nic_Bps: float | None) -> Draw:
    """Draw of all regimes of one kind of messages; `nic_us`: latency of the NIC, which they share."""

    fastest_Bps = max(regime.rate_Bps for regime in regimes)
    is_fastest = nic_Bps is not None and abs(nic_Bps / fastest_Bps - 1) < _SAME

    def draw(generator: numpy.random.Generator) -> dict[str, str]:
        values: dict[str, str] = {}
        first_us = shared_us = 0.0
        rates_Bps = []
        for number, regime in enumerate(regimes):
            start_s, byte_s = regime.whole.errors(generator)
            if number == 0:
                first_us = 1e6 * start_s
            for key, (text, line) in regime.overheads.items():
                own_start_s, own_byte_s, written = _overhead(text, line, generator)
                values[f"{regime.path}.{key}"] = written
                if key != "isend_overhead":
                    start_s, byte_s = start_s - own_start_s, byte_s - own_byte_s
            wire_us = 1e6 * start_s - (2 * first_us if regime.is_rendezvous else 0.0)
            if number == 0 and nic_us:
                shared_us = max(wire_us, -2 * nic_us)
                values["nic.latency"] = f"{nic_us + shared_us / 2:.9g} us"
            latency_us = max(0.0, regime.latency_us + wire_us - shared_us)
            values[f"{regime.path}.latency"] = f"{latency_us:.9g} us"
            rates_Bps.append(1 / max(1 / regime.rate_Bps + byte_s, _LEAST / regime.rate_Bps))
        if is_fastest:
            values["nic.bandwidth"] = f"{1e-9 * max(rates_Bps):.9g} GB/s"
        for regime, rate_Bps in zip(regimes, rates_Bps, strict=True):
            if nic_Bps is not None and not is_fastest and regime.rate_Bps <= nic_Bps:
                rate_Bps = min(rate_Bps, nic_Bps)
            values[f"{regime.path}.{regime.rate_key}"] = f"{1e-9 * rate_Bps:.9g} GB/s"
        return values

    return draw


def _overhead(text: str, line: _Line, generator: numpy.random.Generator) -> tuple[float, float, str]:
    """Errors of an overhead that was cut like its value, and the overhead with them."""
    found = _LINEAR.fullmatch(text)
    if found is None:
        return 0.0, 0.0, text
    start_s, byte_s = 1e-6 * float(found[1]), 1e-12 * float(found[2] or 0)
    start, byte = line.errors(generator)
    start *= start_s / line.start_s if line.start_s else 0.0
    byte *= byte_s / line.byte_s if line.byte_s else 0.0
    start, byte = max(start, -start_s), max(byte, -byte_s)
    written = f"{1e6 * (start_s + start):.9g} us"
    if byte_s:
        written += f" + {1e12 * (byte_s + byte):.9g} ps/B"
    return start, byte, written


def _us(text: str) -> float | None:
    """Microseconds of `1.5 us`, as calibrations write times."""
    found = re.fullmatch(rf"({_NUMBER}) us", text)
    return None if found is None else float(found[1])


def _rate(text: str) -> float | None:
    """Bytes per second of `1.5 GB/s`, as calibrations write rates."""
    found = re.fullmatch(rf"({_NUMBER}) GB/s", text)
    return None if found is None else 1e9 * float(found[1])


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


def _kernel(path: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> list[tuple[Draw, int, int]]:
    """Draws of the coefficients of a kernel's time, and of those of its deviation."""
    draws = []
    kinds = (
        ("time", "# standard errors", "# correlations"),
        ("deviation", "# standard errors of the deviation", ""),
    )
    for key, errors, together in kinds:
        if key not in table or errors not in comments:
            continue
        names = _ERROR.findall(comments[errors])
        numbers = [float(error) / 100 if error else 0.0 for _, error in names]
        matrix = _matrix([name for name, _ in names], _TOGETHER.findall(comments.get(together, "")))
        if len(_COEFFICIENT.findall(str(table[key]))) == len(numbers):
            draw = _coefficients(f"{path}.{key}", str(table[key]), numbers, matrix)
            draws.append((draw, len(numbers), 0 if matrix is None else len(numbers)))
    return draws


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


def _coefficients(key: str, formula: str, errors: list[float], root: numpy.ndarray | None) -> Draw:
    def draw(generator: numpy.random.Generator) -> dict[str, str]:
        normal = generator.standard_normal(len(errors))
        if root is not None:
            normal = root @ normal
        factors = iter([max(_LEAST, 1 + error * one) for error, one in zip(errors, normal, strict=True)])
        text = _COEFFICIENT.sub(lambda found: f"{float(found[1]) * next(factors):.9g} {found[2]}", formula)
        return {key: text}

    return draw
