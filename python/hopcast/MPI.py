"""mpi4py's names, for rank functions: `from hopcast import MPI`, then `MPI.SUM`, `MPI.Request.Waitall(…)`.

`MPI.COMM_WORLD` and `MPI.COMM_SELF` are those of the rank whose code asks for them.
"""

from hopcast.program import process as _process
from hopcast.program.buffer import (  # noqa: F401
    BOOL,
    BYTE,
    CHAR,
    COMPLEX,
    DOUBLE,
    DOUBLE_COMPLEX,
    FLOAT,
    INT,
    INT8_T,
    INT16_T,
    INT32_T,
    INT64_T,
    LONG,
    SHORT,
    UINT8_T,
    UINT16_T,
    UINT32_T,
    UINT64_T,
    UNSIGNED,
    UNSIGNED_LONG,
    Datatype,
)
from hopcast.program.comm import (
    Comm,  # noqa: F401
    Comm as Intracomm,  # noqa: F401
)
from hopcast.program.constants import (  # noqa: F401
    ANY_SOURCE,
    ANY_TAG,
    CART,
    COMM_TYPE_SHARED,
    CONGRUENT,
    DIST_GRAPH,
    IDENT,
    IN_PLACE,
    PROC_NULL,
    SIMILAR,
    TAG_UB,
    UNDEFINED,
    UNEQUAL,
)
from hopcast.program.group import Group  # noqa: F401
from hopcast.program.operators import (  # noqa: F401
    BAND,
    BOR,
    BXOR,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    PROD,
    REPLACE,
    SUM,
    Op,
)
from hopcast.program.point_to_point import Message  # noqa: F401
from hopcast.program.request import REQUEST_NULL, Prequest, Request  # noqa: F401
from hopcast.program.status import Status  # noqa: F401
from hopcast.program.topology import Cartcomm, Compute_dims, Distgraphcomm  # noqa: F401

COMM_NULL = None
"""No communicator: what a split with `UNDEFINED` gives."""


def Wtime() -> float:
    """The simulated time of the rank whose code asks [s]."""
    return _process.current().program.clock.now_s


def Wtick() -> float:
    """The resolution of `Wtime`: one picosecond [s]."""
    return 1e-12


def Get_processor_name() -> str:
    """The host of the rank whose code asks."""
    process = _process.current()
    return f"host{process.program.host_of_rank[process.rank]}"


def Is_initialized() -> bool:
    return _process.is_running()


def __getattr__(name: str):
    if name == "COMM_WORLD":
        return _process.current().world
    if name == "COMM_SELF":
        return _process.current().self_comm()
    raise AttributeError(f"module 'hopcast.MPI' has no attribute {name!r}")
