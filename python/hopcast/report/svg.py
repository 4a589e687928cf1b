"""Drawing by hand: an SVG canvas, two kinds of axis, and a picture of pixels for large matrices.

Colours are CSS variables of the page, so that one drawing is right on light and on dark paper.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from hopcast.report import units

if TYPE_CHECKING:
    import numpy


class Canvas:
    """Collects elements; `svg()` gives the drawing."""

    def __init__(self, width: int, height: int, label: str) -> None:
        self.width, self.height = width, height
        self._label = label
        self._elements: list[str] = []

    def add(self, tag: str, content: str = "", title: str = "", **attributes: Any) -> None:
        """One element; underscores of attribute names become hyphens; `title` shows on hovering."""
        written = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
            for name, value in attributes.items()
        )
        inner = (f"<title>{escape(title)}</title>" if title else "") + escape(content)
        self._elements.append(f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>")

    def text(self, x: float, y: float, content: str, anchor: str = "start", **attributes: Any) -> None:
        """A line of text with its baseline at (x, y)."""
        self.add("text", content, x=x, y=y, text_anchor=anchor, **attributes)

    def bar(
        self, x: float, y: float, width: float, height: float, colour: str, title: str = "", **more
    ) -> None:
        """A rectangle in one of the page's colours; nothing where it would be invisible."""
        if width > 0 and height > 0:
            self.add(
                "rect", title=title, x=x, y=y, width=width, height=height, fill=f"var(--{colour})", **more
            )

    def line(self, x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)

    def svg(self) -> str:
        """The drawing, as wide as its place allows."""
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self._label)}">'
            + "".join(self._elements)
            + "</svg>"
        )


def _attribute(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))


@dataclass(frozen=True)
class Axis:
    """Maps `low..high` onto pixels `start..end`, in equal steps or in equal ratios."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Position of `value`; values outside are held at the ends."""
        if self.logarithmic:
            span = math.log(self.high / self.low) or 1.0
            share = math.log(max(value, self.low) / self.low) / span
        else:
            share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self, about: int = 5) -> list[float]:
        """Round values within the axis, about so many of them."""
        if self.logarithmic:
            return _decades(self.low, self.high, about)
        step = _round_step((self.high - self.low) / max(1, about))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def _round_step(step: float) -> float:
    """The next of 1, 2, 5 × 10^k that is not below `step`."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * mantissa for mantissa in (1, 2, 5, 10) if power * mantissa >= step * (1 - 1e-9))


def _decades(low: float, high: float, about: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / max(1, about)))
    if last - first >= 1:
        return [10.0**power for power in range(first, last + 1, stride)]
    steps = (m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5))
    return [value for value in steps if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def time_labels(ticks: Sequence[float]) -> list[str]:
    """Ticks of one linear time axis, all in one unit; each one of a logarithmic axis in its own."""
    scale, unit = units.time_unit(max(ticks, default=0.0))
    return [f"{tick / scale:g} {unit}" if tick else "0" for tick in ticks]


def horizontal_axis(
    canvas: Canvas,
    axis: Axis,
    y: float,
    top: float,
    labels: Callable[[Sequence[float]], list[str]],
    about: int = 6,
) -> None:
    """Grid lines from `top` to `y` and labels below."""
    ticks = axis.ticks(about)
    for tick, label in zip(ticks, labels(ticks), strict=True):
        canvas.line(axis(tick), top, axis(tick), y)
        at_edge = axis(tick) > canvas.width - 24
        canvas.text(axis(tick), y + 16, label, anchor="end" if at_edge else "middle", class_="tick")


def vertical_axis(
    canvas: Canvas,
    axis: Axis,
    x: float,
    right: float,
    labels: Callable[[Sequence[float]], list[str]],
    about: int = 5,
) -> None:
    """Grid lines from `x` to `right` and labels to the left."""
    ticks = axis.ticks(about)
    for tick, label in zip(ticks, labels(ticks), strict=True):
        canvas.line(x, axis(tick), right, axis(tick))
        canvas.text(x - 8, axis(tick) + 4, label, anchor="end", class_="tick")


def steps(across: Axis, up: Axis, spans: Sequence[tuple[float, float, float]]) -> str:
    """The path of values that hold for a span of time each: (begin, end, value), ascending."""
    path, last = [], None
    for begin, end, value in spans:
        x, y = f"{across(begin):.1f}", f"{up(value):.1f}"
        path.append(f"V{y}" if begin == last else f"M{x} {y}")
        path.append(f"H{across(end):.1f}")
        last = end
    return "".join(path)


def heat(canvas: Canvas, shares: numpy.ndarray, x: float, y: float, width: float, height: float) -> None:
    """A matrix of shares 0..1 as one image; 0 is bare paper, so that it reads on light and dark."""
    import numpy

    stops = numpy.array([0.0, 0.45, 0.8, 1.0])
    colours = numpy.array([(76, 120, 200, 40), (70, 96, 210, 190), (214, 72, 140, 235), (255, 138, 40, 255)])
    scale = numpy.linspace(0, 1, 255)
    palette = numpy.stack([numpy.interp(scale, stops, colours[:, channel]) for channel in range(4)], axis=-1)
    palette = numpy.vstack([numpy.zeros(4), palette]).astype(numpy.uint8)
    pixels = numpy.where(shares > 0, 1 + numpy.clip(numpy.rint(shares * 254), 0, 254), 0).astype(numpy.uint8)
    data = base64.b64encode(_png(pixels, palette)).decode()
    canvas.add(
        "image",
        x=x,
        y=y,
        width=width,
        height=height,
        preserveAspectRatio="none",
        image_rendering="pixelated",
        href=f"data:image/png;base64,{data}",
    )


def _png(pixels: numpy.ndarray, palette: numpy.ndarray) -> bytes:
    """Numbers (rows, columns) of colours (red, green, blue, opacity) as a PNG file (ISO/IEC 15948)."""
    rows, columns = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"PLTE", palette[:, :3].tobytes())
        + chunk(b"tRNS", palette[:, 3].tobytes())
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )
