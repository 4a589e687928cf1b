"""Load of the network by place: for each class of link its busiest period, router by router."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.classes import HOST_CLASSES
from hopcast.report.pictures.picture import Picture, column
from hopcast.report.store import Result
from hopcast.report.svg import Canvas, heat

if TYPE_CHECKING:
    import numpy

PLACE = 110
"""Place on the page among all pictures: the least is the first."""

_PANELS = 12
_WIDTH = 500
_HEIGHT = 240
_COORDINATES = re.compile(r"\((\d+(?:,\d+)*)\)")
_IN_GROUP = re.compile(r"group (\d+) router (\d+)")


@dataclass(frozen=True)
class Panel:
    """One class of link in one period."""

    name: str
    begin_s: float
    rates: dict[str, float]
    """Mean throughput of the links that leave a router, by its name [B/s]."""


def draw(result: Result) -> Picture | None:
    """A map of the routers for each class; on grids in their places, else in their order."""
    panels = _panels(result)
    if not panels:
        return None
    grid = Layout.grid(list(dict.fromkeys(name for panel in panels for name in panel.rates)))
    layouts = [grid or Layout.in_order(list(panel.rates)) for panel in panels]
    most = max(max(panel.rates.values()) for panel in panels) or 1.0
    wide, high = (max(getattr(layout, side) for layout in layouts) for side in ("width", "height"))
    scale = min(_WIDTH / wide, _HEIGHT / high, 14.0)
    width, height = wide * scale, high * scale
    columns = max(1, min(2, int(1080 // (width + 40))))
    down = math.ceil(len(panels) / columns)
    canvas = Canvas(1080, round(down * (height + 44)), "Load of routers in the busiest period of each class")
    for number, (panel, layout) in enumerate(zip(panels, layouts, strict=True)):
        x, y = number % columns * 560.0, number // columns * (height + 44) + 24
        when = units.seconds(panel.begin_s, 3)
        peak = units.rate(max(panel.rates.values()), "B/s")
        canvas.text(x, y - 8, f"{panel.name}, at {when}; at most {peak}", class_="tick")
        across, down = layout.width * scale, layout.height * scale
        heat(canvas, layout.cells(panel.rates) / most, x, y, across, down)
        canvas.add("rect", x=x, y=y, width=across, height=down, class_="frame")
    finding = "Throughput of the links that leave each router, in the busiest period of their class."
    return Picture("Load of routers", f"{finding} {layouts[0].words}", canvas.svg())


def _panels(result: Result) -> list[Panel]:
    """The busiest period of each class, the classes in the order of their names' first link."""
    import numpy

    table, links = result.tables.get("link_periods"), result.tables.get("links")
    if table is None or not table.num_rows or links is None:
        return _all_links(result)
    start = dict(zip(links["link"].to_pylist(), links["from"].to_pylist(), strict=True))
    classes = table["class"].to_numpy(zero_copy_only=False)
    begins, sent, link = (column(table, name) for name in ("begin_s", "bytes", "link"))
    lengths = column(table, "end_s") - begins
    of_link = dict(zip(link.tolist(), classes, strict=True))
    names = list(dict.fromkeys(of_link[number] for number in sorted(of_link)))
    panels = []
    for name in [name for name in names if name not in HOST_CLASSES][:_PANELS]:
        mine = classes == name
        periods, place = numpy.unique(begins[mine], return_inverse=True)
        busiest = periods[numpy.bincount(place, weights=sent[mine]).argmax()]
        mine &= begins == busiest
        total: dict[str, float] = {}
        parallel: dict[str, set[int]] = {}
        for number, size in zip(link[mine].tolist(), sent[mine].tolist(), strict=True):
            router = start.get(number)
            if router is not None:
                total[router] = total.get(router, 0.0) + size
                parallel.setdefault(router, set()).add(number)
        length = float(lengths[mine].max())
        rates = {router: size / len(parallel[router]) / length for router, size in total.items()}
        if rates:
            panels.append(Panel(name, float(busiest), rates))
    return panels


def _all_links(result: Result) -> list[Panel]:
    """Busiest period of all links that leave a router, for results that keep no single links."""
    import numpy

    table = result.tables.get("router_periods")
    if table is None or not table.num_rows:
        return []
    begins = column(table, "begin_s")
    periods, place = numpy.unique(begins, return_inverse=True)
    busiest = periods[numpy.bincount(place, weights=column(table, "bytes")).argmax()]
    mine = numpy.flatnonzero(begins == busiest)
    rates = column(table, "throughput_Bps")[mine].tolist()
    names = table["name"].take(mine).to_pylist()
    return [Panel("all links", float(busiest), dict(zip(names, rates, strict=True)))] if any(rates) else []


@dataclass(frozen=True)
class Layout:
    """Places of routers on a map, in cells."""

    places: dict[str, tuple[int, int]]
    """Column and row, by name."""
    width: int
    height: int
    words: str
    """Explanation of how to read the map."""

    @classmethod
    def grid(cls, names: list[str]) -> Layout | None:
        """By coordinates, where all have some: x to the right, y down, a block for each of the others.

        Groups of routers are lines.
        """
        in_groups = [match for match in map(_IN_GROUP.fullmatch, names) if match]
        if len(in_groups) == len(names):
            numbers = [(int(match[2]), int(match[1])) for match in in_groups]
            wide, high = (max(values) + 1 for values in zip(*numbers, strict=True))
            return cls(dict(zip(names, numbers, strict=True)), wide, high, "A line is a group.")
        found = [match for match in map(_COORDINATES.fullmatch, names) if match]
        if len(found) < len(names):
            return None
        all_coordinates = [tuple(map(int, match[1].split(","))) for match in found]
        sizes = [max(values) + 1 for values in zip(*all_coordinates, strict=True)]
        wide, high = sizes[0], sizes[1] if len(sizes) > 1 else 1
        places = {}
        for name, coordinates in zip(names, all_coordinates, strict=True):
            block = 0
            for place, size in zip(coordinates[:1:-1], sizes[:1:-1], strict=True):
                block = block * size + place
            row = coordinates[1] if len(coordinates) > 1 else 0
            places[name] = (coordinates[0] + block * (wide + 1), row)
        blocks = math.prod(sizes[2:])
        words = "x runs to the right" + (", y down" if len(sizes) > 1 else "")
        words += "; one block for each z." if len(sizes) == 3 else "."
        if len(sizes) > 3:
            words = words[:-1] + "; one block for each of the other coordinates."
        return cls(places, blocks * (wide + 1) - 1, high, words)

    @classmethod
    def in_order(cls, names: list[str]) -> Layout:
        """Line by line."""
        wide = max(1, math.ceil(math.sqrt(6 * len(names))))
        places = {name: (number % wide, number // wide) for number, name in enumerate(names)}
        words = "Routers are in the order of their numbers, line by line."
        return cls(places, min(wide, len(names)), math.ceil(len(names) / wide), words)

    def cells(self, values: dict[str, float]) -> numpy.ndarray:
        """A matrix with the values of routers in their places."""
        import numpy

        cells = numpy.zeros((self.height, self.width))
        for name, value in values.items():
            across, down = self.places[name]
            cells[down, across] = value
        return cells
