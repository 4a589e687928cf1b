"""A platform file from laws of k processes that share a NIC: two or more hosts on a crossbar.

A message costs its processes nothing and its regime everything: s is `latency`, R_C and R_N are
`process_rate` and `nic_rate`, links take no time, and all messages are eager, since a handshake is in the
times already. So nodecomm on the platform gives the laws back. A regime of the modified law has
`overlap = "nic"`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopcast.calibrate import rate_report
from hopcast.calibrate.pair_times import PairTimes
from hopcast.calibrate.quantities import quoted
from hopcast.calibrate.rate_report import RegimeFit
from hopcast.calibrate.rates import Law
from hopcast.errors import InputError


@dataclass(frozen=True)
class Machine:
    """Properties of a machine that times between two hosts do not give."""

    name: str
    flop_rate: str
    hosts: int = 2
    processes: int | None = None
    """Number of processes of a host; None: as many as were measured."""
    library: str = "openmpi"


def text(data: PairTimes, fits: Sequence[RegimeFit], machine: Machine) -> str:
    """The file."""
    most = int(data.pairs.max())
    bandwidth, said = _nic(fits, most)
    first, last = (rate_report.chosen(fit) for fit in (fits[0], fits[-1]))
    start = first.values["s"]
    copy = _own_rate(last)
    longest = 2.0 ** math.ceil(math.log2(data.sizes.max() + 1))
    lines = [
        *rate_report.provenance(data),
        "# Times of a message hold all that it takes: its start-up counts as latency, on no process.",
        f"name = {quoted(machine.name)}",
        f'source = "measured: {data.name}, up to {most} pairs of processes"',
        "",
        "[topology]",
        'kind = "crossbar"',
        f"hosts = {machine.hosts}",
        "",
        "[host]",
        f"processes = {machine.processes or most}",
        "",
        "[host.memory]    # not measured: as one pair between hosts",
        f'latency = "{1e6 * (start or 0.0):.6g} us"',
        f'bandwidth = "{_rate(bandwidth if copy is None else copy)}"',
        "",
        "[nic]",
        f'bandwidth = "{_rate(bandwidth)}"    # {said}',
        'latency = "0 us"    # the start-up of each regime holds it',
        "",
        "[mpi]",
        f'library = "{machine.library}"',
        f'eager_limit = "{longest:.0f} B"    # all sizes: the times hold a handshake already',
        'unmeasured = "messages within a host were not measured: they take what those of one pair between '
        'hosts do; times of processes were not measured: they count as latency"',
        f'shortest_measured = "{data.sizes.min():.0f} B"',
        f'longest_measured = "{data.sizes.max():.0f} B"',
        "",
        "[compute]",
        f'flop_rate = "{machine.flop_rate}"    # as given; no message tells it',
    ]
    return "\n".join([*lines, "", *rate_report.regimes(fits)])


def _own_rate(law: Law) -> float | None:
    return law.values.get("R_C") or law.values.get("R_Cb")


def _nic(fits: Sequence[RegimeFit], most: int) -> tuple[float, str]:
    """Bandwidth of a NIC, and its source: R_N, or what processes move together that never reach it."""
    found = []
    for fit in fits:
        law = rate_report.chosen(fit)
        own = _own_rate(law)
        if (limit := law.values.get("R_N")) is not None:
            found.append((limit, "the largest R_N of a regime"))
        elif own is not None:
            together = own + (most - 1) * (law.values.get("R_Ci", own) or 0.0)
            said = f"no limit showed: what {most} processes move together at their own rates"
            found.append((max(own, together), said))
    if not found:
        raise InputError(
            "no rate is identified in any regime: measure longer messages; no platform was written"
        )
    return max(found)


def _rate(bytes_per_second: float) -> str:
    assert np.isfinite(bytes_per_second), "a platform has no infinite rate that was measured"
    return f"{bytes_per_second / 1e9:.6g} GB/s"
