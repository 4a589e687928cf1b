"""Slurm's topology.yaml: a tree, blocks, and flat topologies, as topology.conf says them."""

from __future__ import annotations

from pathlib import Path

import pytest
import written_networks as written
from click.testing import CliRunner

from hopcast.cli.platform_import import command
from hopcast.errors import InputError
from hopcast.importing import slurm, slurm_yaml
from hopcast.toml import tomllib

FLAT = "- topology: only\n  flat: true\n"


def imported(folder: Path, text: str, *options: str) -> tuple[dict, str]:
    """The platform, and what the import says."""
    source, out = folder / "topology.yaml", folder / "out.toml"
    source.write_text(text)
    arguments = [str(source), *options, "-o", str(out), "--link-bandwidth", "10 GB/s"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return tomllib.loads(out.read_text()), result.output


def test_the_default_tree_is_that_of_topology_conf():
    network, conf = slurm_yaml.read(written.YAML, "text"), slurm.read(written.TREE, "text")
    assert network is not None
    assert network.hosts == conf.hosts and network.cables == conf.cables
    assert network.findings == ["topologies blocks1, flat1 are left out (--topology NAME)"]


def test_blocks_are_those_of_topology_conf():
    network, conf = slurm_yaml.read(written.YAML, "text", None, "blocks1"), slurm.read(written.BLOCKS, "text")
    assert network is not None
    assert network.hosts == conf.hosts and network.cables == conf.cables and network.assumed == conf.assumed


def test_a_flat_topology_is_one_switch_of_the_hosts_that_others_name():
    network = slurm_yaml.read(written.YAML, "text", None, "flat1")
    assert network is not None
    assert len(network.hosts) == 15 and network.routers == ["flat"]


def test_without_a_default_the_first_is_taken():
    network = slurm_yaml.read(written.YAML.replace("true\n  tree", "false\n  tree"), "text")
    assert network is not None and network.origin.endswith("topology 'tree1'")


def test_the_command_takes_one_by_name(tmp_path: Path):
    platform, said = imported(tmp_path, written.YAML)
    assert "9 hosts, 3 switches, 9 cables between them" in said
    assert platform["topology"]["kind"] == "graph"
    platform, said = imported(tmp_path, written.YAML, "--topology", "blocks1", "--uplinks", "2")
    assert "6 hosts, 3 switches, 4 cables between them" in said
    assert "topologies tree1, flat1 are left out" in said


def test_a_flat_topology_alone_needs_the_names_of_hosts(tmp_path: Path):
    with pytest.raises(InputError, match="a flat topology, and no host is named: give a map 'NAME NUMBER'"):
        imported(tmp_path, FLAT)
    (tmp_path / "names.txt").write_text("3 1\na 0\nb 1\nc 2\n")
    platform, _ = imported(tmp_path, FLAT, str(tmp_path / "names.txt"))
    assert platform["topology"] == {"kind": "crossbar", "hosts": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- topology: a\n  tree: [", "not YAML: "),
        ("topology: a\nflat: true\n", "a list of topologies is wanted"),
        ("- topology: a\n- topology: a\n", "there for the second time"),
        ("- topology: a\n", "no kind: exactly one of block, flat, tree is wanted"),
        ("- topology: a\n  flat: true\n  tree: {switches: []}\n", "tree and flat: exactly one"),
        (
            "- topology: a\n  ring: {}\n",
            "unknown 'ring'; known: block, cluster_default, flat, topology, tree",
        ),
        ("- topology: a\n  tree: {switches: []}\n", "a list 'switches' is wanted"),
        ("- topology: a\n  tree: {switches: [{nodes: x}]}\n", r"switches\[1\]: 'switch: NAME' is wanted"),
        (
            "- topology: a\n  tree: {switches: [{switch: s, ports: 3}]}\n",
            "unknown 'ports'; known: children, link_speed, nodes, switch",
        ),
        ("- topology: a\n  tree: {switches: [{switch: s, children: q}]}\n", "names 'q', which has no line"),
        ("- topology: a\n  tree: &x {switches: [*x]}\n", "references .* are refused"),
    ],
)
def test_a_file_that_is_wrong_says_where(text: str, message: str):
    with pytest.raises(InputError, match=message):
        slurm_yaml.read(text, "text")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match="unknown topology 'x'; known: tree1, blocks1, flat1"):
        slurm_yaml.read(written.YAML, "text", None, "x")
