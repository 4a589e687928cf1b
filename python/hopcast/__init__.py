"""hopcast forecasts how long an MPI application takes on a machine that you do not have.

import hopcast

def program(comm):                         # runs once per rank; calls block in simulated time
    comm.compute(flops=1e9)
    comm.allreduce(nbytes=8)

report = hopcast.run("hopper", program, ranks=1024)
print(report.makespan_s, report.links.busiest(5))
"""

import importlib
from typing import TYPE_CHECKING, Any

from hopcast._core import VERSION as __version__

if TYPE_CHECKING:  # for type checkers and editors, the same as _HOMES
    from hopcast import MPI as MPI
    from hopcast.api import run as run
    from hopcast.errors import (
        DeadlockError as DeadlockError,
        InputError as InputError,
        InternalError as InternalError,
        Interrupted as Interrupted,
        ProgramError as ProgramError,
        ProgramFailure as ProgramFailure,
    )
    from hopcast.live_tables import Standing as Standing, follow as follow
    from hopcast.outcome import Report as Report
    from hopcast.program.constants import (
        ANY_SOURCE as ANY_SOURCE,
        ANY_TAG as ANY_TAG,
        COMM_TYPE_SHARED as COMM_TYPE_SHARED,
        IN_PLACE as IN_PLACE,
        PROC_NULL as PROC_NULL,
        UNDEFINED as UNDEFINED,
    )
    from hopcast.program.operators import (
        BAND as BAND,
        BOR as BOR,
        BXOR as BXOR,
        LAND as LAND,
        LOR as LOR,
        LXOR as LXOR,
        MAX as MAX,
        MAXLOC as MAXLOC,
        MIN as MIN,
        MINLOC as MINLOC,
        PROD as PROD,
        SUM as SUM,
        Op as Op,
    )
    from hopcast.program.request import Request as Request
    from hopcast.program.status import Status as Status
    from hopcast.program.topology import Compute_dims as Compute_dims
    from hopcast.request import RunRequest as RunRequest
    from hopcast.trace import recorded_calls as recorded_calls

_HOMES = {
    "hopcast.api": ["run"],
    "hopcast.errors": [
        "DeadlockError",
        "InputError",
        "InternalError",
        "Interrupted",
        "ProgramError",
        "ProgramFailure",
    ],
    "hopcast.live_tables": ["Standing", "follow"],
    "hopcast.outcome": ["Report"],
    "hopcast.request": ["RunRequest"],
    "hopcast.trace": ["recorded_calls"],
    "hopcast.program.constants": [
        "ANY_SOURCE",
        "ANY_TAG",
        "COMM_TYPE_SHARED",
        "IN_PLACE",
        "PROC_NULL",
        "UNDEFINED",
    ],
    "hopcast.program.operators": [
        "BAND",
        "BOR",
        "BXOR",
        "LAND",
        "LOR",
        "LXOR",
        "MAX",
        "MAXLOC",
        "MIN",
        "MINLOC",
        "PROD",
        "SUM",
        "Op",
    ],
    "hopcast.program.request": ["Request"],
    "hopcast.program.status": ["Status"],
    "hopcast.program.topology": ["Compute_dims"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["MPI", "__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Reads a module when something of it is asked for, so that the command line starts fast."""
    if name == "MPI":
        return importlib.import_module("hopcast.MPI")
    if name not in _HOME:
        raise AttributeError(f"module 'hopcast' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
