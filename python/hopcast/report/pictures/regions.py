"""Heat maps of time and place: a row of panels for each class of link, one for each of two quantities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopcast.report import units
from hopcast.report.pictures.periods import Periods
from hopcast.report.pictures.picture import column
from hopcast.report.store import Result
from hopcast.report.svg import Axis, Canvas, heat, horizontal_axis, time_labels

if TYPE_CHECKING:
    import numpy

_COLUMNS = 240
_MOST_POSITIONS = 2**32
_CLASSES = 16
_GUTTER = 128
_GAP = 26
_WIDTH = (1080 - _GUTTER - _GAP) / 2


@dataclass(frozen=True)
class Place:
    """Neighbouring positions of a class of links."""

    class_: str
    along: str
    first: int
    last: int

    def __str__(self) -> str:
        """Such as "x 3", "router 0–31"."""
        return f"{self.along} {self.first}" + (f"–{self.last}" if self.last > self.first else "")


@dataclass(frozen=True)
class Quantity:
    """Quantity that one column of panels shows."""

    name: str
    meaning: str
    words: Callable[[float], str]
    values: numpy.ndarray
    """By place and time."""
    least: float = 0.0
    """Least value that the strongest colour stands for, so that next to nothing looks like it."""


class Regions:
    """The places of a run that carry anything, at most 16 classes of them: those that carry most."""

    def __init__(self, result: Result) -> None:
        """Reads a result that has the table `region_periods`, with rows in it."""
        import numpy

        table, short = result.tables["region_periods"], result.summary["statistics"]
        # Hosts' links, the first two classes, come last.
        order = {name: (number - 2) % len(short["classes"]) for number, name in enumerate(short["classes"])}
        classes = table["class"].combine_chunks().dictionary_encode()
        rank = numpy.array([order[name] for name in classes.dictionary.to_pylist()])
        in_order = rank[classes.indices.to_numpy()] * _MOST_POSITIONS + column(table, "first")
        _, samples, keys = numpy.unique(in_order, return_index=True, return_inverse=True)
        named = table.select(("class", "along", "first", "last")).take(samples).to_pydict()
        self.places = [Place(*row) for row in zip(*named.values(), strict=True)]
        self.periods = Periods(table, short["region_period_s"], keys, _COLUMNS)
        carried: dict[str, float] = {}
        for place, size in zip(self.places, self.periods.total("bytes").tolist(), strict=True):
            carried[place.class_] = carried.get(place.class_, 0.0) + size
        most = sorted(carried, key=lambda name: -carried[name])[:_CLASSES]
        self.classes = [name for name in carried if name in most]

    @classmethod
    def of(cls, result: Result) -> Regions | None:
        """Data of a result, if it has statistics over time that are not empty."""
        table = result.tables.get("region_periods")
        return cls(result) if table is not None and table.num_rows else None

    def draw(self, label: str, quantities: tuple[Quantity, Quantity]) -> Canvas:
        """Rows of places, the first on top; columns of time. A quantity has one scale for all classes."""
        first, second = quantities
        anything = (first.values + second.values).any(axis=1)
        shown = [name for name in self.classes if anything[self._of(name)].any()]
        heights = [self._height(name) for name in shown]
        canvas = Canvas(1080, round(sum(height + 12 for height in heights)) + 74, label)
        most = [max(_strongest(quantity.values), quantity.least) for quantity in quantities]
        for number, quantity in enumerate(quantities):
            _scale(canvas, _GUTTER + number * (_WIDTH + _GAP), quantity, most[number])
        y = 44.0
        for name, height in zip(shown, heights, strict=True):
            self._label(canvas, name, y)
            for number, quantity in enumerate(quantities):
                x = _GUTTER + number * (_WIDTH + _GAP)
                heat(canvas, self._cells(name, quantity.values) / most[number], x, y, _WIDTH, height)
                canvas.add("rect", x=x, y=y, width=_WIDTH, height=height, class_="frame")
            y += height + 12
        for number in range(len(quantities)):
            start = _GUTTER + number * (_WIDTH + _GAP)
            axis = Axis(0, float(self.periods.edges[-1]), start, start + _WIDTH)
            horizontal_axis(canvas, axis, y - 8, y - 12, time_labels, about=4)
        return canvas

    def peak(self, quantity: Quantity) -> str:
        """Place and period in which a quantity is greatest."""
        place, period = divmod(int(quantity.values.argmax()), quantity.values.shape[1])
        where, when = self.places[place], units.seconds(float(self.periods.edges[period]), 3)
        most = quantity.words(float(quantity.values.max()))
        return f"{most} on {where.class_} at {where}, {when} into the run"

    def _of(self, name: str) -> list[int]:
        return [number for number, place in enumerate(self.places) if place.class_ == name]

    def _height(self, name: str) -> float:
        return min(96.0, max(30.0, 6.0 * (1 + max(self._rows(name)))))

    def _rows(self, name: str) -> list[int]:
        """In which row of its panel each place of a class is."""
        places = [self.places[number] for number in self._of(name)]
        block = max(1 + place.last - place.first for place in places)
        return [place.first // block for place in places]

    def _cells(self, name: str, values: numpy.ndarray) -> numpy.ndarray:
        """The values of a class, with empty rows for places that nothing passed."""
        import numpy

        rows = self._rows(name)
        cells = numpy.zeros((max(rows) + 1, values.shape[1]))
        cells[rows] = values[self._of(name)]
        return cells

    def _label(self, canvas: Canvas, name: str, y: float) -> None:
        places = [self.places[number] for number in self._of(name)]
        canvas.text(0, y + 12, name, class_="name")
        canvas.text(0, y + 27, f"{places[0].along} 0–{places[-1].last}", class_="tick")


def _strongest(values: numpy.ndarray) -> float:
    """Value of the strongest colour: few outliers must not pale all others."""
    import numpy

    return float(numpy.quantile(values[values > 0], 0.995)) if values.any() else 1.0


def _scale(canvas: Canvas, x: float, quantity: Quantity, most: float) -> None:
    import numpy

    canvas.text(x, 12, quantity.name, class_="name")
    canvas.text(x, 28, quantity.meaning, class_="tick")
    words, above = quantity.words(most), quantity.words(float(quantity.values.max()))
    words += "" if words == above else " or more"
    end = x + _WIDTH - 6.6 * len(words)
    canvas.text(x + _WIDTH, 12, words, anchor="end", class_="tick")
    heat(canvas, numpy.linspace(0.01, 1, 64)[None, :], end - 96, 3, 88, 10)
    canvas.text(end - 102, 12, "0", anchor="end", class_="tick")
