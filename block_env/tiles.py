"""Domino tiles: ids, pips and bit sets, and their text ``[low|high]`` (RULES.md, "Set, seats, deal").

A set up to ``max_pip`` has every unordered pair of pips once. Tile ids count the pairs in the order
[0|0], [0|1], … [0|m], [1|1], … [m|m]. A set of tiles is a bit set: one ``uint64`` with bit ``id`` on for each
tile; double-nine, the largest set, has 55 tiles.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from functools import cache

import numpy as np

Tile = tuple[int, int]
"""A tile as its pips, (low, high)."""

MAX_PIP = 9
MAX_TILES = (MAX_PIP + 1) * (MAX_PIP + 2) // 2

BIT = np.array([1 << tile for tile in range(MAX_TILES)], dtype=np.uint64)
"""``BIT[tile]`` is the bit set with that one tile. Typed, so that compiled and plain runs do the same arithmetic."""


@cache
def tiles(max_pip: int) -> tuple[Tile, ...]:
    """All tiles of the set up to ``max_pip``, in the order of their ids."""
    return tuple((low, high) for low in range(max_pip + 1) for high in range(low, max_pip + 1))


def tile_id(tile: Tile, max_pip: int) -> int:
    """The id of a tile given as two pips, in either order.

    Raises:
        ValueError: the pair is no tile of the set up to ``max_pip``.
    """
    try:
        low, high = sorted(-1 if isinstance(pip, bool) else operator.index(pip) for pip in tile)
    except (TypeError, ValueError):
        low = high = -1
    if not 0 <= low <= high <= max_pip:
        raise ValueError(f"tile: takes two pips from 0 to {max_pip}, got {tile!r}")
    return low * (max_pip + 1) - low * (low - 1) // 2 + high - low


def tiles_in(bits: int, max_pip: int) -> list[Tile]:
    """The tiles of a bit set, in the order of their ids."""
    return [tile for index, tile in enumerate(tiles(max_pip)) if int(bits) >> index & 1]


def bit_set(ids: Iterable[int]) -> int:
    """The bit set that holds these tile ids."""
    return sum(1 << index for index in set(ids))


def pips(tile: Tile) -> int:
    """Both halves added up: [6|6] counts 12, [0|0] counts 0 (RULES.md, "End of a round and its points")."""
    return tile[0] + tile[1]


def format_tile(tile: Tile) -> str:
    """A tile as text in the order given: ``(3, 5)`` is ``"[3|5]"``."""
    return f"[{tile[0]}|{tile[1]}]"


def parse_tile(text: str) -> Tile:
    """The tile that ``"[3|5]"`` writes, its pips in the order written.

    Raises:
        ValueError: the text is not two pips from 0 to 9 as ``[3|5]``.
    """
    match = re.fullmatch(r"\[([0-9])\|([0-9])\]", text)
    if match is None:
        raise ValueError(f"tile: takes text such as '[3|5]', got {text!r}")
    return int(match[1]), int(match[2])
