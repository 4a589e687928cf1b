"""The engine: pieces that have no result yet are run, and each result is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

from hopcast.experiment.pieces import Piece, Result
from hopcast.experiment.stopping import Stop
from hopcast.experiment.store import Store

Compute = Callable[[Mapping[str, Mapping[str, Any]]], Generator[tuple[str, Result], None, None]]
"""Computes pieces, inputs by key, and gives each result as it comes; to close it ends what still runs."""
Told = Callable[[Piece, Result], object]
"""Takes each piece whose result has come."""


def run(pieces: Sequence[Piece], compute: Compute, store: Store, told: Told, stop: Stop) -> dict[str, Result]:
    """Results of the pieces, by key: those of the store, and those that are now computed.

    Equal pieces are computed once. Once `stop` is asked for, those that have no result yet get none. Whatever
    ends this leaves in the store what had come.
    """
    by_key = {piece.key: piece for piece in reversed(pieces)}
    results = store.known(by_key)
    missing = {piece.key: piece.inputs for piece in pieces if piece.key not in results}
    with closing(compute(missing)) as coming:
        for key, result in coming:
            store.put(key, result)
            results[key] = result
            told(by_key[key], result)
            if stop:
                break
    return results
