"""The compiled part of hopcast: requests in, summaries and tables out."""

from __future__ import annotations

import os
from collections.abc import Callable

_Overrides = list[tuple[str, str]]
_Task = tuple[str, str, str | None]
"""Path of a recorded run, folder for the result, and rate of computing for formats that count operations."""
_Column = tuple[str, str, bytes | list[str]]
"""Name, type (u32, u64, f64, text), and content: values in memory, little-endian, or texts."""
_Ended = tuple[str, dict[str, list[_Column]]]
"""Report as JSON, and tables."""

VERSION: str
PROFILE: str | None

ABORT: int
ALL: int
ALLGATHER: int
ALLGATHERV: int
ALLREDUCE: int
ALLTOALL: int
ALLTOALLV: int
ALLTOALLW: int
ANY: int
BARRIER: int
BCAST: int
BUFFERED: int
CANCEL: int
COLLECTIVE: int
COMM_CART: int
COMM_CREATE: int
COMM_CREATE_GROUP: int
COMM_DUP: int
COMM_FREE: int
COMM_GRAPH: int
COMM_SPLIT: int
COMM_SPLIT_HOST: int
COMM_SUB: int
WTIME: int
COMPUTE: int
COMPUTE_FLOPS: int
EXSCAN: int
FREE: int
GATHER: int
GATHERV: int
GO_ON: int
ICOLLECTIVE: int
IMPROBE: int
IMRECV: int
IPROBE: int
IRECV: int
ISEND: int
LOOK: int
MPROBE: int
MRECV: int
NEIGHBOR_ALLGATHER: int
NEIGHBOR_ALLGATHERV: int
NEIGHBOR_ALLTOALL: int
NEIGHBOR_ALLTOALLV: int
NEIGHBOR_ALLTOALLW: int
PROBE: int
READY: int
RECV: int
RECV_INIT: int
REDUCE: int
REDUCE_SCATTER: int
REDUCE_SCATTER_BLOCK: int
SCAN: int
SCATTER: int
SCATTERV: int
SEND: int
SENDRECV: int
SEND_INIT: int
SLEEP_UNTIL: int
SOME: int
STANDARD: int
START: int
STOP: int
SYNCHRONOUS: int
TEST_SET: int
WAIT: int
WAIT_SET: int

class Clock:
    """The simulated time of a run of rank functions, and the rank that runs."""

    def __new__(cls) -> Clock: ...
    @property
    def now_s(self) -> float: ...
    @property
    def wtime_costs(self) -> bool: ...
    @property
    def rank(self) -> int: ...

def catalogue() -> str: ...
def check_request(request: str, as_flags: bool) -> None: ...
def kernel_times(
    name: str, function: str, place: tuple[str, int], calls: int, arguments: dict[str, list[float]]
) -> list[float]: ...
def platform_of(request: str, resolved: bool) -> str: ...
def platform_reference() -> str: ...
def platform_schema() -> str: ...
def platform_text(name: str, overrides: _Overrides, resolved: bool) -> str: ...
def recorded_calls(path: str) -> list[_Column]: ...
def request_schema() -> str: ...
def run(
    request: str,
    program: object | None,
    monitor: Callable[..., int],
    peers: object | None,
    live: Callable[..., None] | None,
) -> _Ended | None: ...
def run_options() -> str: ...
def seconds(place: str, text: str) -> float: ...
def topology_picture(name: str, overrides: _Overrides) -> str: ...
def topology_survey(name: str, overrides: _Overrides, seed: int) -> str: ...
def trace_convert(task: _Task, tallied: bool | None) -> str: ...
def trace_dump(
    path: str, ranks: list[int], clocks: bool, as_json: bool, write: Callable[[str], object]
) -> None: ...
def trace_files(path: str) -> list[os.PathLike[str]]: ...
def trace_lint(path: str) -> str: ...
def trace_recorded(path: str) -> str: ...
def trace_scale(task: _Task, grid: list[int] | None, to: list[int], tallied: bool | None) -> str: ...
def trace_slice(
    task: _Task,
    times: tuple[str | None, str | None],
    meetings: tuple[int, int] | None,
    ranks: list[tuple[int, int]] | None,
    outside: str | None,
) -> str: ...
def trace_summary(path: str) -> str: ...
