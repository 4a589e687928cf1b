"""Pictures of a study: a response at the levels of each factor, with its spread."""

from __future__ import annotations

from dataclasses import replace

from hopcast.report import units
from hopcast.report.pictures.picture import Picture
from hopcast.report.svg import Axis, Canvas, horizontal_axis, time_labels, vertical_axis
from hopcast.study.effects import Effect, Interaction, Level

WIDTH, HEIGHT = 540, 300
LEFT, RIGHT, TOP, BOTTOM = 84, 528, 14, 258
_LOGARITHMIC_FROM = 20.0
"""Ratio of the ends from which an axis is logarithmic."""
_LABELS_MOST = 12


def of_effect(effect: Effect, response: str) -> Picture:
    """Means and ranges of a response at the levels of a factor."""
    canvas = Canvas(WIDTH, HEIGHT, f"{response} by {effect.factor}")
    up = _up(canvas, effect, response)
    across = _across(canvas, effect)
    points = [(across[number], up(level.mean)) for number, level in enumerate(effect.levels)]
    for (x, _), level in zip(points, effect.levels, strict=True):
        canvas.bar(
            x - 2,
            up(level.most),
            4.0,
            max(1.0, up(level.least) - up(level.most)),
            "accent",
            fill_opacity=0.25,
        )
        if level.interval is not None:
            low, high = (min(max(end, up.low), up.high) for end in level.interval)
            canvas.bar(x - 4, up(high), 8.0, max(1.0, up(low) - up(high)), "accent", fill_opacity=0.3)
    if effect.is_quantity:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        canvas.add("path", d=path, fill="none", stroke="var(--accent)", stroke_width=1.5)
    for (x, y), level in zip(points, effect.levels, strict=True):
        canvas.add("circle", title=_words(level, response), cx=x, cy=y, r=3.5, fill="var(--accent)")
    lowest, highest = (pick(effect.levels, key=lambda level: level.mean) for pick in (min, max))
    finding = (
        f"From {value_text(lowest.mean, response)} at {lowest.value} to "
        f"{value_text(highest.mean, response)} at {highest.value}: "
        f"{units.ratio(highest.mean, lowest.mean)}. Points are means over all cells of a level, thin "
        "bars reach from the least to the most, wide ones over the 90 % interval of the mean."
    )
    return Picture(f"{response} by {effect.factor}", finding, canvas.svg(), wide=False)


def of_interaction(found: Interaction, response: str) -> Picture:
    """Means of a response at the levels of one factor, a line for each level of another."""
    across_name, lines_name = found.factors
    title = f"{response} by {across_name} and {lines_name}"
    canvas = Canvas(WIDTH, HEIGHT, title)
    means = [mean for _, line in found.lines for mean in line if mean is not None]
    whole = Effect(
        across_name,
        tuple(replace(level, least=min(means), most=max(means), interval=None) for level in found.across),
    )
    up, places = _up(canvas, whole, response), _across(canvas, whole)
    hues = [f"hsl({(210 + 137 * number) % 360} 60% 50%)" for number in range(len(found.lines))]
    for hue, (name, line) in zip(hues, found.lines, strict=True):
        points = [(x, up(mean), mean) for x, mean in zip(places, line, strict=True) if mean is not None]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in points)
        canvas.add("path", d=path, fill="none", stroke=hue, stroke_width=1.5)
        for x, y, mean in points:
            said = f"{lines_name} = {name}: {value_text(mean, response)}"
            canvas.add("circle", title=said, cx=x, cy=y, r=3.5, fill=hue)
    for number, (hue, (name, _)) in enumerate(zip(hues, found.lines, strict=True)):
        words = f"● {lines_name} = {name}"
        canvas.text(LEFT + 8, TOP + 14 + 14 * number, words, class_="halo", style=f"fill: {hue}")
    words = (
        f"Means over all cells of two levels. Where {lines_name} acts alike at each {across_name} the lines "
        f"are parallel: what both factors alone leave is up to {units.percent(found.size)} of the mean."
    )
    return Picture(title, words, canvas.svg(), wide=False)


def value_text(value: float, response: str) -> str:
    """A value of a response as people read it."""
    return units.seconds(value) if response.endswith("_s") else units.digits(value)


def _words(level: Level, response: str) -> str:
    words = f"{level.value}: {value_text(level.mean, response)}"
    if level.cells == 1:
        return words
    span = f"{value_text(level.least, response)} to {value_text(level.most, response)}"
    return f"{words}, mean of {level.cells} cells, {span}"


def _up(canvas: Canvas, effect: Effect, response: str) -> Axis:
    low = min(level.least for level in effect.levels)
    high = max(level.most for level in effect.levels)
    is_logarithmic = low > 0 and high / low >= _LOGARITHMIC_FROM
    if is_logarithmic:
        axis = Axis(low / 1.1, high * 1.1, BOTTOM, TOP, True)
    else:
        axis = Axis(min(0.0, low), high * 1.05 if high > 0 else 1.0, BOTTOM, TOP)
    vertical_axis(canvas, axis, LEFT, RIGHT, _labels(response, is_logarithmic))
    return axis


def _labels(response: str, is_logarithmic: bool):
    if not response.endswith("_s"):
        return lambda ticks: [units.tick(tick) for tick in ticks]
    if is_logarithmic:
        return lambda ticks: [units.exact_seconds(tick) for tick in ticks]
    return time_labels


def _across(canvas: Canvas, effect: Effect) -> list[float]:
    """Positions of the levels: on an axis, or one beside the other."""
    numbers = [level.number for level in effect.levels]
    if not effect.is_quantity:
        step = (RIGHT - LEFT) / len(numbers)
        places = [LEFT + step * (number + 0.5) for number in range(len(numbers))]
        every = -(-len(numbers) // _LABELS_MOST)
        for number, level in enumerate(effect.levels):
            if number % every == 0:
                text = str(level.value)
                short = (
                    text if len(text) <= _letters(step * every) else f"{text[: _letters(step * every) - 1]}…"
                )
                canvas.text(places[number], BOTTOM + 18, short, "middle", class_="tick")
        return places
    known = [number for number in numbers if number is not None]
    low, high = min(known), max(known)
    is_logarithmic = low > 0 and high / low >= _LOGARITHMIC_FROM
    axis = Axis(low, high, LEFT + 12, RIGHT - 12, is_logarithmic)
    of_bytes = any(str(level.value).endswith("B") for level in effect.levels)
    label = units.size if of_bytes else units.tick
    horizontal_axis(canvas, axis, BOTTOM, TOP, lambda ticks: [label(tick) for tick in ticks], 5)
    return [axis(number) for number in known]


def _letters(width: float) -> int:
    """Letters that fit into a width."""
    return max(3, int(width / 6.5))
