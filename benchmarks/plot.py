"""Lines over two logarithmic axes as SVG, each named at its end; on a light card, so that it reads on any page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle

Line = Sequence[tuple[float, float]]
"""Points (x, y), both above 0, by rising x."""

WIDTH, HEIGHT = 820, 500
LEFT, RIGHT, TOP, BOTTOM = 84, 620, 64, 430
"""The field between the axes; to the right of it stand the names."""
NAME_X, NAME_SIZE, NAME_GAP = RIGHT + 30, 13, 19
INK, MUTED, GRID, CARD = "#1f2328", "#59636e", "#d9dee3", "#ffffff"
PALETTE = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
"""Okabe and Ito's, which those who are colour-blind can tell apart."""
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


@dataclass(frozen=True)
class Axis:
    """What is on it, and its two ends, in numbers and on the page."""

    title: str
    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where a value lies on the page."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def draw(lines: Mapping[str, Line], title: str, x_title: str, y_title: str) -> str:
    """A whole SVG file; x is marked where there are points, y at each power of ten.

    Raises:
        ValueError: there is no line, or one without points.
    """
    if not lines or not all(lines.values()):
        raise ValueError(f"lines: takes lines with points, got {dict(lines)!r}")
    marks = sorted({x for line in lines.values() for x, _ in line})
    values = [y for line in lines.values() for _, y in line]
    tens = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    x = Axis(x_title, marks[0], max(marks[-1], 2 * marks[0]), LEFT, RIGHT)
    y = Axis(y_title, 10.0 ** tens[0], 10.0 ** max(tens[-1], tens[0] + 1), BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" font-family="{FONT}" font-size="12" fill="{MUTED}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{CARD}"/>',
        f'<text x="24" y="34" font-size="16" font-weight="bold" fill="{INK}">{escape(title)}</text>',
        *_x_axis(x, marks),
        *_y_axis(y),
        *_lines(lines, x, y),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def short(number: float) -> str:
    """``25 M``, ``300,000``, ``0.35``: three digits that count, thousands whole."""
    if abs(number) >= 1e6:
        return f"{number / 1e6:,.3g} M" if abs(number) < 1e9 else f"{number / 1e6:,.0f} M"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Rising places moved as little as can be, so that neighbours are ``gap`` apart and all lie from low to high."""
    pools: list[list[float]] = []  # neighbours that touch, each less what those before it take
    for k, place in enumerate(wanted):
        pools.append([place - k * gap])
        while len(pools) > 1 and _mean(pools[-2]) >= _mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    free = [_mean(pool) for pool in pools for _ in pool]
    most = high - (len(free) - 1) * gap
    return [min(max(place, low), most) + k * gap for k, place in enumerate(free)]


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _x_axis(axis: Axis, marks: list[float]) -> Iterator[str]:
    for mark in marks:
        x = axis.place(mark)
        yield f'<path d="M{x:.1f} {BOTTOM}v5" stroke="{MUTED}"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{mark:,.0f}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle}" y="{BOTTOM + 46}" font-size="13" text-anchor="middle">{escape(axis.title)}</text>'


def _y_axis(axis: Axis) -> Iterator[str]:
    value = axis.low
    while value <= axis.high * 1.01:
        y = axis.place(value)
        yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(value)}</text>'
        value *= 10
    yield f'<text x="24" y="{TOP - 12}" font-size="13">{escape(axis.title)}</text>'


def _lines(lines: Mapping[str, Line], x: Axis, y: Axis) -> Iterator[str]:
    """The lines, and their names in the order in which they end."""
    colours = dict(zip(lines, cycle(PALETTE), strict=False))
    ends = sorted((y.place(line[-1][1]), name) for name, line in lines.items())
    places = apart([end for end, _ in ends], NAME_GAP, TOP, BOTTOM)
    for name, line in lines.items():
        points = " ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in line)
        yield f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="2"/>'
    for (end, name), place in zip(ends, places, strict=True):
        start = x.place(lines[name][-1][0])
        yield f'<circle cx="{start:.1f}" cy="{end:.1f}" r="3.5" fill="{colours[name]}"/>'
        yield f'<path d="M{start:.1f} {end:.1f}L{NAME_X - 6} {place:.1f}" stroke="{colours[name]}" fill="none"/>'
        yield (
            f'<text class="name" x="{NAME_X}" y="{place + 4.5:.1f}" font-size="{NAME_SIZE}" fill="{INK}">'
            f"{escape(name)}</text>"
        )
