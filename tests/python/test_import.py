"""`hopcast platform import`: graphs, rates, hosts and measured costs of written networks."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import written_networks as written
from click.testing import CliRunner

import hopcast
from hopcast import core
from hopcast.cli.platform import command
from hopcast.errors import InputError
from hopcast.importing import cray, fabric, infiniband, link_rates, lstopo, netloc, omnipath, slurm, texts
from hopcast.toml import tomllib

DATA = Path(os.environ.get("HOPCAST_DATA", Path(__file__).parents[3] / "shared/data")) / "topology-maps"


def imported(folder: Path, *sources: object, **options: object) -> tuple[Path, str]:
    """The platform file, and what the command printed."""
    out = folder / "cluster.toml"
    words = [word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    arguments = ["import", *map(str, sources), "-o", str(out), *words]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out, result.output


def saved(folder: Path, text: str, name: str = "source.txt") -> Path:
    """A file with the text."""
    (folder / name).write_text(text)
    return folder / name


def cables(network: fabric.Fabric) -> dict[tuple[str, ...], tuple[int, float | None]]:
    """Number and rate of cables by their ends."""
    return {tuple(sorted(cable.ends)): (cable.count, cable.bandwidth_Bps) for cable in network.cables}


@pytest.mark.parametrize("hosts, up", [(18, 9), (24, 6)])
def test_a_fat_tree_of_36_port_switches_has_its_bisection(tmp_path: Path, hosts: int, up: int):
    """Two of four leaves and one of two spines are a half: 4 · `up` cables of 12.5 GB/s are cut. No cut is
    narrower, since each half's hosts can send so much through the spines at once."""
    source = saved(tmp_path, written.fat_tree(hosts=hosts, cables=up))
    platform, printed = imported(tmp_path, source)
    assert f"{4 * hosts} hosts, 6 switches, {8 * up} cables between them" in printed
    survey = core.topology_survey(str(platform), (), 1)
    assert (survey["hosts"], survey["routers"]) == (4 * hosts, 6)
    assert survey["bisection_Bps"]["value"] == pytest.approx(4 * up * 12.5e9)
    assert survey["half_of_hosts_Bps"] == pytest.approx(2 * hosts * 12.5e9)
    assert "<svg" in core.topology_picture(str(platform), ())


def test_an_alltoall_on_the_fat_tree_takes_what_its_nics_need(tmp_path: Path):
    """Every NIC sends 71 blocks of 64 KiB at 12.5 GB/s: 372 µs. The tree has full bisection, and is
    recognised, so that its own routing spreads hosts over cables, and no two blocks of a step meet."""
    platform, _ = imported(tmp_path, saved(tmp_path, written.fat_tree()))
    report = hopcast.run(str(platform), "alltoall", kwargs={"bytes": "64KiB"}, ranks=72, ppn=1)
    least = 71 * 65536 / 12.5e9
    assert least <= report.makespan_s < 1.05 * least


def test_what_no_source_says_is_on_the_screen_and_in_the_file(tmp_path: Path):
    platform, printed = imported(tmp_path, saved(tmp_path, written.fat_tree()))
    text = platform.read_text()
    for part in ("link latency", "NIC latency", "1 process a host", "MPI's software", "10 Gflop/s"):
        assert any(part in line for line in printed.splitlines() if line.startswith("assumed: "))
        assert any(part in line for line in text.splitlines() if line.startswith("# assumed: "))
    data = tomllib.loads(text)
    assert "link latency" in data["note"] and "not measured" in data["mpi"]["unmeasured"]
    given = {"link_latency": "90 ns", "nic_latency": "600 ns", "flop_rate": "9 Gflop/s", "processes": 4}
    platform, printed = imported(tmp_path, tmp_path / "source.txt", library="mpich", **given)
    data = tomllib.loads(platform.read_text())
    assert (data["link"]["latency"], data["nic"]["latency"]) == ("90 ns", "600 ns")
    assert (data["host"]["processes"], data["compute"]["flop_rate"]) == (4, "9 Gflop/s")
    assert "latency" not in printed and data["mpi"]["library"] == "mpich"


def test_a_tree_with_a_missing_cable_stays_a_graph(tmp_path: Path):
    """Trunks of 9 and one of 8 cables of 12.5 GB/s."""
    lines = written.fat_tree().splitlines()
    lost = [number for number, line in enumerate(lines) if line.startswith(("[19]", '[1] \t"S-1'))][:1]
    mirror = next(number for number, line in enumerate(lines) if line.startswith("[1] ") and '"S-1' in line)
    kept = [line for number, line in enumerate(lines) if number not in (*lost, mirror)]
    platform, _ = imported(tmp_path, saved(tmp_path, "\n".join(kept)))
    assert 'kind = "graph"' in platform.read_text()
    assert " 12.5 GB/s x8\n" in platform.with_suffix(".edges").read_text()


@pytest.mark.parametrize(
    "word, gbps", [("4xSDR", 1), ("4xDDR", 2), ("4xQDR", 4), ("4xEDR", 12.5), ("4xHDR", 25), ("4xNDR", 50)]
)
def test_rates_are_those_after_the_line_code(word: str, gbps: float):
    """8b/10b of 2.5, 5 and 10 Gbit/s lanes leaves 2, 4 and 8; 64b/66b of 25.78125 leaves 25."""
    network = infiniband.read(written.fat_tree(word=word), "text")
    assert {cable.bandwidth_Bps for cable in network.cables} == {gbps * 1e9}


def test_fdr_and_unknown_words():
    """FDR: 4 · 14.0625 · 64/66 / 8 GB/s."""
    assert link_rates.infiniband("FDR", "4x", "") == pytest.approx(6.8182e9, rel=1e-5)
    with pytest.raises(InputError, match=r"text: unknown speed 'XYZ'; known: SDR, DDR"):
        link_rates.infiniband("XYZ", "4x", "text")
    with pytest.raises(InputError, match="unknown width '3x'"):
        link_rates.infiniband("EDR", "3x", "text")


def test_adapters_without_names_and_aggregation_nodes():
    text = written.fat_tree().replace("node0000 HCA-1", "MT25408 ConnectX Mellanox Technologies")
    text = text.replace("node0001 HCA-1", "Mellanox Technologies Aggregation Node")
    network = infiniband.read(text, "text")
    assert "H-3000000000000000" in network.hosts and len(network.hosts) == 71
    assert any("1 aggregation nodes" in finding for finding in network.findings)


def test_a_text_that_was_cut_names_what_is_missing(tmp_path: Path):
    text = written.fat_tree()
    with pytest.raises(InputError, match=r"text: cables lead to 74 nodes .* the text was cut"):
        infiniband.read(text[: text.index('Switch\t36 "S-2')], "text")
    count = text[: text.index("\n[3]")].count("\n") + 2
    with pytest.raises(InputError, match=f"text:{count}: neither a node nor a port"):
        infiniband.read(text.replace("\n[3]", "\ngarbage", 1), "text")


def test_netloc_has_each_cable_once():
    network = netloc.read(written.NETLOC, "text")
    assert network.hosts == ["n1", "n2"]
    assert cables(network) == {("n1", "sw_a"): (1, 4e9), ("n2", "sw_a"): (1, 4e9)}


def test_omni_path_counts_cables_listed_at_both_ends_once():
    network = omnipath.read(texts.xml(written.omni_path(), "x"), "x")
    assert len(network.hosts) == 8 and network.routers == ["edge_0", "edge_1"]
    assert cables(network)[("edge_0", "edge_1")] == (2, 12.5e9)


def test_a_tree_of_slurm():
    network = slurm.read(written.TREE, "text")
    assert network.hosts == ["tux00", "tux01", "tux02", "tux03", "login", "tux08", "tux09", "tux10", "tux12"]
    assert cables(network)[("left", "top")] == (5, None)
    assert cables(slurm.read(written.TREE, "text", uplinks=2))[("right", "top")] == (2, None)
    assert any("cables lead up" in text for text in network.assumed)
    blocks = slurm.read(written.BLOCKS, "text")
    assert cables(blocks)[("b0", "between_blocks")] == (3, None)


@pytest.mark.parametrize(
    "text, message",
    [
        ("SwitchName=a Nodes=n[0-99999999]", "more than 1,000,000 names"),
        ("SwitchName=a Nodes=n[3-1]", "falling range"),
        ("SwitchName=a Nodes=n[1", "bracket without its other"),
        ("SwitchName=a Switches=b", "names 'b', which has no line"),
        ("SwitchName=a Nodes=x Switches=b\nSwitchName=b Nodes=y Switches=a", "above itself"),
        ("SwitchName=a Nodes=x\nSwitchName=a Nodes=y", "text:2: 'a' stands here for the second time"),
        ("SwitchName=a Speed=3", "'Speed=3': unknown; known: SwitchName="),
    ],
)
def test_wrong_lines_of_slurm(text: str, message: str):
    with pytest.raises(InputError, match=message):
        slurm.read(text, "text")


def test_links_of_aries_in_both_notations_are_one_network():
    inside, between = written.aries()
    network = cray.read_links([(between, "b"), (inside, "a")], 2)
    assert len(network.hosts) == 24 and len(network.routers) == 12
    links = {ends: value for ends, value in cables(network).items() if not ends[1].startswith("nid")}
    assert len(links) == 3 * 4 + 3
    assert links[("(0,0,0)", "(0,0,1)")] == (1, cray.GLOBAL_BPS)
    assert links[("(0,0,2)", "(1,0,2)")] == (1, cray.LOCAL_BPS)
    assert cables(cray.read_links([(written.named_aries(), "n")], 2)) == cables(network)


def test_a_map_of_hosts_is_a_torus(tmp_path: Path):
    """2 × 3 × 1 routers of 2 hosts."""
    platform, printed = imported(tmp_path, saved(tmp_path, written.NODE_MAP))
    survey = core.topology_survey(str(platform), (), 1)
    assert (survey["hosts"], survey["routers"]) == (12, 6) and "links and NICs of Gemini" in printed
    with pytest.raises(InputError, match="11 hosts, and line 1 says 12: the file was cut"):
        cray.read_nodes(written.NODE_MAP[: written.NODE_MAP.rindex("nid")], "map")


def test_a_host_of_lstopo(tmp_path: Path):
    host = lstopo.read(texts.xml(written.LSTOPO, "x"), "x")
    assert (host.cores, host.sockets, host.numa_nodes, host.threads) == (16, 2, 2, 32)
    assert host.caches == ("L3 22 MiB x2",) and host.memory_bytes == 64 << 30
    sources = (saved(tmp_path, written.fat_tree()), saved(tmp_path, written.LSTOPO, "n1.xml"))
    data = tomllib.loads(imported(tmp_path, *sources)[0].read_text())
    assert (data["host"]["processes"], data["host"]["sockets"]) == (16, 2)


def test_entities_are_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><topology>&b;</topology>'
    with pytest.raises(InputError, match="entities of its own is refused"):
        texts.xml(bomb, "x")


def test_measurements_are_merged(tmp_path: Path):
    """A ping-pong of 2 µs + n / 10 GB/s one way comes back on a network whose links are faster."""
    sizes = [int(10 ** (exponent / 8)) for exponent in range(8, 56)]
    rows = "".join(f"{size},{2 * (2e-6 + size / 10e9):.9e}\n" for size in sizes)
    table = saved(tmp_path, "size,duration\n" + rows, "pingpong.csv")
    network = saved(tmp_path, written.fat_tree())
    platform, printed = imported(tmp_path, network, table, flop_rate="9 Gflop/s")
    assert "Measured   pingpong.csv" in printed and "MPI's software" not in printed
    from hopcast.calibrate import sources
    from hopcast.calibrate.check import check
    from hopcast.calibrate.series import by_size

    (campaign,) = sources.read([table])
    calls = campaign.calls["round_trip"]
    rows = check(str(platform), by_size(calls.sizes, calls.seconds), [])
    assert rows[-1].accuracy.worst < 0.01
    fitted = saved(tmp_path, platform.read_text(), "fitted.toml")
    again, _ = imported(tmp_path, network, fitted)
    assert tomllib.loads(again.read_text())["mpi"] == tomllib.loads(platform.read_text())["mpi"]
    levels = """
[[host.levels]]
name = "socket"
processes = 2
latency = "100 ns"
bandwidth = "20 GB/s"
[[host.levels.regimes]]
up_to = "8 KiB"
bandwidth = "30 GB/s"
"""
    with_levels = platform.read_text() + levels
    with_levels = re.sub(
        r"^processes = 1.*$", 'processes = 4\nsockets = 2\nsocket_order = "block"', with_levels, flags=re.M
    )
    again, _ = imported(tmp_path, network, saved(tmp_path, with_levels, "levels.toml"), processes="4")
    host = tomllib.loads(again.read_text())["host"]
    assert host["levels"] == tomllib.loads(levels)["host"]["levels"]
    assert (host["sockets"], host["socket_order"]) == (2, "block")


@pytest.mark.parametrize(
    "sources, options, message",
    [
        (
            ["tree"],
            {},
            'rates of hosts\' links and links between switches: give --link-bandwidth "12.5 GB/s"',
        ),
        (["fat", "tree"], {}, "the second network"),
        (["fat"], {"--uplinks": "2"}, "--uplinks needs a topology.conf"),
        (["fat"], {"--link-bandwidth": "1 GB/s"}, "says the rates of all links itself"),
        (["host"], {}, "no network among the sources"),
        (["prose"], {}, "no known format; known: ibnetdiscover text"),
        (["absent"], {}, "absent: no such file"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, sources: list[str], options: dict[str, str], message: str):
    for name, text in {
        "tree": written.TREE,
        "fat": written.fat_tree(),
        "host": written.LSTOPO,
        "prose": "Hello",
    }.items():
        saved(tmp_path, text, name)
    words = [word for pair in options.items() for word in pair]
    places = [str(tmp_path / name) for name in sources]
    with pytest.raises(InputError) as caught:
        arguments = ["import", *places, "-o", str(tmp_path / "out.toml"), *words]
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert message in str(caught.value)


@pytest.mark.skipif(not DATA.is_dir(), reason="$HOPCAST_DATA is not there: maps of real networks")
@pytest.mark.parametrize(
    "sources, options, hosts, routers, links",
    [
        (["netloc-ib/IB-fe80_0000_0000_0000-nodes.ndat.xz"], {}, 125, 9, 76),
        (["hopper_nodemap.txt"], {}, 6528, 17 * 8 * 24, None),
        (
            ["edison_intergroup.txt.xz", "edison_intragroup.txt.xz"],
            {"link_bandwidth": "8 GB/s"},
            5760,
            1440,
            None,
        ),
    ],
)
def test_real_maps(
    tmp_path: Path, sources: list[str], options: dict, hosts: int, routers: int, links: int | None
):
    """PlaFRIM's fabric has 125 adapters, 9 switches and 402 = 2 · (125 + 76) directed edges in the file;
    Hopper's map 6,528 nodes on 17 × 8 × 24 routers; Edison's has 15 groups of 96 routers."""
    platform, printed = imported(tmp_path, *(DATA / source for source in sources), **options)
    survey = core.topology_survey(str(platform), (), 1)
    assert (survey["hosts"], survey["routers"]) == (hosts, routers)
    assert links is None or f"{links} cables between them" in printed
    report = hopcast.run(str(platform), "alltoall", kwargs={"bytes": "64KiB"}, ranks=32, ppn=1)
    assert 31 * 65536 / 13e9 <= report.makespan_s <= 31 * 65536 / 1e9 * 3
