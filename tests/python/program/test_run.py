"""`hopcast.run` and the report that it gives."""

import json

import pytest

import hopcast
from hopcast import MPI

from .conftest import UNIT


def ring(comm, rounds=2):
    for _ in range(rounds):
        comm.sendrecv(nbytes=100, dest=(comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
        comm.compute(seconds=1e-6 * comm.rank)
    return comm.rank


def test_a_report_has_the_keys_of_its_json(predict):
    report = predict(ring, 4)
    summary = json.loads(report.to_json())
    assert report.makespan_s == summary["makespan_s"] > 0
    assert (report.ranks, report.messages, report.bytes) == (4, 8, 800)
    assert report.workload == "ring"
    assert report.results == [0, 1, 2, 3]
    assert report.links.busiest(5) == summary["busiest_links"][:5]
    assert report.table("ranks").num_rows == 4
    assert report.table("ranks").column("compute_s").to_pylist()[3] == pytest.approx(6e-6)
    with pytest.raises(AttributeError, match=r"has no 'speed'; it has: .*makespan_s"):
        _ = report.speed
    with pytest.raises(KeyError, match="no table 'speeds'"):
        report.table("speeds")


def test_arguments_reach_the_ranks():
    def program(comm, a, b=0):
        return a, b

    report = hopcast.run(UNIT, program, ranks=1, args=(1,), kwargs={"b": 2}, model="postal")
    assert report.results == [(1, 2)]


def test_the_same_run_has_the_same_hash_and_another_has_not(predict):
    hashes = [predict(ring, 6, model="loggp").outcome_hash for _ in range(3)]
    assert len(set(hashes)) == 1
    assert predict(ring, 6, 3, model="loggp").outcome_hash != hashes[0]


def test_a_pattern_by_its_name():
    report = hopcast.run(
        UNIT, "allreduce", ranks=8, kwargs={"bytes": "1 KiB", "iterations": 3}, model="postal"
    )
    assert {call["call"]: call["count"] for call in report.calls} == {"MPI_Allreduce": 24}


def test_values_of_the_platform_are_overridden(predict):
    slow = predict(ring, 4, set={"nic.latency": "500 us"})
    assert slow.makespan_s > 1e-3 > predict(ring, 4).makespan_s


def test_a_report_is_saved(predict, tmp_path):
    page = predict(ring, 4).save(tmp_path / "report")
    assert page.exists()
    assert json.loads((tmp_path / "report" / "report.json").read_text())["ranks"] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"platform": "nowhere"}, "nowhere"),
        ({"ranks": None}, "how many"),
        ({"ranks": 0}, "from 1 to 2147483647, not 0"),
        ({"model": "magic"}, "magic.*known"),
        ({"set": {"nic.speed": "1 GB/s"}}, "speed"),
        ({"program": "halo9d"}, "halo9d.*known"),
        ({"program": "missing.py"}, "missing.py: no such program"),
    ],
)
def test_bad_input_names_what_is_wrong(options, message):
    arguments = {"platform": UNIT, "program": ring, "ranks": 2, "model": "postal", **options}
    with pytest.raises(hopcast.InputError, match=message):
        hopcast.run(**arguments)


def test_a_program_file_has_its_arguments_and_neighbours(tmp_path):
    (tmp_path / "beside.py").write_text("FACTOR = 10\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom beside import FACTOR\n"
        "def main(comm):\n    return FACTOR * comm.rank, sys.argv[1:]\n"
    )
    report = hopcast.run(UNIT, program, ranks=2, args=("a", 1), model="postal")
    assert report.results == [(0, ["a", "1"]), (10, ["a", "1"])]
    assert report.workload == "program.py a 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [("def main(comm):\n  x = = 1\n", r"p\.py:2"), ("x = 1\n", r"no function main\(comm\)")],
)
def test_a_program_file_that_is_none_is_bad_input(tmp_path, text, message):
    (tmp_path / "p.py").write_text(text)
    with pytest.raises(hopcast.InputError, match=message):
        hopcast.run(UNIT, tmp_path / "p.py", ranks=1, model="postal")


def test_the_program_of_the_design(predict):
    def cannon(comm, n):
        m = n // comm.grid_side
        for _ in range(comm.grid_side - 1):
            comm.compute(flops=2 * m**3)
            comm.sendrecv(nbytes=8 * m * m, dest=comm.left, source=comm.right)

    report = predict(cannon, 16, 400)
    step_s = 2 * 100**3 / 1e9 + 1e-6 + 8 * 100**2 / 1e9  # flops at 1 Gflop/s, latency, bytes at 1 GB/s
    handshake_s = 2 * 1e-6  # of the rendezvous, which 80,000 bytes are above
    assert report.makespan_s == pytest.approx(3 * (step_s + handshake_s), rel=1e-3)


def test_outside_of_a_run_there_is_no_rank():
    with pytest.raises(RuntimeError, match="inside a rank function"):
        MPI.Wtime()


def test_ten_thousand_ranks(predict):
    def program(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        got = comm.sendrecv(comm.rank, dest=right, source=left)
        return got, comm.allreduce(1)

    report = predict(program, 10_000)
    assert report.results == [((rank - 1) % 10_000, 10_000) for rank in range(10_000)]
