"""Ten cases with a known limit: the sentence of the screen names it, and the change that it proposes shortens
the run by what it says, within a fifth.

Each case is a program with one bottleneck by construction. The change is applied as the sentence says it: to
the platform, to the placement, or to how long ranks compute.
"""

import json

import pytest
from click.testing import CliRunner

import hopcast
from hopcast import what_if
from hopcast.api import simulate
from hopcast.cli.run import command as run_command
from hopcast.report import causes
from hopcast.request import RunRequest

SWITCH = """
name = "one switch"
[topology]
{topology}
[link]
bandwidth = "{link}"
latency = "500 ns"
[host]
processes = 4
[host.memory]
latency = "100 ns"
bandwidth = "5 GB/s"
total_bandwidth = "8 GB/s"
[nic]
bandwidth = "5 GB/s"
latency = "500 ns"
[mpi]
eager_limit = "8 KiB"
progress = "calls"
[[mpi.regimes]]
name = "all"
send_overhead = "20 ns"
receive_overhead = "30 ns"
[compute]
flop_rate = "1 Gflop/s"
"""

CROSSBAR = SWITCH.format(topology='kind = "crossbar"\nhosts = 16', link="20 GB/s")
SLOW_PATHS = CROSSBAR.replace('name = "all"', 'name = "all"\nprocess_rate = "1 GB/s"')
TAPERED = SWITCH.format(topology='kind = "fat-tree"\nm = [4, 2]\nw = [1, 1]', link="5 GB/s")
TORUS = SWITCH.format(topology='kind = "torus"\nsizes = [16]', link="1 GB/s")


def late_sender(comm, work=10e-3):
    if comm.rank == 0:
        comm.compute(work)
        comm.send(dest=1, nbytes=1000)
    else:
        comm.recv(source=0)


def busy_sender(comm, work=10e-3):
    """The receive stands while the sender, who has posted its rendezvous, computes."""
    if comm.rank == 0:
        request = comm.isend(dest=1, nbytes=100_000)
        comm.compute(work)
        request.wait()
    else:
        comm.recv(source=0)


def slow_rank(comm, slow=2e-3):
    for _ in range(10):
        comm.compute(slow if comm.rank == 3 else 1e-3)
        comm.barrier()


def serial_part(comm, alone=4e-3, together=1e-3):
    for _ in range(3):
        if comm.rank == 0 and alone:
            comm.compute(alone)
        comm.barrier()
        comm.compute(together)
        comm.barrier()


def one_to_one(comm, nbytes=10_000_000):
    half = comm.size // 2
    if comm.rank < half:
        comm.send(dest=comm.rank + half, nbytes=nbytes)
    else:
        comm.recv(source=comm.rank - half)


def to_two(comm, nbytes=10_000_000):
    if comm.rank == 0:
        for request in [comm.isend(dest=dest, nbytes=nbytes) for dest in (1, 2)]:
            request.wait()
    else:
        comm.recv(source=0)


def barriers(comm):
    for _ in range(100):
        comm.barrier()


def overlap(comm):
    other = 1 - comm.rank
    requests = [comm.irecv(source=other), comm.isend(dest=other, nbytes=10_000_000)]
    comm.compute(4e-3)
    for request in requests:
        request.wait()


def incast(comm):
    if comm.rank == 0:
        for request in [comm.irecv(source=source) for source in range(1, comm.size)]:
            request.wait()
    else:
        comm.send(dest=0, nbytes=1_000_000)


def ring(comm):
    """Neighbours exchange, all at once."""
    for _ in range(4):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        request = comm.isend(dest=right, nbytes=1_000_000)
        comm.recv(source=left)
        request.wait()


def job(folder, platform, program, ranks, **options) -> RunRequest:
    file = folder / "platform.toml"
    file.write_text(platform)
    return RunRequest.of(str(file), program, ranks=ranks, **options)


def shortened(before: RunRequest, after: RunRequest) -> float:
    makespans = [simulate(one).makespan_s for one in (before, after)]
    return 1 - makespans[1] / makespans[0]


ON_THE_PLATFORM = [
    # The four flows of a host share its NIC: 40 MB at 5 GB/s are 8 ms, at 10 GB/s 4 ms.
    ("nic", CROSSBAR, one_to_one, 8, {"ppn": 4}),
    # Two messages of a process share its path of 1 GB/s: 20 MB take 20 ms of its NIC's 4; with 2 GB/s, 10 ms.
    ("process", SLOW_PATHS, to_two, 3, {"ppn": 1}),
    # One message has 1 GB/s of that path for itself: 10 ms, though nothing is shared.
    ("process", SLOW_PATHS, one_to_one, 2, {"ppn": 1}),
    # Four flows cross the one link between two leaves: 40 MB at 5 GB/s; with 10 GB/s, half of that.
    ("links", TAPERED, one_to_one, 8, {"ppn": 1}),
    # A barrier of 16 ranks is four rounds of about 1 us of latency and 50 ns of overheads.
    ("latency", CROSSBAR, barriers, 16, {"ppn": 1}),
    # 10 MB take 2 ms after 4 ms of computing; a progress thread sends them meanwhile.
    ("no-progress", CROSSBAR, overlap, 2, {"ppn": 1}),
    # Two copies within a host share 8 GB/s, where each could have 5 GB/s.
    ("memory", CROSSBAR, one_to_one, 4, {"ppn": 4}),
    # 15 MB through the NIC of one host at 5 GB/s.
    ("incast", CROSSBAR, incast, 16, {"ppn": 1}),
]


@pytest.mark.parametrize(("kind", "platform", "program", "ranks", "options"), ON_THE_PLATFORM)
def test_limits_that_the_platform_changes(tmp_path, kind, platform, program, ranks, options):
    this = job(tmp_path, platform, program, ranks, **options)
    report = simulate(this)
    estimate = dict(report.limit)
    assert estimate["kind"] == kind, causes.sentence(estimate)
    assert estimate["source"] == "estimate"
    what_if.simulated(this, report)
    applied = report.what_if[0]
    assert shortened(this, this.changed(set=dict(applied["overrides"]))) == applied["saves"]
    assert applied["saves"] == pytest.approx(estimate["saves"], rel=0.2)
    assert applied["saves"] > 0.2


PATHS = [
    # Each of 4 processes needs 10 ms for its 10 MB; their NIC, at 5 GB/s, 8 ms: it is nearly as full.
    ("1 GB/s", 8, 4, ["mpi.regimes.0.process_rate", "nic.bandwidth"], 1 / 2),
    # With 0.5 GB/s, 20 ms; twice that leave the NIC's 10 of 20 ms free: half of the time is saved.
    ("0.5 GB/s", 8, 4, ["mpi.regimes.0.process_rate"], 1 / 2),
]


@pytest.mark.parametrize(("rate", "ranks", "ppn", "widened", "saves"), PATHS)
@pytest.mark.parametrize("model", ["flow", "packet"])
def test_the_path_of_a_process_is_named_and_what_is_nearly_as_full(
    tmp_path, model, rate, ranks, ppn, widened, saves
):
    this = job(tmp_path, SLOW_PATHS.replace("1 GB/s", rate), one_to_one, ranks, ppn=ppn, model=model)
    report = simulate(this)
    estimate = dict(report.limit)
    assert estimate["kind"] == "process", causes.sentence(estimate)
    assert "mpi.regimes.process_rate" in estimate["why"]
    assert "NICs limit" not in estimate["why"]
    assert estimate["saves"] == pytest.approx(saves, rel=0.05)
    what_if.simulated(this, report)
    applied = report.what_if[0]
    assert sorted(key for key, _ in applied["overrides"]) == widened
    assert applied["saves"] == pytest.approx(saves, rel=0.1)


def test_an_incast_at_the_path_of_its_receiver_says_so(tmp_path):
    # 15 MB at 1 GB/s into rank 0, whose NIC could take 5 GB/s: 15 ms, or 7.5 ms with 2 GB/s.
    this = job(tmp_path, SLOW_PATHS, incast, 16, ppn=1)
    report = simulate(this)
    assert report.limit["kind"] == "incast"
    assert "whose own path from its NIC" in report.limit["why"]
    what_if.simulated(this, report)
    assert [key for key, _ in report.what_if[0]["overrides"]] == ["mpi.regimes.0.process_rate"]
    assert report.what_if[0]["saves"] == pytest.approx(1 / 2, rel=0.05)


BY_PACKETS = [
    # As above: four messages share one link, or one NIC. Each takes 8 ms instead of 2: both ranks wait.
    ("links", "up 2", TAPERED, one_to_one, 8, {"ppn": 1}, 4 * 2 * 6e-3),
    ("nic", "NIC", CROSSBAR, one_to_one, 8, {"ppn": 4}, 4 * 2 * 6e-3),
    # Fifteen of 0.2 ms: all end within the last turns, 2.8 ms late, and their receiver once.
    ("incast", "NIC", CROSSBAR, incast, 16, {"ppn": 1}, 16 * 2.8e-3),
]


@pytest.mark.parametrize(("kind", "place", "platform", "program", "ranks", "options", "late"), BY_PACKETS)
def test_packets_name_the_same_limit(tmp_path, kind, place, platform, program, ranks, options, late):
    report = simulate(job(tmp_path, platform, program, ranks, model="packet", **options))
    assert report.limit["kind"] == kind, causes.sentence(report.limit)
    assert (f"class '{place}'" in report.limit["why"]) == (kind == "links")
    summary = report.summary
    waits = {line["at"]: line["time_s"] for line in summary["contention"]}
    assert list(waits) == [place]
    assert sum(waits.values()) == pytest.approx(summary["causes"]["contention_s"], rel=1e-12)
    assert waits[place] == pytest.approx(late, rel=0.05)


TWO_ARE_FULL = [
    # Four hosts of a leaf send 5 GB/s each over one link. With twice that, the link is the limit:
    # of 30 GB/s, the run takes 20/30 of its time; of 22 GB/s, it would save 9 % alone, so both are widened.
    ("nic", "30 GB/s", ["nic.bandwidth"], 1 / 3),
    ("nic", "22 GB/s", ["nic.bandwidth", "link.bandwidth"], 1 / 2),
    # The link is narrower than its hosts by a tenth, or by a third: 2/3 of the time is left with 20 GB/s.
    ("links", "18 GB/s", ["nic.bandwidth", "link.bandwidth"], 1 / 2),
    ("links", "13.3333 GB/s", ["link.bandwidth"], 1 / 3),
]


@pytest.mark.parametrize(("kind", "link", "widened", "saves"), TWO_ARE_FULL)
def test_what_is_nearly_as_full_caps_the_gain_or_is_widened_too(tmp_path, kind, link, widened, saves):
    platform = TAPERED.replace('bandwidth = "5 GB/s"', f'bandwidth = "{link}"', 1)
    this = job(tmp_path, platform, one_to_one, 32, ppn=4, model="flow")
    report = simulate(this)
    estimate = dict(report.limit)
    assert estimate["kind"] == kind, causes.sentence(estimate)
    assert estimate["saves"] == pytest.approx(saves, rel=0.05)
    what_if.simulated(this, report)
    applied = report.what_if[0]
    assert sorted(key for key, _ in applied["overrides"]) == sorted(widened)
    assert applied["saves"] == pytest.approx(estimate["saves"], rel=0.2)


NARROW_LINK = [
    # One message at a time, so that nothing contends: of 1 GB/s links and 5 GB/s NICs, links decide.
    ("1 GB/s", ["link.bandwidth"], 1 / 2),
    ("2 GB/s", ["link.bandwidth"], 1 / 2),
    # Of 4 GB/s links, four fifths of the time are left.
    ("4 GB/s", ["nic.bandwidth", "link.bandwidth"], 1 / 2),
    ("20 GB/s", ["nic.bandwidth"], 1 / 2),
]


@pytest.mark.parametrize(("link", "widened", "saves"), NARROW_LINK)
@pytest.mark.parametrize("model", ["flow", "packet"])
def test_bandwidth_without_contention_is_that_of_the_narrowest(tmp_path, model, link, widened, saves):
    platform = TORUS.replace('bandwidth = "1 GB/s"', f'bandwidth = "{link}"', 1)
    this = job(tmp_path, platform, one_to_one, 2, ppn=1, model=model)
    report = simulate(this)
    estimate = dict(report.limit)
    assert estimate["kind"] == "bandwidth", causes.sentence(estimate)
    assert estimate["saves"] == pytest.approx(saves, rel=0.05)
    what_if.simulated(this, report)
    applied = report.what_if[0]
    assert sorted(key for key, _ in applied["overrides"]) == sorted(widened)
    assert applied["saves"] == pytest.approx(estimate["saves"], rel=0.2)


def test_python_simulates_what_the_command_line_does(tmp_path):
    (tmp_path / "platform.toml").write_text(TAPERED)
    command = [str(tmp_path / "platform.toml"), "alltoall", "--bytes", "1MiB", "-n", "8", "--ppn", "1"]
    printed = json.loads(CliRunner().invoke(run_command, [*command, "--what-if", "--json"]).stdout)
    how = {"ranks": 8, "ppn": 1, "kwargs": {"bytes": "1MiB"}}
    report = hopcast.run(tmp_path / "platform.toml", "alltoall", what_if=True, out=tmp_path / "out", **how)
    assert report.what_if == printed["what_if"] != []
    assert report.limit == printed["limit"]
    assert report.limit["source"] == "simulation"
    assert json.loads((tmp_path / "out/report.json").read_text())["what_if"] == report.what_if
    plain = hopcast.run(tmp_path / "platform.toml", "alltoall", **how)
    assert plain.limit["source"] == "estimate"
    assert "what_if" not in plain.summary


IN_THE_PROGRAM = [
    # Rank 1 waits for 10 ms; if rank 0 computes for 5 ms, it waits for 5 ms.
    ("late-sender", late_sender, 2, {"work": 5e-3}),
    ("slow-rank", busy_sender, 2, {"work": 5e-3}),
    # Ten times 2 ms; without the slow rank ten times 1 ms.
    ("slow-rank", slow_rank, 8, {"slow": 1e-3}),
    # Three times 4 + 1 ms; on eight ranks the 4 ms become 0.5 ms for each.
    ("serial-part", serial_part, 8, {"alone": 0, "together": 1.5e-3}),
]


@pytest.mark.parametrize(("kind", "program", "ranks", "changed"), IN_THE_PROGRAM)
def test_limits_that_the_program_changes(tmp_path, kind, program, ranks, changed):
    this = job(tmp_path, CROSSBAR, program, ranks, ppn=1)
    limit = simulate(this).limit
    assert limit["kind"] == kind, causes.sentence(limit)
    saves = shortened(this, job(tmp_path, CROSSBAR, program, ranks, ppn=1, kwargs=changed))
    assert saves == pytest.approx(limit["saves"], rel=0.2)
    assert saves > 0.2


def test_a_sender_that_computes_while_its_handshake_stands_is_not_late(tmp_path):
    limit = simulate(job(tmp_path, CROSSBAR, busy_sender, 2, ppn=1)).limit
    assert limit["why"].startswith("One busy rank limits this run: rank 0 computes for 10.00 ms outside MPI")
    assert "handshakes that stand" in limit["why"]


def test_a_bad_placement_is_named_by_simulation(tmp_path):
    # On a ring of hosts, neighbours that are spread at random share links; in order, each has its own.
    this = job(tmp_path, TORUS, ring, 16, ppn=1, placement="random")
    report = simulate(this)
    assert report.limit["kind"] == "links"
    what_if.simulated(this, report)
    assert report.limit["kind"] == "placement"
    assert "'linear'" in report.limit["change"]
    saves = shortened(this, this.changed(placement="linear"))
    assert saves == pytest.approx(report.limit["saves"], rel=1e-9)
    assert saves > 0.5


def test_the_screen_says_the_sentence_and_what_was_simulated(tmp_path):
    (tmp_path / "platform.toml").write_text(TAPERED)
    command = [str(tmp_path / "platform.toml"), "alltoall", "--bytes", "1MiB", "-n", "8", "--ppn", "1"]
    plain = CliRunner().invoke(run_command, command).output
    assert "Contention on links of class" in plain
    assert "would be about" in plain
    assert "an estimate from its" in plain
    simulated = CliRunner().invoke(run_command, [*command, "--what-if"]).output
    assert "What if, simulated" in simulated
    assert "link.bandwidth = 10 GB/s" in " ".join(simulated.split())


def test_causes_sum_to_the_time_in_mpi(tmp_path):
    for program, ranks in ((slow_rank, 8), (overlap, 2), (incast, 16), (ring, 16)):
        (tmp_path / "platform.toml").write_text(CROSSBAR)
        report = hopcast.run(tmp_path / "platform.toml", program, ranks=ranks)
        whole = report.time["transfer_s"] + report.time["waiting_s"]
        assert sum(report.causes.values()) == pytest.approx(whole, rel=1e-12)
        path = {name: value for name, value in report.critical_path.items() if name != "rank"}
        assert sum(path.values()) == pytest.approx(report.makespan_s, rel=1e-12)
        rows = report.table("ranks").to_pydict()
        for name, _ in causes.CAUSES:
            assert sum(rows[f"{name}_s"]) == pytest.approx(report.causes[f"{name}_s"], rel=1e-12, abs=1e-15)


def test_a_packet_that_is_lost_when_it_is_sent_again_for_nothing(tmp_path):
    # Answers take longer than the timeout, so they come while packets wait for their NIC to be sent again.
    options = {"model": "packet", "ppn": 1, "kwargs": {"bytes": "8KiB"}, "set": {"transport.loss": "0.01"}}
    summary = simulate(RunRequest.of("hopper", "alltoall", ranks=32, **options)).summary
    assert summary["packets_resent"] > summary["packets_lost"] > 0
    assert sum(line["time_s"] for line in summary["contention"]) == pytest.approx(
        summary["causes"]["contention_s"], rel=1e-12
    )


def test_half_the_overheads_are_those_of_messages_within_a_host_too(tmp_path) -> None:
    """10 us to send and 20 us to receive, there and back: 2 (30 + 0.1 + 0.2) us, or 2 (15 + 0.3) us."""
    own = 'total_bandwidth = "8 GB/s"\nsend_overhead = "10 us"\nreceive_overhead = "20 us"'
    platform = tmp_path / "own.toml"
    platform.write_text(CROSSBAR.replace('total_bandwidth = "8 GB/s"', own))
    report = hopcast.run(platform, "pingpong", ranks=2, args=["--bytes", "1000 B"], what_if=True, quiet=True)
    assert report.makespan_s == pytest.approx(60.6e-6)
    limit = report.summary["limit"]
    assert (limit["kind"], limit["source"]) == ("software", "simulation")
    assert limit["saves"] == pytest.approx(30 / 60.6)


def test_of_two_crowded_resources_the_fuller_is_named() -> None:
    """A halo on Hopper: messages wait longest at NICs, but twice the NICs' rate saves nothing."""

    def halo(**overrides):
        return hopcast.run(
            "hopper", "halo3d", 1024, kwargs={"bytes": "64 KiB", "iterations": 3}, set=overrides
        )

    this = halo()
    assert this.summary["contention"][0]["at"] == "NIC"
    assert this.summary["limit"]["kind"] == "links"
    assert halo(**{"nic.bandwidth": "20.21 GB/s"}).makespan_s > 0.98 * this.makespan_s
    assert halo(**{"link.bandwidth": "9.375 GB/s"}).makespan_s < 0.85 * this.makespan_s
