"""Drawn processors as a table of a platform's kernel: `table = "nodes.csv"` in `[[compute.kernels]]`."""

from __future__ import annotations

from hopcast.cluster.draw import DrawnCluster


def text(drawn: DrawnCluster, said: str, hosts: str = "{}", first: int = 0) -> str:
    """CSV with host, socket and terms; the first row, for hosts that are not listed, is the mean of all.

    said: provenance, a line of comment.
    hosts: pattern of names, with {} for the number; `first` is that of the first host.
    """
    lines = [f"# {line}" for line in said.splitlines()]
    names = {processor.host: processor.drawn for processor in drawn.processors}
    if drawn.removed:
        lines.append(f"# Slowest hosts, removed: {', '.join(map(str, drawn.removed))}")
        moved = [f"{hosts.format(host + first)} was {old}" for host, old in names.items() if host != old]
        lines += [f"# Drawn with other numbers: {', '.join(moved)}"] if moved else []
    lines.append(",".join(("host", "socket", *drawn.terms)))
    mean = drawn.values().mean(axis=0)
    lines.append(",".join(("", "", *(repr(float(value)) for value in mean))))
    lines += [
        ",".join(
            (
                hosts.format(processor.host + first),
                str(processor.socket),
                *(repr(float(value)) for value in processor.coefficients),
            )
        )
        for processor in drawn.processors
    ]
    return "\n".join(lines) + "\n"
