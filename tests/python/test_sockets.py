"""Sockets of hosts: named in the table of ranks, on the screen and in the page."""

import pytest

import hopcast
from hopcast.report import read
from hopcast.report.html import page, ranks_on_hosts


def nothing(comm):
    comm.barrier()


# Eight slots on two sockets: dealt in turns, or the first socket filled first.
BY_ORDER = {"cyclic": [0, 1, 0, 1, 0, 1, 0, 1], "block": [0, 0, 0, 0, 1, 1, 1, 1]}


@pytest.mark.parametrize("order", BY_ORDER)
def test_the_socket_of_each_rank_is_named(tmp_path, order) -> None:
    sockets = {"host.processes": 8, "host.sockets": 2, "host.socket_order": order}
    report = hopcast.run("crossbar", nothing, ranks=16, set=sockets, out=tmp_path / "out")
    rows = report.table("ranks").to_pydict()
    assert rows["host"] == [0] * 8 + [1] * 8
    assert rows["socket"] == BY_ORDER[order] * 2
    assert report.sockets == 2
    assert ranks_on_hosts(report.summary).startswith("16 ranks on 2 of ")
    assert ranks_on_hosts(report.summary).endswith("hosts of 2 sockets")
    assert ranks_on_hosts(report.summary) in page(read(tmp_path / "out"))


def test_hosts_of_one_socket_have_no_such_column() -> None:
    report = hopcast.run("crossbar", nothing, ranks=16)
    assert "socket" not in report.table("ranks").column_names
    assert "socket" not in ranks_on_hosts(report.summary)
