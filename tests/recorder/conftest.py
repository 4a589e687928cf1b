"""Each MPI library that is installed."""

from __future__ import annotations

import pytest
from runs import LIBRARIES, Mpi


@pytest.fixture(scope="session", params=LIBRARIES)
def mpi(request, tmp_path_factory) -> Mpi:
    return Mpi(request.param, tmp_path_factory.mktemp(request.param))
