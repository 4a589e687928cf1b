"""Algorithms that collectives used, summed up over neighbouring sizes."""

from __future__ import annotations

from dataclasses import dataclass

from hopcast.report import units


@dataclass
class Line:
    """Collectives of one kind and number of ranks that used one algorithm."""

    collective: str
    algorithm: str
    members: int
    least_B: int
    most_B: int
    count: int

    @property
    def sizes(self) -> str:
        """Range of sizes in words."""
        least, most = units.size(self.least_B), units.size(self.most_B)
        return least if least == most else f"{least} to {most}"


def algorithms(uses: list[dict]) -> list[Line]:
    """Lines for the entries of `collectives`, by collective, members and size.

    Neighbouring sizes that used the same algorithm are one line.
    """
    lines: list[Line] = []
    fields = ("collective", "algorithm", "members", "least_bytes", "most_bytes", "count")
    order = ("collective", "members", "least_bytes", "algorithm")
    for use in sorted(uses, key=lambda use: tuple(use[name] for name in order)):
        line = Line(*(use[name] for name in fields))
        last = lines[-1] if lines else None
        if last and (last.collective, last.algorithm, last.members) == (
            line.collective,
            line.algorithm,
            line.members,
        ):
            last.most_B, last.count = max(last.most_B, line.most_B), last.count + line.count
        else:
            lines.append(line)
    return lines
