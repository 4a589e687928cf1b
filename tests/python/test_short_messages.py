"""Short messages under `flow`, which go in packets: what reports of links say of them."""

from __future__ import annotations

import pytest

import hopcast


def gather(comm) -> None:
    """All ranks send rank 0 three messages of two packets."""
    if comm.rank > 0:
        requests = [comm.isend(nbytes=4000, dest=0, tag=tag) for tag in range(3)]
    else:
        requests = [comm.irecv(source=source, tag=tag) for source in range(1, comm.size) for tag in range(3)]
    for request in requests:
        request.wait()


def test_links_of_a_stopped_run_count_what_has_passed_them() -> None:
    """Not what waits for them yet: the receiver's link moves as many bytes in 40 µs as under `packet`."""
    links = {}
    for model in ("flow", "packet"):
        report = hopcast.run("endeavor", gather, 100, ppn=1, model=model, stop_at="40us")
        links[model] = report.busiest_links[0]
    for model, link in links.items():
        assert link["class"] == "host down" and 0.9 < link["utilisation"] <= 1, model
    assert links["flow"]["bytes"] == pytest.approx(links["packet"]["bytes"], abs=2)


def late_long_message(comm) -> None:
    """As `gather`, but rank 1 sends a long message, when packets of the others wait for rank 0's link."""
    if comm.rank == 1:
        comm.compute(seconds=6e-6)
        comm.send(nbytes=20_000, dest=0, tag=9)
        return
    if comm.rank > 0:
        requests = [comm.isend(nbytes=4000, dest=0, tag=tag) for tag in range(3)]
    else:
        short = [(source, tag) for source in range(2, comm.size) for tag in range(3)]
        requests = [comm.irecv(source=source, tag=tag) for source, tag in [*short, (1, 9)]]
    for request in requests:
        request.wait()


def test_a_link_is_busy_once_with_packets_and_the_flow_behind_them() -> None:
    report = hopcast.run("nsim-torus", late_long_message, 100, ppn=1, model="flow")
    link = report.busiest_links[0]
    assert link["class"] == "host down"
    assert 0.9 * report.makespan_s < link["busy_s"] <= report.makespan_s
