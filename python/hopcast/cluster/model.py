"""Generative model of the processors of a cluster.

The time of a call of a kernel on processor p of host h on day d is

    T = Σ cᵢ xᵢ + H(0, Σ dᵢ xᵢ)        c: coefficients, d: those of the deviation, x: terms such as M N K

and the vector μ of all coefficients of a processor is drawn in three levels:

    kind of host      k ~ weights        weights ~ Dirichlet(hosts of each kind)
    space             μ_p ~ Normal(μ_k, Σ_S)
    time              μ_{p,d} ~ Normal(μ_p, Σ_T)      independent from day to day

Processors of one host share its kind, and nothing else. It assumes normal coefficients (of calibrations on
Dahu, Shapiro's test rejects that on no processor) and says nothing of trends over days, or of days on which
all hosts differ together.

Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast import text_file
from hopcast.errors import InputError
from hopcast.toml import tomllib

PRODUCT, START_UP, SPREAD = "M*N*K", "1", "deviation M*N*K"
TERMS = (PRODUCT, START_UP, SPREAD)
"""Terms of a model unless others are named: rate, start-up, and short-term variability of dgemm."""


@dataclass(frozen=True)
class Kind:
    """Hosts whose processors are alike."""

    name: str
    hosts: float
    """Number of hosts that it was fitted to: its weight among the kinds."""
    mean: np.ndarray
    """μ: coefficients by term [s]."""
    spatial: np.ndarray
    """Σ_S: covariance between processors [s²]."""
    temporal: np.ndarray
    """Σ_T: covariance between the days of a processor [s²]."""


@dataclass(frozen=True)
class ClusterModel:
    """A mixture of kinds of hosts."""

    terms: tuple[str, ...]
    sockets: int
    """Processors of a host."""
    kinds: tuple[Kind, ...]
    source: str
    """Provenance of its numbers."""

    def kind(self, name: str) -> Kind:
        """The kind of that name; an error lists those there are."""
        found = [kind for kind in self.kinds if kind.name == name]
        if not found:
            raise InputError(f"unknown kind '{name}'; known: {', '.join(kind.name for kind in self.kinds)}")
        return found[0]

    def place(self, term: str) -> int:
        """Number of a term in all vectors."""
        if term not in self.terms:
            raise InputError(f"no term '{term}'; terms: {', '.join(self.terms)}")
        return self.terms.index(term)


def text(model: ClusterModel) -> str:
    """The model as TOML, with all digits."""
    lines = [
        "# Generative model of the processors of a cluster: coefficients of a kernel's time, in seconds a "
        "term.",
        "# `hopcast cluster draw` makes a table for [[compute.kernels]] of it. Kinds of hosts are drawn "
        "with weights",
        "# from Dirichlet(hosts), processors from Normal(mean, spatial), their days from Normal(…, "
        "temporal).",
        f"terms = [{', '.join(_quoted(term) for term in model.terms)}]",
        f"sockets = {model.sockets}",
        f"source = {_quoted(model.source)}",
    ]
    for kind in model.kinds:
        lines += ["", "[[kinds]]", f"name = {_quoted(kind.name)}", f"hosts = {kind.hosts:g}"]
        lines.append(f"mean = {_vector(kind.mean)}")
        for name, matrix in (("spatial", kind.spatial), ("temporal", kind.temporal)):
            lines += [f"{name} = [", *(f"    {_vector(row)}," for row in matrix), "]"]
    return "\n".join(lines) + "\n"


def read(place: Path) -> ClusterModel:
    """The model of a file that `text` has written, or a person."""
    try:
        values = tomllib.loads(text_file.read(place))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
    known = {"terms", "sockets", "source", "kinds"}
    if unknown := set(values) - known:
        raise InputError(f"{place}: unknown key '{min(unknown)}'; known: {', '.join(sorted(known))}")
    terms = values.get("terms")
    if not isinstance(terms, list) or not terms or not all(isinstance(term, str) for term in terms):
        raise InputError(f"{place}: terms: a list of texts such as {list(TERMS)} is wanted")
    sockets = values.get("sockets", 1)
    if not isinstance(sockets, int) or sockets < 1:
        raise InputError(f"{place}: sockets = {sockets}: a whole number of at least 1 is wanted")
    kinds = values.get("kinds")
    if not isinstance(kinds, list) or not kinds:
        raise InputError(f"{place}: no [[kinds]]: at least one is wanted")
    found = tuple(_kind(place, number, kind, len(terms)) for number, kind in enumerate(kinds, 1))
    return ClusterModel(tuple(terms), sockets, found, str(values.get("source", "")))


def correlation_root(covariance: np.ndarray) -> np.ndarray:
    """Lower triangular L with L Lᵀ = covariance, which may be singular; an error where it is no
    covariance."""
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0))
    if (np.diag(covariance) < 0).any() or not np.allclose(covariance, covariance.T, rtol=1e-9, atol=0):
        raise InputError("a covariance is symmetric, and no variance is negative")
    varying = deviations > 0
    root = np.zeros_like(covariance)
    scaled = covariance[np.ix_(varying, varying)] / np.outer(deviations[varying], deviations[varying])
    try:
        # Coefficients that go together exactly make it singular; 1e-13 of their variance is no matter.
        inner = np.linalg.cholesky(scaled + 1e-13 * np.eye(len(scaled)))
    except np.linalg.LinAlgError:
        raise InputError("no covariance: some combination of coefficients has a negative variance") from None
    root[np.ix_(varying, varying)] = inner * deviations[varying, None]
    return root


def _kind(place: Path, number: int, values: dict, size: int) -> Kind:
    where = f"{place}: kinds[{number}]"
    known = {"name", "hosts", "mean", "spatial", "temporal"}
    if unknown := set(values) - known:
        raise InputError(f"{where}: unknown key '{min(unknown)}'; known: {', '.join(sorted(known))}")

    def numbers(key: str, shape: tuple[int, ...]) -> np.ndarray:
        try:
            found = np.array(values[key], float)
        except (KeyError, TypeError, ValueError):
            found = np.array(np.nan)
        if found.shape != shape or not np.isfinite(found).all():
            raise InputError(
                f"{where}: {key}: {' × '.join(map(str, shape))} numbers are wanted, as terms say"
            )
        return found

    hosts = values.get("hosts", 1)
    if not isinstance(hosts, int | float) or not hosts > 0:
        raise InputError(f"{where}: hosts = {hosts}: a number greater than zero is wanted")
    kind = Kind(
        str(values.get("name", number)),
        float(hosts),
        numbers("mean", (size,)),
        numbers("spatial", (size, size)),
        numbers("temporal", (size, size)),
    )
    for key, matrix in (("spatial", kind.spatial), ("temporal", kind.temporal)):
        try:
            correlation_root(matrix)
        except InputError as error:
            raise InputError(f"{where}: {key}: {error}") from None
    return kind


def _vector(values: Sequence[float] | np.ndarray) -> str:
    return f"[{', '.join(repr(float(value)) for value in values)}]"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
