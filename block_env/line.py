"""Where each tile of the line lies on the table: the one layout behind every picture and page.

Lengths are in halves of a tile: a tile is 2 long and 1 wide. The opening tile lies in the middle of the table, at
(0, 0); x grows to the right and y down. Each end of the line is an arm: the right one runs to the right and then winds
down the table row by row, the left one is the same turned by half a circle. A tile once laid never moves again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil

from block_env.actions import Move
from block_env.tiles import Tile
from block_env.variants import Rules

GAP = 0.1
"""Between two tiles that are joined."""

ASPECT = 1.8
"""About the width of a table by its height."""

# A row keeps room for a double and for the turn behind it, which may be a double across the column.
_TURN = GAP + 1.5
_RESERVE = GAP + 1 + _TURN
_PITCH = 3 + 2 * GAP  # from row to row, at most


@dataclass(frozen=True)
class Placed:
    """A tile where it lies.

    Attributes:
        tile: (low, high).
        x, y: its centre.
        angle: of the direction from its low to its high half, in degrees clockwise: 0 to the right, 90 down. Doubles
            lie crosswise to the line: one in a row has angle 90.
        ply: the turn of the round that laid it.
    """

    tile: Tile
    x: float
    y: float
    angle: int
    ply: int


@dataclass(frozen=True)
class FreeEnd:
    """An open end: ``"left"`` or ``"right"``, its pip, the middle of the free edge, and the angle that it points in.

    The next tile comes that way; at least 1.5 halves beyond the edge are free.
    """

    end: str
    pip: int
    x: float
    y: float
    angle: int


@dataclass(frozen=True)
class _Arm:
    """One end of the line, in the right arm's own directions: which pip, the middle of its free edge, where it heads.

    ``column`` counts the tiles since the last row ended: 0 in a row, 1 below the tile that turned.
    """

    pip: int
    x: float
    y: float
    angle: int = 0
    row: int = 1  # the direction of the row along x: 1 or -1
    column: int = 0


def table_size(rules: Rules) -> tuple[float, float]:
    """Width and height of a table that holds every line of these rules, the middle of it at (0, 0)."""
    length = _longest(rules)
    return min((_size(turns, length) for turns in range(1, 9)), key=lambda size: max(size[0], size[1] * ASPECT))


def place(moves: Iterable[tuple[int, Move]], rules: Rules) -> tuple[tuple[Placed, ...], tuple[FreeEnd, ...]]:
    """Lay a round's moves, (ply, move) in order, out on the table: the tiles as laid, and the left and right free end.

    Passes are skipped; before the opening tile both are empty.
    """
    limit = table_size(rules)[0] / 2
    placed: list[Placed] = []
    arms: dict[str, _Arm] = {}
    for ply, move in moves:
        if move.tile is None or move.end is None:
            continue
        if not arms:
            placed.append(_opening(move.tile, ply))
            reach = 0.5 if _is_double(move.tile) else 1.0
            arms = {"left": _Arm(move.tile[0], reach, 0.0), "right": _Arm(move.tile[1], reach, 0.0)}
            continue
        one, arms[move.end] = _join(arms[move.end], move.tile, ply, limit)
        placed.append(_turned(one) if move.end == "left" else one)
    return tuple(placed), tuple(_free_end(end, arm) for end, arm in arms.items())


def _is_double(tile: Tile) -> bool:
    return tile[0] == tile[1]


def _opening(tile: Tile, ply: int) -> Placed:
    return Placed(tile, 0.0, 0.0, 90 if _is_double(tile) else 0, ply)


def _join(arm: _Arm, tile: Tile, ply: int, limit: float) -> tuple[Placed, _Arm]:
    """Lay a tile at the end of an arm."""
    if arm.column:
        return _go_down(arm, tile, ply)
    length = 1 if _is_double(tile) else 2
    reach = arm.row * arm.x + GAP + length
    if reach + (_TURN if length == 1 else _RESERVE) > limit:
        return _turn(arm, tile, ply)
    x = arm.x + arm.row * (GAP + length / 2)
    angle = 90 if length == 1 else arm.angle
    return _lay(arm, tile, ply, x, arm.y, angle), _moved(arm, tile, x=arm.row * reach)


def _turn(arm: _Arm, tile: Tile, ply: int) -> tuple[Placed, _Arm]:
    """The tile that turns stands upright beside the row's last one, its upper half in the row. It is never a double."""
    x = arm.x + arm.row * (GAP + 0.5)
    after = _moved(arm, tile, x=x, y=arm.y + 1.5, angle=90, row=-arm.row, column=1)
    return _lay(arm, tile, ply, x, arm.y + 0.5, 90), after


def _go_down(arm: _Arm, tile: Tile, ply: int) -> tuple[Placed, _Arm]:
    """Below the tile that turned: another upright one and then the new row beside it; a double, with the row below."""
    angle = 0 if arm.row > 0 else 180
    if _is_double(tile):
        y = arm.y + GAP + 0.5
        return _lay(arm, tile, ply, arm.x, y, 0), _moved(arm, tile, y=y + 0.5, column=2)
    if arm.column == 1:
        y, beside = arm.y + GAP + 1, arm.x + arm.row * 0.5
        after = _moved(arm, tile, x=beside, y=y + 0.5, angle=angle, column=0)
        return _lay(arm, tile, ply, arm.x, y, 90), after
    x, y = arm.x + arm.row * 0.5, arm.y + GAP + 0.5
    after = _moved(arm, tile, x=x + arm.row, y=y, angle=angle, column=0)
    return _lay(arm, tile, ply, x, y, angle), after


def _lay(arm: _Arm, tile: Tile, ply: int, x: float, y: float, angle: int) -> Placed:
    """The tile at that place; ``angle`` leads from the half that joins to the other."""
    return Placed(tile, x, y, angle if tile[0] == arm.pip else (angle + 180) % 360, ply)


def _moved(arm: _Arm, tile: Tile, **changes: float) -> _Arm:
    pip = tile[1] if tile[0] == arm.pip else tile[0]
    return replace(arm, pip=pip, **changes)  # type: ignore[arg-type]


def _turned(one: Placed) -> Placed:
    """Half a circle about the middle of the table."""
    return replace(one, x=0.0 - one.x, y=0.0 - one.y, angle=(one.angle + 180) % 360)


def _free_end(end: str, arm: _Arm) -> FreeEnd:
    if end == "right":
        return FreeEnd(end, arm.pip, arm.x, arm.y, arm.angle)
    return FreeEnd(end, arm.pip, 0.0 - arm.x, 0.0 - arm.y, (arm.angle + 180) % 360)


# The size of the table ------------------------------------------------------------------------------------------------


def _longest(rules: Rules) -> float:
    """No line of these rules is longer, laid out straight: few doubles, as they lie crosswise."""
    tiles = rules.num_tiles if rules.draw else rules.num_tiles - rules.stock_size
    flat = min(tiles, rules.num_tiles - rules.max_pip - 1)
    return flat * (2 + GAP) + (tiles - flat) * (1 + GAP)


def _size(turns: int, length: float) -> tuple[float, float]:
    """The table whose arms hold a line of that length with so many turns.

    An arm begins in the middle; it leaves a row when a flat tile does not fit any more, and a turn takes one tile or
    two out of the rows. So of ``1/2 + turns`` widths all but a reserve and a flat tile at each end of a row is used.
    """
    lost = _RESERVE + 2 + GAP
    width = (length + (2 * turns + 1) * lost - turns * (2 + GAP)) / (turns + 0.5)
    return ceil(width), ceil(2 * (1 + turns * _PITCH) + 1)
