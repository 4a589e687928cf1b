"""Messages within a host, by their size: [host.memory] and its regimes."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_traces import receive, send, write

import hopcast
from hopcast import core

PLATFORM = """
name = "one host"
[topology]
kind = "crossbar"
hosts = 1
[host]
processes = 2
[host.memory]
latency = "4 us"
bandwidth = "100 MB/s"
[[host.memory.regimes]]
up_to = "1 kB"
latency = "1 us"
bandwidth = "1 GB/s"
[[host.memory.regimes]]
up_to = "10 kB"
bandwidth = "500 MB/s"
[nic]
bandwidth = "1 MB/s"
latency = "1 s"
[mpi]
memory_eager_limit = "1 TiB"
[compute]
flop_rate = "1 Gflop/s"
"""


MODELS = [entry["name"] for entry in core.registry("models")["entries"]]


@pytest.mark.parametrize("model", [name for name in MODELS if name != "infinite"])
@pytest.mark.parametrize(
    "size, expected_us",
    # 1 ns a byte up to 1 kB, 2 ns up to 10 kB (whose latency is that of host.memory), then 10 ns.
    # MPI_Finalize is an exchange of empty messages: 1 µs.
    [(1_000, 1 + 1 + 1), (1_001, 4 + 2.002 + 1), (10_000, 4 + 20 + 1), (10_001, 4 + 100.01 + 1)],
)
def test_size_of_a_message_chooses_the_regime_of_the_memory(
    tmp_path: Path, model: str, size: int, expected_us: float
) -> None:
    platform = tmp_path / "one.toml"
    platform.write_text(PLATFORM)
    calls = [[send(1, size)], [receive(0, capacity=size)]]
    recording = write(tmp_path / "one.hct", calls)
    taken_s = hopcast.run(platform, recording, model=model).makespan_s
    assert taken_s * 1e6 == pytest.approx(expected_us, abs=1e-5)
