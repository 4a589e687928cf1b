"""Rank maps: what talks much together shares a host, no host holds too many, files are what launchers
read."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.cli import commands
from hopcast.errors import InputError
from hopcast.questions import distances, place
from hopcast.request import RunRequest


def hopcast(*words: object) -> str:
    done = CliRunner().invoke(commands, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def groups(count: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Traffic of groups that talk among themselves, and a little with all; and the group of each rank,
    shuffled."""
    of_rank = np.random.default_rng(seed).permutation(np.repeat(np.arange(count), size))
    bytes_ = np.where(of_rank[:, None] == of_rank[None, :], 1e6, 1e3)
    np.fill_diagonal(bytes_, 0)
    return bytes_, of_rank


@pytest.mark.parametrize(("count", "size"), [(2, 4), (4, 8), (8, 6), (16, 4)])
def test_groups_share_a_host(count: int, size: int) -> None:
    bytes_, of_rank = groups(count, size, seed=count)
    parts = place.partition(bytes_, count, size)
    assert len({(group, part) for group, part in zip(of_rank.tolist(), parts.tolist(), strict=True)}) == count
    between = count * (count - 1) * size * size * 1e3 / 2
    assert place.between_hosts(bytes_, parts) == pytest.approx(between)


@pytest.mark.parametrize("seed", range(8))
def test_no_host_holds_too_many(seed: int) -> None:
    """Random graphs with hubs, and hosts that are exactly full or nearly."""
    random = np.random.default_rng(seed)
    ranks, per_host = int(random.integers(10, 60)), int(random.integers(2, 9))
    bytes_ = random.integers(0, 3, (ranks, ranks)) * random.random((ranks, ranks)) * 1e9
    bytes_ = np.triu(bytes_, 1)
    bytes_[0] *= 50
    bytes_ += bytes_.T
    hosts = -(-ranks // per_host)
    parts = place.partition(bytes_, hosts, per_host)
    assert max(Counter(parts.tolist()).values()) <= per_host and set(parts.tolist()) <= set(range(hosts))
    with pytest.raises(InputError, match="too few"):
        place.partition(bytes_, hosts - 1, per_host)


def test_ranks_that_talk_to_nobody_are_placed_in_order() -> None:
    assert place.partition(np.zeros((6, 6)), 3, 2).tolist() == [0, 0, 1, 1, 2, 2]


def test_partners_half_the_ranks_away_meet_on_a_host(tmp_path: Path) -> None:
    """Twelve ranks, three a host, in six pairs: four pairs fit, two are split. Linear and cyclic split all
    six."""
    files = {name: tmp_path / name for name in ("map", "rankfile", "hostfile")}
    said = hopcast(
        "place", "fat-tree", "-n", 12, "--ppn", 3, "--map", files["map"], "--rankfile", files["rankfile"],
        "--hostfile", files["hostfile"], "--host-names", "n{}", "--first", 1, "bisection", "--bytes", "64KiB",
    )  # fmt: skip
    lines = {line.split()[0]: line.split()[1:] for line in said.splitlines()[1:4]}
    between = {name: (float(line[-4]), line[-3]) for name, line in lines.items()}
    assert "Makespan  12.32 µs before (linear), 7.081 µs after (metis)" in said
    assert between == {"metis": (256, "KiB"), "linear": (768, "KiB"), "cyclic": (768, "KiB")}
    assert "metis: " in said
    hosts = [int(line) for line in files["map"].read_text().splitlines()[1:]]
    assert sum(hosts[rank] == hosts[rank + 6] for rank in range(6)) == 4
    assert Counter(hosts) == dict.fromkeys(range(4), 3)
    assert files["hostfile"].read_text().splitlines() == [f"n{host + 1}" for host in hosts]
    ranked = files["rankfile"].read_text().splitlines()
    assert ranked[0] == f"rank 0=n{hosts[0] + 1} slot=0"
    assert len({line.partition("=")[2] for line in ranked}) == 12
    run = (
        "run",
        "fat-tree",
        "-n",
        12,
        "--placement",
        files["map"],
        "--quiet",
        "bisection",
        "--bytes",
        "64KiB",
    )
    assert hopcast(*run).split()[:2] == lines["metis"][:2]


RING = ("--set", "topology.kind=torus", "--set", "link.bandwidth=10 GB/s", "--set", "link.latency=100 ns")


def test_distances_are_the_hops_between_hosts() -> None:
    """On a ring of eight each hop adds the link's 100 ns, and 2 ns where messages of a step meet."""
    settings = dict(word.split("=") for word in RING[1::2]) | {"topology.sizes": "[8]"}
    request = RunRequest.of("crossbar", "ring", ranks=8, ppn=1, set=settings)
    far = distances.between(request, np.arange(8))
    hops = np.array([[min((a - b) % 8, (b - a) % 8) for a in range(8)] for b in range(8)])
    assert np.abs((far - far[0, 1]) * 1e9 - 100 * (hops - 1))[hops > 0].max() < 10
    assert not distances.are_equal(far)
    crossbar = RunRequest.of("crossbar", "ring", ranks=8, ppn=1)
    assert distances.are_equal(distances.between(crossbar, np.arange(8)))


def test_parts_that_talk_are_mapped_to_hosts_that_are_near() -> None:
    """A ring of twelve, its ranks shuffled, on a ring of hosts: each byte has one hop to go."""
    hops = np.array([[min((a - b) % 12, (b - a) % 12) for a in range(12)] for b in range(12)], float)
    order = np.random.default_rng(3).permutation(12)
    bytes_ = np.zeros((12, 12))
    for one, other in zip(order, np.roll(order, 1), strict=True):
        bytes_[one, other] = bytes_[other, one] = 1e6
    places = distances.mapped(np.arange(12), bytes_, hops)
    assert sorted(places) == list(range(12))
    assert distances.cost(bytes_, places, hops) == 12e6 < distances.cost(bytes_, np.arange(12), hops)
    # An order that is the best already stays.
    in_order = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
    assert distances.mapped(np.arange(12), in_order, hops).tolist() == list(range(12))


def test_a_shuffled_ring_is_unwound_on_a_ring_of_hosts(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    order = np.random.default_rng(3).permutation(12).tolist()
    (tmp_path / "shuffled.py").write_text(
        f"ORDER = {order}\n\ndef main(comm):\n    place = ORDER.index(comm.rank)\n"
        "    for _ in range(4):\n"
        "        comm.sendrecv(nbytes=1 << 20, dest=ORDER[(place + 1) % 12], source=ORDER[place - 1])\n"
    )
    ring = (*RING, "--set", "topology.sizes=[12]")
    said = hopcast("place", "crossbar", *ring, "-n", 12, "--ppn", 1, "--map", "map", "shuffled.py")
    lines = {line.split()[0]: line for line in said.splitlines()}
    assert "before (linear)" in lines["Makespan"] and "after (distance)" in lines["Makespan"]
    hosts = [int(line) for line in (tmp_path / "map").read_text().splitlines()[1:]]
    steps = {abs(hosts[one] - hosts[other]) for one, other in zip(order, order[1:] + order[:1], strict=True)}
    assert steps == {1, 11}, "neighbours, round the ring"


def test_one_rank_a_host_leaves_nothing_to_cut() -> None:
    said = hopcast("place", "fat-tree", "-n", 8, "--ppn", 1, "ring", "--bytes", "1KiB")
    assert "one rank a host, and all hosts equally far" in said and "metis" not in said


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_the_launcher_takes_the_file(tmp_path: Path, library: str) -> None:
    """Two ranks on this host: as many lines of output."""
    launcher = shutil.which(f"mpiexec.{library}")
    if launcher is None:
        pytest.skip(f"no {library} here")
    file = tmp_path / "file"
    if library == "openmpi":
        file.write_text(place.rank_file([0, 0], socket.gethostname(), 0))
        flags = ["--allow-run-as-root", "--rankfile", file]
    else:
        file.write_text(place.host_list([0, 0], "localhost", 0))
        flags = ["-f", file]
    # Where all ranks have ended before MPICH's launcher has told them all, it may be killed by SIGPIPE.
    command = [launcher, *flags, "-n", "2", "sh", "-c", "sleep 0.5; echo here"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["here", "here"]
