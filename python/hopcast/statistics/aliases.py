"""Terms that a design tells apart, and those that it does not: aliases.

Each term of an analysis, a factor or several together, has columns in the model's matrix: the products of its
factors' contrasts. Terms are taken in, factors first, while their columns are independent of those that are
in. One whose columns all follow from others is their alias: its effect is in their lines. One of which some
columns follow is told apart in part only, and is left out.

Source: Montgomery, "Design and Analysis of Experiments", chapter 8.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Term = tuple[str, ...]
"""Names of the factors of a term."""
_ZERO = 1e-8
"""Length of a column of length 1 that is none."""


@dataclass
class Terms:
    """Terms of a design."""

    apart: list[Term] = field(default_factory=list)
    """Those that it tells apart, in order of their number of factors."""
    aliases: dict[Term, list[Term]] = field(default_factory=dict)
    """By a term that it tells apart, others whose effects its line holds, wholly or as a part of a sum."""
    lost: list[Term] = field(default_factory=list)
    """Those that it tells apart in part only."""


def of_design(table: Mapping[str, Sequence[Any]], factors: Sequence[str], order: int) -> Terms:
    """Terms of up to `order` of these factors, each of two levels at least."""
    contrasts = {factor: _contrasts(table[factor]) for factor in factors}
    cells = len(table[factors[0]])
    found = Terms()
    basis = np.full((cells, 1), cells**-0.5)
    columns: dict[Term, np.ndarray] = {}
    for size in range(1, min(order, len(factors)) + 1):
        for term in itertools.combinations(factors, size):
            own = _normalized(_product([contrasts[factor] for factor in term]))
            rest = own - basis @ (basis.T @ own)
            rank = int(np.linalg.matrix_rank(rest, tol=_ZERO * max(1, cells))) if own.size else 0
            if rank == own.shape[1] and not _has_alias(term, found):
                found.apart.append(term)
                columns[term] = own
                basis = np.linalg.qr(np.column_stack([basis, rest]))[0]
            elif rank == 0:
                for other in _holders(own, columns):
                    found.aliases.setdefault(other, []).append(term)
            else:
                found.lost.append(term)
    return found


def _has_alias(term: Term, found: Terms) -> bool:
    """True for a term with a factor that is not told apart itself: its columns would hold that factor's."""
    return any(len(term) > 1 and (factor,) not in found.apart for factor in term)


def _holders(own: np.ndarray, columns: Mapping[Term, np.ndarray]) -> list[Term]:
    """Terms of which these columns are sums."""
    if not columns:
        return []
    whole = np.column_stack([np.ones(len(own)), *columns.values()])
    weights = np.linalg.lstsq(whole, own, rcond=None)[0][1:]
    ends = np.cumsum([part.shape[1] for part in columns.values()])
    parts = np.split(weights, ends[:-1])
    return [term for term, part in zip(columns, parts, strict=True) if np.abs(part).max() > 1e-6]


def _contrasts(levels: Sequence[Any]) -> np.ndarray:
    """Columns of a factor: each level against the last."""
    texts = [str(level) for level in levels]
    names = list(dict.fromkeys(texts))
    chosen = np.array([[float(text == name) for name in names] for text in texts])
    return chosen[:, :-1] - chosen[:, -1:]


def _product(parts: Sequence[np.ndarray]) -> np.ndarray:
    whole = parts[0]
    for part in parts[1:]:
        whole = (whole[:, :, None] * part[:, None, :]).reshape(len(whole), -1)
    return whole


def _normalized(columns: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(columns, axis=0)
    return columns / np.where(lengths > 0, lengths, 1)
