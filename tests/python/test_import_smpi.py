"""Platforms of SimGrid: a ping-pong on the imported one takes what the XML's formula says."""

from __future__ import annotations

import itertools
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import hopcast
from hopcast.calibrate.check import calls_s, ping_pong_s
from hopcast.cli.platform_import import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

DATA = Path(os.environ.get("HOPCAST_DATA", "/nowhere"))
FLAT = 'bw="10GBps" lat="0.5us" loopback_bw="20GBps" loopback_lat="0.1us"'
OPTIONS = {
    "smpi/os": "0:3e-7:1e-10;2000:4e-6:5e-11;64000:7e-6:9e-11",
    "smpi/ois": "0:2e-7:2e-11;64000:9e-7:0",
    "smpi/or": "0:1e-6:8e-11;3000:1.2e-6:1e-10",
    "smpi/bw-factor": "0:0.25;2000:0.5;64000:0.9",
    "smpi/lat-factor": "0:1.5;2000:4;30000:6.5;64000:20",
    "smpi/async-small-thresh": "30000",
    "smpi/send-is-detached-thresh": "64000",
    "smpi/iprobe": "2.5e-07",
    "smpi/test": "8e-07",
    "smpi/wtime": "4e-08",
}
SIZES = [1, 100, 2000, 2001, 3000, 3001, 29_999, 30_000, 30_001, 63_999, 64_000, 64_001, 1_000_000]


def xml(options: dict[str, str], attributes: str = FLAT, radical: str = "1-4") -> str:
    """A platform of one cluster."""
    props = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in options.items())
    cluster = (
        f'<cluster id="c" prefix="n" suffix=".x" radical="{radical}" speed="10Gf" core="2" {attributes}/>'
    )
    config = f'<config id="General">{props}</config>'
    return f'<platform version="4.1">{config}<zone id="z" routing="Full">{cluster}</zone></platform>'


def imported(folder: Path, text: str, *options: str) -> tuple[Path, str]:
    """The platform file, and what the import says."""
    source, out = folder / "source.xml", folder / "out.toml"
    source.write_text(text)
    result = CliRunner().invoke(command, [str(source), "-o", str(out), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    head = out.read_text().split("\n\n")[0]
    for line in re.findall(r"^warning: (.*)$", result.output, re.MULTILINE):
        assert f"# note: {line}" in head, "what no key says stands at the top of the file"
    return out, result.output


def refused(folder: Path, text: str) -> str:
    """The error of an import that writes nothing."""
    with pytest.raises(InputError) as error:
        imported(folder, text)
    assert not (folder / "out.toml").exists()
    return str(error.value)


def held(options: dict[str, str], name: str, size: int, default: list[float]) -> list[float]:
    """Numbers of an option that hold for a size: those of the last range that begins below it."""
    rows = [[float(word) for word in part.split(":")] for part in options.get(name, "").split(";") if part]
    return [default, *(row[1:] for row in rows if row[0] < size)][-1]


def formula_s(options: dict[str, str], size: int, latency_s: float, rate_Bps: float, near: str = "") -> float:
    """os + lat-factor L + n / (min(bw-factor, 1) bw) + or, without os and or where the sender waits."""
    factors = [held(options, f"smpi/{near}{name}-factor", size, [1.0])[0] for name in ("lat", "bw")]
    wire = factors[0] * latency_s + size / (min(1.0, factors[1]) * rate_Bps)
    if size >= float(options.get("smpi/send-is-detached-thresh", 65536)):
        return wire
    lines = [held(options, name, size, [0.0, 0.0]) for name in ("smpi/os", "smpi/or")]
    return wire + sum(start + slope * size for start, slope in lines)


def test_a_ping_pong_takes_what_the_formula_says(tmp_path: Path):
    platform, said = imported(tmp_path, xml(OPTIONS))
    expected = [formula_s(OPTIONS, size, 1e-6, 10e9) for size in SIZES]
    assert ping_pong_s(str(platform), SIZES) / 2 == pytest.approx(expected, rel=1e-6)
    assert "longer than SMPI says" not in said and "leave before" not in said


def test_the_factors_hold_within_a_host_too(tmp_path: Path):
    platform, _ = imported(tmp_path, xml(OPTIONS))
    expected = [formula_s(OPTIONS, size, 1e-7, 20e9) for size in SIZES]
    assert ping_pong_s(str(platform), SIZES, partner=1) / 2 == pytest.approx(expected, rel=1e-6)


def test_a_loopback_may_have_factors_of_its_own(tmp_path: Path):
    options = OPTIONS | {
        "smpi/loopback-bw-factor": "0:0.2;5000:0.1",
        "smpi/loopback-lat-factor": "0:3;5000:40",
    }
    platform, _ = imported(tmp_path, xml(options))
    expected = [formula_s(options, size, 1e-7, 20e9, "loopback-") for size in SIZES]
    assert ping_pong_s(str(platform), SIZES, partner=1) / 2 == pytest.approx(expected, rel=1e-6)
    expected = [formula_s(options, size, 1e-6, 10e9) for size in SIZES]
    assert ping_pong_s(str(platform), SIZES) / 2 == pytest.approx(expected, rel=1e-6)


def test_an_isend_takes_its_own_time(tmp_path: Path):
    platform, _ = imported(tmp_path, xml(OPTIONS))
    lines = [held(OPTIONS, "smpi/ois", size, [0.0, 0.0]) for size in SIZES]
    expected = [start + slope * size for (start, slope), size in zip(lines, SIZES, strict=True)]
    assert calls_s(str(platform), "isend", SIZES) == pytest.approx(expected, rel=1e-6)


def test_a_detached_send_waits_for_no_receive(tmp_path: Path):
    """From async-small-thresh on data wait for the receive; from send-is-detached-thresh on senders do."""
    platform, _ = imported(tmp_path, xml(OPTIONS))

    def program(comm, nbytes: int) -> float:
        if comm.rank == 1:
            comm.compute(seconds=1e-3)
            comm.recv(source=0)
            return comm.Wtime()
        start = comm.Wtime()
        comm.send(nbytes=nbytes, dest=1)
        return comm.Wtime() - start

    times = {}
    for size in (29_999, 63_999, 64_000):
        report = hopcast.run(str(platform), program, 2, ppn=1, args=(size,))
        assert report.results is not None
        times[size] = report.results
    assert times[29_999][0] < 1e-4 and times[63_999][0] < 1e-4 < 1e-3 < times[64_000][0]
    wire = [formula_s(OPTIONS, size, 1e-6, 10e9) for size in (29_999, 63_999)]
    assert times[29_999][1] < 1e-3 + wire[0] / 2 and times[63_999][1] > 1e-3 + wire[1] / 2


def test_calls_and_limits(tmp_path: Path):
    platform, said = imported(tmp_path, xml(OPTIONS))
    data = tomllib.loads(platform.read_text())
    functions = {row["function"]: row["time"] for row in data["mpi"]["functions"]}
    assert functions == {"MPI_Iprobe": "250 ns", "MPI_Wtime": "40 ns"}
    mpi = data["mpi"]
    assert [mpi["poll"], mpi["eager_limit"], mpi["detached_limit"]] == ["800 ns", "29999 B", "63999 B"]
    assert data["host"]["processes"] == 2 and data["compute"]["flop_rate"] == "10000000000 flop/s"
    assert data["hosts"]["names"] == "n{1..4}.x"
    assert "warning" not in said


def test_old_spellings_are_the_same(tmp_path: Path):
    """Files of SimGrid 3.11 to 3.18: underscores, and thresholds without their h."""
    old = {name.replace("thresh", "thres").replace("-factor", "_factor"): v for name, v in OPTIONS.items()}
    platform, _ = imported(tmp_path, xml(old))
    text = platform.read_text()
    platform, _ = imported(tmp_path, xml(OPTIONS))
    assert platform.read_text() == text and 'eager_limit = "29999 B"' in text


def test_what_no_key_says_is_named(tmp_path: Path):
    options = OPTIONS | {"smpi/init": "0.1", "smpi/bw-factor": "0:0.25;2000:3"}
    text = xml(options, f'{FLAT} bb_bw="100GBps" bb_lat="1us" sharing_policy="SHARED" limiter_link="1"')
    platform, said = imported(tmp_path, text)
    for wanted in (
        "options: smpi/init = 0.1",
        "bw-factors above 1 (3), from 2000 B on: the link's bandwidth bounds them",
        "backbone of 100GBps, which all share: its latency alone is counted",
        "sharing_policy SHARED",
        "attributes of the cluster: limiter_link = 1",
    ):
        assert wanted in said
    sizes = [100, 5000, 1_000_000]
    expected = [formula_s(options, size, 2e-6, 10e9) for size in sizes]
    assert ping_pong_s(str(platform), sizes) / 2 == pytest.approx(expected, rel=1e-6)


def test_a_window_that_bounds_messages_is_named(tmp_path: Path):
    """10 GB/s with 1 us hold 10 kB on the way, and the window's half is 5 kB: half of the rate."""
    _, said = imported(tmp_path, xml(OPTIONS | {"network/TCP_gamma": "10000"}))
    assert "network/TCP-gamma bounds a message at 5 GB/s on the longest path" in said
    _, said = imported(tmp_path, xml(OPTIONS | {"network/TCP-gamma": "30000"}))
    assert "warning" not in said


def test_a_handshake_that_does_not_fit_is_named_with_its_time(tmp_path: Path):
    """lat-factor 1 above the limits: two empty messages of 1 us each, and 1 us for all."""
    options = {"smpi/async-small-thresh": "1000", "smpi/send-is-detached-thresh": "1000"}
    platform, said = imported(tmp_path, xml(options))
    assert "above 999 B, up to the longest, take 1 us longer than SMPI says" in said
    assert ping_pong_s(str(platform), [5000])[0] / 2 == pytest.approx(1e-6 + 1e-6 + 5e-7, rel=1e-6)


def test_defaults_of_simgrid_are_said(tmp_path: Path):
    _, said = imported(tmp_path, xml({}, 'bw="10Gbps" lat="5.2us"'))
    assert "smpi/async-small-thresh is not set: SimGrid's default of 0 B holds" in said
    assert "messages of 1 B to 65535 B leave before their receive is there; SMPI's wait for it" in said
    assert "messages within a host: SimGrid's loopback, 10 GB/s without latency" in said
    assert "smpi/test is not set, or 0" in said


@pytest.mark.parametrize(
    ("attributes", "radical", "links", "lines"),
    [
        ('topology="FAT_TREE" topo_parameters="2;1,4;1,2;1,3"', "0-3", 4, ["m = [1, 4]", "lanes = [3]"]),
        ('topology="TORUS" topo_parameters="2,1"', "0-1", 1, ["sizes = [2, 1]"]),
        (
            'topology="DRAGONFLY" topo_parameters="2,3;1,1;1,1;1"',
            "0-1",
            3,
            ["groups = 2", 'global_bandwidth = "30 GB/s"'],
        ),
    ],
)
def test_topologies_have_the_latency_of_their_paths(tmp_path: Path, attributes, radical, links, lines):
    """Factor 1 below the limits: each link of the path has its own latency, 0.5 us."""
    options = {"smpi/async-small-thresh": "1000", "smpi/send-is-detached-thresh": "1000"}
    platform, _ = imported(tmp_path, xml(options, f"{FLAT} {attributes}", radical))
    assert all(line in platform.read_text() for line in lines)
    assert ping_pong_s(str(platform), [999])[0] / 2 == pytest.approx(links * 5e-7 + 999 / 10e9, rel=1e-4)


def test_a_factor_holds_on_the_longest_path_of_a_tree(tmp_path: Path):
    tree = f'{FLAT} topology="FAT_TREE" topo_parameters="2;1,4;1,2;1,1"'
    platform, said = imported(tmp_path, xml(OPTIONS, tree, "0-3"))
    assert "as lat-factor makes it on the longest path" in said
    expected = [formula_s(OPTIONS, size, 2e-6, 10e9) for size in SIZES]
    assert ping_pong_s(str(platform), SIZES) / 2 == pytest.approx(expected, rel=1e-6)


def routed(extra: str = "", policy: str = "SHARED") -> str:
    """Three hosts with a link up and one down each, and routes between all."""
    names = ["a", "b", "c"]
    nodes = "".join(
        f'<host id="{name}" speed="5Gf"/><link id="{name}u" bandwidth="80Gbps" latency="2us"/>'
        f'<link id="{name}d" bandwidth="10GBps" latency="1us"/>'
        f'<link id="{name}l" bandwidth="20GBps" latency="0.1us" sharing_policy="{policy}"/>'
        for name in names
    )
    routes = "".join(
        f'<route src="{one}" dst="{two}" symmetrical="NO">'
        f'<link_ctn id="{one}u"/><link_ctn id="{two}d"/></route>'
        for one, two in itertools.permutations(names, 2)
    )
    loops = "".join(f'<route src="{name}" dst="{name}"><link_ctn id="{name}l"/></route>' for name in names)
    props = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in OPTIONS.items())
    zone = f'<AS id="z" routing="Full">{nodes}{routes}{loops}{extra}</AS>'
    return f'<platform version="4"><config id="General">{props}</config>{zone}</platform>'


def test_hosts_with_routes_are_one_switch(tmp_path: Path):
    platform, _ = imported(tmp_path, routed())
    expected = [formula_s(OPTIONS, size, 3e-6, 10e9) for size in SIZES]
    assert ping_pong_s(str(platform), SIZES) / 2 == pytest.approx(expected, rel=1e-6)
    data = tomllib.loads(platform.read_text())
    assert data["topology"] == {"kind": "crossbar", "hosts": 3}
    assert data["host"]["memory"]["total_bandwidth"] == "20 GB/s"
    assert (tmp_path / "out.hosts").read_text() == "a 0\nb 1\nc 2\n"
    platform, _ = imported(tmp_path, routed(policy="FATPIPE"))
    assert "total_bandwidth" not in platform.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<platform/>", "neither a <cluster> nor a <host>"),
        (xml({"smpi/os": "0:1"}), r"smpi/os: '0:1' has 2 numbers: 3 are wanted"),
        (xml({"smpi/os": "0:1:x"}), "smpi/os: 'x' is not a number"),
        (xml({"smpi/or": "0:-1:0"}), "below zero"),
        (xml({"smpi/bw-factor": "0:0"}), "a factor of 0 lets messages never end"),
        (xml({}, 'bw="10 furlongs" lat="1us"'), "'10 furlongs' is not a"),
        (xml({}, 'bw="10GBps"'), "cluster 'c': no lat"),
        (xml({}, FLAT, "4-1"), "a falling range"),
        (xml({}, f'{FLAT} topology="FAT_TREE" topo_parameters="2;4,4;1,1;1,1"'), "make 16 hosts of FAT_TREE"),
        (xml({}, f'{FLAT} topology="HYPERX" topo_parameters="1"'), "known: FLAT, FAT_TREE"),
        (xml({}).replace("</zone>", '<host id="h" speed="1Gf"/></zone>'), "1 clusters and 1 hosts beside"),
        (routed('<link id="x" bandwidth="0"/>'), "'0' is not a bandwidth"),
        (routed('<route src="a" dst="q"><link_ctn id="au"/></route>'), "one is no host"),
        (routed('<route src="a" dst="b"><link_ctn id="xx"/></route>'), "by link 'xx'"),
        (routed().replace('"bu"', '"au"'), "link 'au'"),
    ],
)
def test_a_file_that_cannot_be_told_is_refused(tmp_path: Path, text: str, message: str):
    assert re.search(message, refused(tmp_path, text))


def test_it_comes_alone(tmp_path: Path):
    (tmp_path / "other.xml").write_text(xml(OPTIONS))
    (tmp_path / "one.xml").write_text(xml(OPTIONS))
    arguments = [str(tmp_path / "one.xml"), str(tmp_path / "other.xml"), "-o", str(tmp_path / "o.toml")]
    with pytest.raises(InputError, match="the second platform of SimGrid"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    with pytest.raises(InputError, match="--link-bandwidth needs a source that does not say it"):
        imported(tmp_path, xml(OPTIONS), "--link-bandwidth", "1 GB/s")


PUBLISHED = [
    "notebooks/platforms/dahu-07480723.xml",
    "notebooks/platforms/platform-ee125b4c.xml",
    "notebooks/platforms/platform-3eba0a2d.xml",
    "mpi/taurus.xml",
    "mpi/sirocco.xml",
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_platforms_take_what_they_say(tmp_path: Path, name: str):
    source = DATA / "calibration" / name
    if not source.exists():
        pytest.skip(f"{source}: not here")
    text = source.read_text()
    platform, _ = imported(tmp_path, text)
    root = ElementTree.fromstring(text)
    options = {
        prop.get("id", "").replace("_", "-").removesuffix("h"): prop.get("value", "")
        for prop in root.iter("prop")
    }
    options = {name + "h" * name.endswith("thres"): value for name, value in options.items()}
    cluster = next(root.iter("cluster"))
    units = {"GBps": 1e9, "us": 1e-6}

    def quantity(attribute: str) -> float:
        value = cluster.get(attribute, "0")
        unit = next((unit for unit in units if value.endswith(unit)), "")
        return float(value.removesuffix(unit)) * units.get(unit, 1.0)

    path_s = 2 * quantity("lat") + quantity("bb_lat")
    ends = [round(float(part.split(":")[0])) for part in options["smpi/bw-factor"].split(";")]
    sizes = sorted({size + more for size in ends for more in (0, 1, 500)} | {10_000_000})
    expected = [formula_s(options, size, path_s, quantity("bw")) for size in sizes if size]
    measured = ping_pong_s(str(platform), [size for size in sizes if size]) / 2
    assert measured == pytest.approx(np.array(expected), rel=1e-6, abs=2e-12)
