"""Client of a Dask cluster: of the scheduler at an address, or of workers of this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hopcast.errors import InputError
from hopcast.experiment import dask_address

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 30
"""Time that a scheduler has to answer [s]."""


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Client]:
    """A connection to the cluster at an address; to one of so many workers, made for it, if it is None."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise InputError("--on dask needs Dask: pip install 'hopcast[dask]'") from error
    if address is None:
        # Deaths of workers are told in the table.
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                dashboard_address=None,
                scheduler_kwargs={
                    "dashboard_address": "127.0.0.1:0"
                },  # of its HTTP server, which it has anyhow
                silence_logs=logging.CRITICAL,
                preload="hopcast.experiment.dask_session",
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    dask_address.check_reachable(address)
    # As for the other: what becomes of workers and scheduler is told by hopcast.
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError) as error:
        raise InputError(f"--on dask:{address}: no scheduler answers: {error}") from error
    with client:
        yield client
