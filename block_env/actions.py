"""Actions: one id, one meaning for ever.

With T tiles in the set there are ``2 * T + 1`` actions: ``tile`` lays that tile at the left end, ``T + tile`` at the
right end, and ``2 * T`` passes. In the Draw game the last one draws until a tile fits, and passes if none does. The
opening tile has one action, the left one.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

from block_env.tiles import Tile, format_tile, tile_id, tiles


class Move(NamedTuple):
    """An action in words: the tile and the end it is laid at, or a pass (both None)."""

    tile: Tile | None
    end: str | None

    def __str__(self) -> str:
        return "pass" if self.tile is None else f"{format_tile(self.tile)}{'L' if self.end == 'left' else 'R'}"


PASS = Move(None, None)


def num_actions(max_pip: int) -> int:
    """How many actions the set up to ``max_pip`` has: two a tile, and the pass."""
    return 2 * len(tiles(max_pip)) + 1


def decode_action(action: int, max_pip: int) -> Move:
    """What an action id means.

    Raises:
        ValueError: the id is not a whole number from 0 to ``2 * T``.
    """
    end, tile = divmod(check_action(action, max_pip), len(tiles(max_pip)))
    return PASS if end == 2 else Move(tiles(max_pip)[tile], ("left", "right")[end])


def encode_action(move: Move, max_pip: int) -> int:
    """The id of a move; its inverse is :func:`decode_action`.

    Raises:
        ValueError: the tile is not in the set, or the end is neither ``"left"`` nor ``"right"``.
    """
    count = len(tiles(max_pip))
    if move.tile is None:
        return 2 * count
    if move.end not in ("left", "right"):
        raise ValueError(f"end: takes 'left' or 'right', got {move.end!r}")
    return tile_id(move.tile, max_pip) + (count if move.end == "right" else 0)


def check_action(action: object, max_pip: int) -> int:
    """The action as an ``int``, if it is a whole number (Python or NumPy) in range.

    Raises:
        ValueError: it is not; the message names the action and what it takes.
    """
    last = 2 * len(tiles(max_pip))
    try:
        number = -1 if isinstance(action, bool) else operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number <= last:
        raise ValueError(f"action: takes a whole number from 0 to {last}, got {action!r}")
    return number
