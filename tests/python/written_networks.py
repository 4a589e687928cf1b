"""Descriptions of small networks, written in the formats of those who describe real ones."""

from __future__ import annotations


def fat_tree(leaves: int = 4, hosts: int = 18, spines: int = 2, cables: int = 9, word: str = "4xEDR") -> str:
    """Text of ibnetdiscover: leaves with so many hosts each, and so many cables to each spine."""
    blocks: list[list[str]] = []
    lines: dict[str, list[str]] = {}

    def block(kind: str, ports: int, identifier: str, description: str) -> None:
        lines[identifier] = []
        blocks.append([f'{kind}\t{ports} "{identifier}"\t\t# "{description}" lid 1 lmc 0', identifier])

    def cable(a: str, port: int, b: str, other: int) -> None:
        for here, number, there, far in ((a, port, b, other), (b, other, a, port)):
            guid = "(5442ba00003081)" if here[0] == "H" else ""
            lines[here].append(f'[{number}]{guid} \t"{there}"[{far}](5442ba00003080) \t\t# "x" lid 3 {word}')

    for leaf in range(leaves):
        block("Switch", 36, f"S-1{leaf:015x}", f"MF0;leaf{leaf}:SX6036/U1")
    for spine in range(spines):
        block("Switch", 36, f"S-2{spine:015x}", f"MF0;spine{spine}:SX6036/U1")
    for leaf in range(leaves):
        for host in range(hosts):
            block("Ca", 1, f"H-3{leaf:07x}{host:08x}", f"node{leaf:02}{host:02} HCA-1")
            cable(f"H-3{leaf:07x}{host:08x}", 1, f"S-1{leaf:015x}", host + 1)
        for spine in range(spines):
            for one in range(cables):
                up, down = hosts + spine * cables + one + 1, leaf * cables + one + 1
                cable(f"S-1{leaf:015x}", up, f"S-2{spine:015x}", down)
    text = "#\n# Topology file: generated on Fri Nov 20 10:00:00 2026\n#\n"
    for head, identifier in blocks:
        text += f"\nvendid=0x2c9\nswitchguid=0x5442(5442)\n{head}\n" + "\n".join(lines[identifier]) + "\n"
    return text


TREE = """SwitchName=left  Nodes=tux[00-03],login  # five
SwitchName=right Nodes=tux[08-10,12] \\
  LinkSpeed=100
switchname=top Switches=left,right
"""

BLOCKS = "BlockName=b0 Nodes=x[0-2]\nBlockName=b1 Nodes=y[0-2]\nBlockSizes=3\n"

YAML = """---
- topology: tree1
  cluster_default: true
  tree:
    switches:
      - switch: left
        nodes: tux[00-03],login   # five
      - switch: right
        nodes: tux[08-10,12]
      - {switch: top, children: "left,right"}
- topology: blocks1
  cluster_default: false
  block:
    block_sizes: [3]
    blocks:
      - block: b0
        nodes: x[0-2]
      - {block: b1, nodes: "y[0-2]"}
- topology: flat1
  flat: true
"""
"""The tree and the blocks above, and a flat topology."""

SIMGRID = """<platform version="4.1"><config>
<prop id="smpi/os" value="0:3e-7:1e-10;2000:4e-6:5e-11"/><prop id="smpi/lat-factor" value="0:1.5;2000:40"/>
<prop id="smpi/async-small-thresh" value="2000"/><prop id="smpi/test" value="8e-07"/></config>
<zone id="z" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps"
 lat="1us" topology="FAT_TREE" topo_parameters="2;2,2;1,2;1,1"/></zone></platform>
"""

OMNI_PATH = """<?xml version="1.0" encoding="utf-8" ?>
<Report><LinkSummary>
{links}
</LinkSummary></Report>
"""


def omni_path(hosts: int = 4) -> str:
    """XML of two switches with two cables, and so many hosts on each."""
    links = []

    def port(guid: str, number: int, kind: str, name: str) -> str:
        return (
            f"<Port><NodeGUID>{guid}</NodeGUID><PortNum>{number}</PortNum>"
            f"<NodeType>{kind}</NodeType><NodeDesc>{name}</NodeDesc></Port>"
        )

    def link(rate: str, first: str, second: str) -> None:
        links.append(f"<Link><Rate>{rate}</Rate><Internal>0</Internal>{first}{second}</Link>")

    for side in range(2):
        for host in range(hosts):
            link(
                "100g",
                port(f"0x1{side}{host}", 1, "FI", f"opa{side}{host} hfi1_0"),
                port(f"0x2{side}", host + 1, "SW", f"edge {side}"),
            )
    for number in (40, 41):
        ends = (port("0x20", number, "SW", "edge 0"), port("0x21", number, "SW", "edge 1"))
        link("100g", *ends)
        link("100g", *ends[::-1])
    return OMNI_PATH.format(links="\n".join(links))


def aries() -> tuple[str, str]:
    """Links of 3 groups of 2 by 2 routers: inside the groups, and between them, both directions of each."""
    inside = [((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 0), (0, 1)), ((1, 0), (1, 1))]
    between = [((0, 0, 0), (0, 0, 1)), ((1, 0, 1), (1, 0, 2)), ((0, 1, 0), (0, 1, 2))]

    def text(pairs) -> str:
        return "".join(
            f"{' '.join(map(str, here))} : 0 0 -> {' '.join(map(str, there))} : 0 1\n"
            for pair in pairs
            for here, there in (pair, pair[::-1])
        )

    return text(inside), text(between)


def named_aries() -> str:
    """The same network as the interconnect lists it: (group:chassis:slot)."""
    lines = []
    inside, between = aries()
    for group in range(3):
        for line in inside.splitlines():
            (x, y), (u, v) = (part.split(" : ")[0].split() for part in line.split(" -> "))
            color = "green" if y == v else "black"
            lines.append(f"{_tile(group, y, x)} {color} -> {_tile(group, v, u)}")
    for line in between.splitlines():
        (x, y, g), (u, v, h) = (part.split(" : ")[0].split() for part in line.split(" -> "))
        lines.append(f"{_tile(g, y, x)} blue -> {_tile(h, v, u)}")
    lines.append(f"{_tile(0, 0, 0)} blue -> unused")
    lines.append(f"{_tile(0, 0, 0)} ptile -> processor")
    return "\n".join(lines) + "\n"


def _tile(group, chassis, slot) -> str:
    return f"c{group}-0c{chassis}s{slot}a0l00({group}:{chassis}:{slot})"


NODE_MAP = "12 4\n" + "".join(
    f"nid{x * 6 + y * 2 + s:05} {x} {y} 0 {s}\n" for x in range(2) for y in range(3) for s in range(2)
)

NETLOC = (
    '{"network_info":{"network_type":2},"node_info":{"0a":{"node_type":1,"desc":"\'sw a\'"},'
    '"0b":{"node_type":2,"desc":"\'n1 HCA-1\'"},"0c":{"node_type":2,"desc":"\'n2 HCA-1\'"}},"edge_info":{'
    + ",".join(
        f'"{number}":{{"src_node_id":"{a}","src_port_id":"{p}","dest_node_id":"{b}","dest_port_id":"{q}",'
        '"speed":"QDR","width":"4x"}'
        for number, (a, p, b, q) in enumerate(
            [("0a", 1, "0b", 1), ("0b", 1, "0a", 1), ("0a", 2, "0c", 1), ("0c", 1, "0a", 2)]
        )
    )
    + "}}"
)

LSTOPO = (
    '<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
    '<object type="Machine" os_index="0"><info name="HostName" value="n1"/>'
    '<info name="CPUModel" value="Made-up 9000"/>'
    + "".join(
        '<object type="Package">'
        + '<object type="NUMANode" local_memory="34359738368"/>'
        + '<object type="L3Cache" cache_size="23068672" depth="3">'
        + 8 * '<object type="Core"><object type="PU"/><object type="PU"/></object>'
        + "</object></object>"
        for _ in range(2)
    )
    + "</object></topology>"
)
