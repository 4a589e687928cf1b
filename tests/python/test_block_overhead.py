"""The cost of blocks without content in an alltoallv, beside what Intel MPI took on Omni-Path."""

import pytest

import hopcast

# Tesseract, IMB Alltoallv of 0 B, 24 processes a node (github.com/hpc-uk/archer-benchmarks, 2019) [s]. The
# preset has its 6.9 ns from one and two nodes: (0.86 us - 0.53 us) / (2 * 24).
MEASURED_S = {96: 1.48e-6, 192: 2.74e-6}
CALLS = 20


def empty_blocks(comm):
    empty = [0] * comm.size
    for _ in range(CALLS):
        comm.alltoallv(send_nbytes=empty, recv_nbytes=empty)


@pytest.mark.parametrize("ranks", MEASURED_S)
def test_four_and_eight_nodes_look_at_their_blocks_as_long_as_was_measured(ranks) -> None:
    report = hopcast.run("omni-path", empty_blocks, ranks=ranks, ppn=24)
    # Each rank looks at what it sends to and what it receives from each: 2 n blocks, and nothing else.
    assert report.makespan_s == pytest.approx(CALLS * 2 * ranks * 6.9e-9, rel=1e-9)
    assert report.makespan_s / CALLS == pytest.approx(MEASURED_S[ranks], rel=0.15)
