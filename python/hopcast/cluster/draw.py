"""Drawing of processors from a generative model.

Random numbers come from counter-based streams (Philox) named by seed, purpose, host, socket and day: the
numbers of a processor do not change when more hosts, more sockets or other days are drawn. Normal numbers are
quantiles of uniform ones, so that they are the same to the bit with any version of numpy.

A draw of which a mean coefficient of the largest term is not above zero, or a deviation is below zero, is
repeated from the same stream, and counted.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from hopcast.cluster.model import PRODUCT, SPREAD, ClusterModel, Kind, correlation_root
from hopcast.errors import InputError

ATTEMPTS_MOST = 10_000


@dataclass(frozen=True)
class Processor:
    """A drawn processor."""

    host: int
    """Number of its host, after slow ones were removed."""
    drawn: int
    """Number with which its host was drawn."""
    socket: int
    kind: str
    coefficients: np.ndarray


@dataclass(frozen=True)
class DrawnCluster:
    """Processors in order of hosts and sockets."""

    terms: tuple[str, ...]
    processors: tuple[Processor, ...]
    removed: tuple[int, ...]
    """Numbers of the hosts that were drawn and removed, the slowest first."""
    rejected: int
    """Draws that were repeated."""

    def values(self) -> np.ndarray:
        """Coefficients by processor and term."""
        return np.array([processor.coefficients for processor in self.processors])


def draw(
    model: ClusterModel,
    hosts: int,
    *,
    seed: int,
    day: int | None = None,
    shares: Mapping[str, float] | None = None,
    gamma: float | None = None,
    remove_slowest: int = 0,
) -> DrawnCluster:
    """Processors of `hosts` hosts, on a day, or, without, as they are in the mean of all days.

    shares: shares of some kinds, instead of random ones; the rest is split among the others as drawn.
    gamma: deviation over mean of M*N*K, in the place of what was drawn.
    remove_slowest: number of hosts with the largest coefficient of M*N*K on any socket, which are left out
    and not replaced; the others are numbered anew.
    """
    if hosts < 1 or not 0 <= remove_slowest < hosts:
        raise InputError(f"{hosts} hosts without the {remove_slowest} slowest: at least one must be left")
    if gamma is not None and (gamma < 0 or SPREAD not in model.terms):
        raise InputError(f"gamma = {gamma}: at least zero, of a model with the term '{SPREAD}'")
    place = model.place(PRODUCT) if PRODUCT in model.terms else 0
    weights = _weights(model, seed, shares or {})
    roots = {
        kind.name: (correlation_root(kind.spatial), correlation_root(kind.temporal)) for kind in model.kinds
    }
    found, rejected = [], 0
    for host in range(hosts):
        kind = _chosen(model, weights, seed, host)
        for socket in range(model.sockets):
            values, again = _coefficients(model, kind, roots[kind.name], (seed, host, socket), day)
            rejected += again
            if gamma is not None:
                values[model.place(SPREAD)] = gamma * values[place]
            found.append(Processor(host, host, socket, kind.name, values))
    slowness = np.array([processor.coefficients[place] for processor in found]).reshape(hosts, -1).max(axis=1)
    removed = np.argsort(-slowness, kind="stable")[:remove_slowest].tolist()
    numbers = {host: number for number, host in enumerate(sorted(set(range(hosts)) - set(removed)))}
    left = [
        replace(processor, host=numbers[processor.drawn]) for processor in found if processor.drawn in numbers
    ]
    return DrawnCluster(model.terms, tuple(left), tuple(removed), rejected)


def uniforms(*name: object, count: int) -> np.ndarray:
    """The first `count` numbers, between 0 and 1, both excluded, of the stream of that name."""
    key = hashlib.blake2b("/".join(map(str, name)).encode(), digest_size=16).digest()
    raw = np.random.Philox(key=np.frombuffer(key, np.uint64).copy()).random_raw(count)
    return ((raw >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def _weights(model: ClusterModel, seed: int, shares: Mapping[str, float]) -> np.ndarray:
    """Weights of the kinds: Dirichlet, as independent gamma numbers over their sum."""
    for name, share in shares.items():
        model.kind(name)
        if not 0 <= share <= 1:
            raise InputError(f"share of kind '{name}' = {share}: between 0 and 1")
    given = sum(shares.values())
    free = [kind for kind in model.kinds if kind.name not in shares]
    if given > 1 + 1e-12 or (not free and given < 1 - 1e-12):
        raise InputError(f"shares of kinds add up to {given:g}: " + ("at most 1" if free else "1 is wanted"))
    drawn = {
        kind.name: float(
            special.gammaincinv(kind.hosts, uniforms(seed, "cluster", "weight", kind.name, count=1)[0])
        )
        for kind in free
    }
    whole = sum(drawn.values()) or 1.0
    return np.array(
        [shares.get(kind.name, (1 - given) * drawn.get(kind.name, 0) / whole) for kind in model.kinds]
    )


def _chosen(model: ClusterModel, weights: np.ndarray, seed: int, host: int) -> Kind:
    at = uniforms(seed, "cluster", "host", host, count=1)[0]
    return model.kinds[min(int(np.searchsorted(np.cumsum(weights), at)), len(model.kinds) - 1)]


def _coefficients(
    model: ClusterModel,
    kind: Kind,
    roots: tuple[np.ndarray, np.ndarray],
    name: tuple[int, int, int],
    day: int | None,
) -> tuple[np.ndarray, int]:
    """Coefficients of a processor, and the number of draws that were rejected for it."""
    seed, host, socket = name
    stream = (seed, "cluster", "processor", host, socket)
    mean, again = _valid(model, kind.mean, roots[0], stream)
    if day is None:
        return mean, again
    value, more = _valid(model, mean, roots[1], (*stream, "day", day))
    return value, again + more


def _valid(model: ClusterModel, mean: np.ndarray, root: np.ndarray, stream: tuple) -> tuple[np.ndarray, int]:
    size = len(mean)
    place = model.place(PRODUCT) if PRODUCT in model.terms else 0
    spreads = [number for number, term in enumerate(model.terms) if term.startswith("deviation ")]
    count = 1
    while count <= ATTEMPTS_MOST:
        normal = special.ndtri(uniforms(*stream, count=count * size)).reshape(-1, size)
        values = mean + normal @ root.T
        good = (values[:, place] > 0) & (values[:, spreads] >= 0).all(axis=1)
        if good.any():
            first = int(good.argmax())
            return values[first], first
        count *= 4
    raise InputError(
        f"{ATTEMPTS_MOST} draws of a processor had negative rates or deviations: the spread of the model is "
        "too "
        "large for its mean"
    )
