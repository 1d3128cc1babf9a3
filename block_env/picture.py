"""A view as a picture: one list of plain shapes, behind SVG, pixels and the window alike.

The viewer (nobody: seat 0) sits below the table, the others clockwise around it. The frame is the same for all pictures
of the same rules, so that they make a video.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, cos, radians, sin
from unicodedata import east_asian_width

from block_env.line import FreeEnd, Placed
from block_env.tiles import Tile, tiles
from block_env.variants import PRESETS, Rules
from block_env.view import Seat, View

_INK, _MUTED, _PAPER, _PANEL, _PANEL_EDGE = "#26303a", "#5b6670", "#f5f2ea", "#fffdf8", "#cfc9ba"
_TABLE, _TABLE_EDGE = "#d9e5da", "#a9bbab"
_IVORY, _EDGE, _BAR = "#fdf8e9", "#7d7461", "#a99f87"
_BACK, _BACK_EDGE, _BACK_LIGHT = "#56708a", "#33475b", "#8ea3b8"
_ACCENT, _MARK = "#d4570b", "#1d4f7c"  # what has just been done, and who is to play; the free ends


# Shapes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rect:
    """A rectangle from its upper left corner, with round corners; ``line`` is the width of its outline."""

    x: float
    y: float
    width: float
    height: float
    radius: float = 0
    fill: str = "none"
    stroke: str = "none"
    line: float = 0


@dataclass(frozen=True)
class Circle:
    """A disc about its centre."""

    x: float
    y: float
    radius: float
    fill: str


@dataclass(frozen=True)
class Polygon:
    """A filled area between corners (x, y)."""

    corners: tuple[tuple[float, float], ...]
    fill: str


@dataclass(frozen=True)
class Text:
    """A line of text; ``y`` is its base line, ``anchor`` what of it ``x`` is: ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    words: str
    size: float
    anchor: str = "start"
    fill: str = _INK
    bold: bool = False


@dataclass(frozen=True)
class Stamp:
    """A symbol (:func:`symbols`) about (x, y), turned clockwise by ``angle`` degrees, with tiles 2 ``scale`` long."""

    symbol: str
    x: float
    y: float
    angle: int
    scale: float


Plain = Rect | Circle | Polygon
Shape = Plain | Text | Stamp


@dataclass(frozen=True)
class Picture:
    """Shapes in the order in which they are painted, within (0, 0) and (width, height), and a title in words."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


# Tiles ----------------------------------------------------------------------------------------------------------------

_PIP_AT, _PIP_RADIUS = 0.27, 0.098  # from the middle of a half, in halves of a tile

# (along the tile, across it): sixes lie along the tile, as on real dominoes.
_CORNERS = ((-1, -1), (1, 1), (-1, 1), (1, -1))
_RAILS = (*_CORNERS, (0, -1), (0, 1))
_PIPS: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((0, 0),),
    _CORNERS[:2],
    (*_CORNERS[:2], (0, 0)),
    _CORNERS,
    (*_CORNERS, (0, 0)),
    _RAILS,
    (*_RAILS, (0, 0)),
    (*_RAILS, (-1, 0), (1, 0)),
    (*_RAILS, (-1, 0), (0, 0), (1, 0)),
)


def symbols(max_pip: int) -> dict[str, list[Plain]]:
    """The shapes of each tile of the set by name: ``t35`` for [3|5], and ``back`` for one face down.

    Each lies about (0, 0), its low half to the left, 2 wide and 1 high.
    """
    return {**{_name(tile): _face_up(tile) for tile in tiles(max_pip)}, "back": _face_down()}


def _name(tile: Tile) -> str:
    return f"t{tile[0]}{tile[1]}"


def _face_up(tile: Tile) -> list[Plain]:
    face = Rect(-0.98, -0.48, 1.96, 0.96, 0.13, _IVORY, _EDGE, 0.04)
    bar = Rect(-0.015, -0.36, 0.03, 0.72, 0.015, _BAR)
    return [face, bar, *_half(tile[0], -0.5), *_half(tile[1], 0.5)]


def _half(pip: int, middle: float) -> list[Plain]:
    return [Circle(middle + x * _PIP_AT, y * _PIP_AT, _PIP_RADIUS, _INK) for x, y in _PIPS[pip]]


def _face_down() -> list[Plain]:
    face = Rect(-0.98, -0.48, 1.96, 0.96, 0.13, _BACK, _BACK_EDGE, 0.04)
    return [face, Rect(-0.84, -0.34, 1.68, 0.68, 0.07, "none", _BACK_LIGHT, 0.035)]


# The frame ------------------------------------------------------------------------------------------------------------

_WIDEST, _NARROWEST = 1120, 880
_MARGIN, _HEAD, _STRIP, _SIDE = 16, 64, 92, 168  # heights of the heading and of a seat's strip; width of a side panel
_TALLEST, _LARGEST = 600, 30  # of the table, and of the half of a tile on it
_PLACES = {2: ("below", "above"), 3: ("below", "left", "right"), 4: ("below", "left", "above", "right")}


@dataclass(frozen=True)
class Box:
    """A part of the picture, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Frame:
    """Size of a picture (even numbers, as video needs them), and where on it the table and the seats are.

    ``seats`` begins with the viewer's; ``scale`` is the half of a tile on the table.
    """

    width: int
    height: int
    table: Box
    seats: tuple[Box, ...]
    scale: float


def frame(rules: Rules, table: tuple[float, float]) -> Frame:
    """The frame of all pictures of these rules, whose table has that size in halves of a tile."""
    places = _PLACES[rules.num_players]
    beside = _MARGIN + (_SIDE + _MARGIN if "left" in places else 0)
    top = _HEAD + (_STRIP + _MARGIN if "above" in places else 0)
    scale = min((_WIDEST - 2 * beside) / table[0], _TALLEST / table[1], _LARGEST)
    width = max(_NARROWEST, 2 * ceil(scale * table[0] / 2) + 2 * beside)
    middle = Box(beside, top, width - 2 * beside, 2 * ceil(scale * table[1] / 2))
    below = top + middle.height + _MARGIN
    boxes = {
        "below": Box(_MARGIN, below, width - 2 * _MARGIN, _STRIP),
        "above": Box(_MARGIN, _HEAD, width - 2 * _MARGIN, _STRIP),
        "left": Box(_MARGIN, top, _SIDE, middle.height),
        "right": Box(width - _MARGIN - _SIDE, top, _SIDE, middle.height),
    }
    return Frame(width, int(below) + _STRIP + _MARGIN, middle, tuple(boxes[place] for place in places), scale)


def draw(view: View) -> Picture:
    """The picture of a view."""
    parts = frame(view.rules, view.table)
    shapes: list[Shape] = [Rect(0, 0, parts.width, parts.height, 0, _PAPER)]
    shapes += [*_heading(view, parts.width - _MARGIN), *_table(view, parts.table, parts.scale)]
    for place, box in enumerate(parts.seats):
        shapes += _seat(view, ((view.viewer or 0) + place) % len(view.seats), box)
    title = f"{_title(view)}: {_now(view)}"
    return Picture(parts.width, parts.height, title, tuple(shapes))


# The heading ----------------------------------------------------------------------------------------------------------


def rules_title(rules: Rules) -> str:
    """What is played, in words."""
    return rules.name.replace("_", " ") if rules.name in PRESETS else "Block"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number and what is counted: ``1 tile``, ``2 tiles``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def _title(view: View) -> str:
    name = rules_title(view.rules)
    return f"{name[0].upper()}{name[1:]}, round {view.round_number + 1}"


def _heading(view: View, right: float) -> Iterator[Shape]:
    rules = view.rules
    yield Text(_MARGIN, 29, _title(view), 20, bold=True)
    yield Text(right, 29, _now(view), 20, "end", bold=True)
    yield Text(_MARGIN, 51, _last_round(view) or f"{rules.num_players} players", 14, fill=_MUTED)
    stock = f"{count(view.stock, 'tile')} {'to draw' if rules.draw else 'out of play'}"
    yield Text(right, 51, stock, 14, "end", _MUTED)


def _now(view: View) -> str:
    if view.over:
        return f"game over, {_winner(view, view.winner)}"
    return f"{_short(next(seat.name for seat in view.seats if seat.to_play))} to play"


def _last_round(view: View) -> str:
    ended = view.last_round
    if ended is None:
        return ""
    number = view.round_number + view.over
    return f"Round {number}: {ended.reason}, {_winner(view, ended.winner)}, {count(ended.points, 'point')}"


def _winner(view: View, side: int | None) -> str:
    names = [_short(seat.name) for seat in view.seats if seat.side == side]
    return f"{' and '.join(names)} {'win' if len(names) > 1 else 'wins'}" if names else "nobody wins"


_LONGEST_NAME = 8.0  # in ems


def _short(name: str) -> str:
    """A name that fits, without what cannot be drawn."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in name)
    widths = list(accumulate(map(_em, plain)))
    if not widths or widths[-1] <= _LONGEST_NAME:
        return plain
    return plain[: sum(width <= _LONGEST_NAME - 1 for width in widths)] + "…"


def _em(letter: str) -> float:
    """How wide a letter is at most, by its height, in the usual bold fonts."""
    if letter in "mwMW@%—…" or east_asian_width(letter) in "WF":
        return 1.0
    return 0.8 if letter.isupper() else 0.63


# The table ------------------------------------------------------------------------------------------------------------


def _table(view: View, box: Box, scale: float) -> Iterator[Shape]:
    x, y = box.x + box.width / 2, box.y + box.height / 2
    yield Rect(box.x, box.y, box.width, box.height, 14, _TABLE, _TABLE_EDGE, 1.5)
    if not view.line:
        yield Text(x, y + 6, "no tile laid yet", 18, "middle", _MUTED)
    for one in view.line:
        yield Stamp(_name(one.tile), x + scale * one.x, y + scale * one.y, one.angle, scale)
    for one in view.line[-1:]:
        yield _outline(one, x, y, scale)
    for end in view.ends:
        yield from _free_end(end, x, y, scale)


def _outline(one: Placed, x: float, y: float, scale: float) -> Rect:
    """About the tile laid last."""
    width, height = (2, 1) if one.angle % 180 == 0 else (1, 2)
    left, top = one.x - width / 2, one.y - height / 2
    line = 0.09 * scale
    return Rect(x + scale * left, y + scale * top, width * scale, height * scale, 0.15 * scale, "none", _ACCENT, line)


def _free_end(end: FreeEnd, x: float, y: float, scale: float) -> Iterator[Shape]:
    """A badge that points to where the next tile will lie."""
    ahead, aside = cos(radians(end.angle)), sin(radians(end.angle))

    def at(along: float, across: float) -> tuple[float, float]:
        along_x, along_y = along * ahead - across * aside, along * aside + across * ahead
        return x + scale * (end.x + along_x), y + scale * (end.y + along_y)

    middle_x, middle_y = at(0.62, 0)
    yield Polygon((at(0.68, -0.4), at(1.24, 0), at(0.68, 0.4)), _MARK)
    yield Circle(middle_x, middle_y, 0.42 * scale, _MARK)
    yield Text(middle_x, middle_y + 0.2 * scale, str(end.pip), 0.56 * scale, "middle", "#ffffff", True)


# Seats ----------------------------------------------------------------------------------------------------------------


def _seat(view: View, index: int, box: Box) -> Iterator[Shape]:
    seat, is_strip = view.seats[index], box.height == _STRIP
    edge, line = (_ACCENT, 3) if seat.to_play else (_PANEL_EDGE, 1.5)
    yield Rect(box.x, box.y, box.width, box.height, 12, _PANEL, edge, line)
    yield from _label(view, seat, box)
    across, down = (196, 10) if is_strip else (14, 92)
    yield from _bubble(view, index, box.x + across, box.y + down)
    across, down = (262, 8) if is_strip else (10, 124)
    yield from _hand(seat, Box(box.x + across, box.y + down, box.width - across - 10, box.height - down - 8))


def _label(view: View, seat: Seat, box: Box) -> Iterator[Shape]:
    x, y = box.x + 14, box.y
    name_x = x
    if seat.to_play:
        yield Polygon(((x, y + 14), (x + 11, y + 20.5), (x, y + 27)), _ACCENT)
        name_x += 17
    yield Text(name_x, y + 26, _short(seat.name), 16, bold=True)
    for row, words in enumerate(_facts(view, seat)):
        yield Text(x, y + 46 + 17 * row, words, 13, fill=_MUTED)


def _facts(view: View, seat: Seat) -> list[str]:
    held = count(seat.tiles_left, "tile")
    if seat.opener:
        held += ", opened" if view.line else ", opens"
    return [count(view.scores[seat.side], "point"), held] + (
        [count(seat.passes, "pass", "passes")] if seat.passes else []
    )


def _bubble(view: View, index: int, x: float, y: float) -> Iterator[Shape]:
    """A word for a seat that has passed in its last turn, or won the game."""
    last = next((ply for ply in reversed(view.history) if ply.seat == index), None)
    passed = last is not None and last.passed and not view.over
    wins = view.over and view.winner == view.seats[index].side
    if passed or wins:
        yield Rect(x, y, 56, 24, 12, _ACCENT)
        yield Text(x + 28, y + 16.5, "wins" if wins else "pass", 14, "middle", "#ffffff", True)


def _hand(seat: Seat, box: Box) -> Iterator[Shape]:
    """Upright tiles in rows."""
    names: Sequence[str] = ["back"] * seat.tiles_left if seat.hand is None else [_name(tile) for tile in seat.hand]
    scale, columns = _fit(max(len(names), 1), box)
    rows = ceil(len(names) / columns)
    for index, name in enumerate(names):
        row, column = divmod(index, columns)
        in_row = min(columns, len(names) - row * columns)
        x = box.x + box.width / 2 + (column - (in_row - 1) / 2) * _ACROSS * scale
        y = box.y + box.height / 2 + (row - (rows - 1) / 2) * _DOWN * scale
        yield Stamp(name, x, y, 90, scale)


_ACROSS, _DOWN = 1.14, 2.14  # from tile to tile in a hand


def _fit(number: int, box: Box) -> tuple[float, int]:
    """The largest half of a tile with which so many fit into the box, and how many then stand in a row."""

    def scale(columns: int) -> float:
        return min(box.width / (columns * _ACROSS), box.height / (-(-number // columns) * _DOWN), 32)

    return max((scale(columns), columns) for columns in range(1, number + 1))
