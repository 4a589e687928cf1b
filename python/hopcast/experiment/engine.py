"""The engine: pieces that have no result yet are run, and each result is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from hopcast.experiment.pieces import Piece, Result, Work
from hopcast.experiment.runners import Runner
from hopcast.experiment.stopping import Stop
from hopcast.experiment.store import Store

Told = Callable[[Piece, Result], object]
"""Takes each piece whose result has come."""


def run(
    pieces: Sequence[Piece], work: Work, runner: Runner, store: Store, told: Told, stop: Stop
) -> dict[str, Result]:
    """Results of the pieces, by key: those of the store, and those that the runner now computes.

    Equal pieces are computed once. Once `stop` is asked for, those that have no result yet get none. Whatever
    ends this leaves in the store what had come.
    """
    by_key = {piece.key: piece for piece in reversed(pieces)}
    results = store.known(by_key)
    missing = {piece.key: piece.inputs for piece in pieces if piece.key not in results}
    with closing(runner.run(work, missing, stop)) as coming:
        for key, result in coming:
            store.put(key, result)
            results[key] = result
            told(by_key[key], result)
    return results
