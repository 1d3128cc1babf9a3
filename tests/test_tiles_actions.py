"""Tiles and actions: ids, order, text, and that one id has one meaning for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import action_id, every_rules, random_actions, scaled
from reference import tile_order

from block_env import tiles
from block_env.actions import PASS, Move, check_action, decode_action, encode_action, num_actions
from block_env.play import Games
from block_env.variants import Rules

pytestmark = pytest.mark.nojit

every_set = pytest.mark.parametrize("max_pip", range(1, 10))


# Tiles ----------------------------------------------------------------------------------------------------------------


@every_set
def test_sets_are_complete(max_pip: int) -> None:
    """(n+1)(n+2)/2 tiles, none twice, none missing, in the order of DESIGN.md (BUGS D04)."""
    order = tiles.tiles(max_pip)
    assert list(order) == tile_order(max_pip)
    assert len(set(order)) == len(order) == (max_pip + 1) * (max_pip + 2) // 2
    assert [tiles.tile_id(tile, max_pip) for tile in order] == list(range(len(order)))
    assert [tiles.tile_id((high, low), max_pip) for low, high in order] == list(range(len(order)))


def test_double_six_ids_by_hand() -> None:
    ids = {(0, 0): 0, (0, 6): 6, (1, 1): 7, (1, 6): 12, (2, 2): 13, (3, 3): 18, (3, 5): 20, (5, 6): 26, (6, 6): 27}
    assert {tile: tiles.tile_id(tile, 6) for tile in ids} == ids


@pytest.mark.parametrize(
    "tile",
    [
        (0, 7),
        (7, 0),
        (-1, 2),
        (2, -1),
        (1,),
        (1, 2, 3),
        (),
        5,
        None,
        "12",
        (1.5, 2),
        (np.nan, 1),
        (np.inf, 0),
        ("a", 1),
    ],
    ids=repr,
)
def test_what_is_no_tile(tile: Any) -> None:
    with pytest.raises(ValueError, match="tile: takes two pips from 0 to 6, got"):
        tiles.tile_id(tile, 6)


def test_tiles_from_numpy() -> None:
    assert tiles.tile_id(np.array([5, 3]), 6) == tiles.tile_id((np.int8(3), np.int64(5)), 6) == 20


@every_set
def test_text_and_back(max_pip: int) -> None:
    for low, high in tile_order(max_pip):
        assert tiles.format_tile((low, high)) == f"[{low}|{high}]"
        assert tiles.parse_tile(f"[{low}|{high}]") == (low, high)
        assert tiles.parse_tile(f"[{high}|{low}]") == (high, low)


@pytest.mark.parametrize(
    "text", ["", "35", "[35]", "[3|5", "3|5]", "[3|5] ", " [3|5]", "[3|10]", "[-1|2]", "[3|5]\n", "[٣|5]"]
)
def test_what_is_no_text(text: str) -> None:
    with pytest.raises(ValueError, match="tile: takes text such as"):
        tiles.parse_tile(text)


def test_pips() -> None:
    """'[6|6] 12, [0|0] 0'."""
    assert [tiles.pips(tile) for tile in ((6, 6), (0, 0), (3, 5), (0, 1))] == [12, 0, 8, 1]


def test_bit_sets() -> None:
    """Bit `id` stands for the tile, up to the largest set."""
    assert (tiles.MAX_PIP, tiles.MAX_TILES) == (9, 55)
    assert [int(bit) for bit in tiles.BIT] == [1 << tile for tile in range(55)]
    assert tiles.BIT.dtype == np.uint64
    assert tiles.bit_set([0, 3, 3]) == 0b1001
    assert tiles.tiles_in(0b1001, 6) == [(0, 0), (0, 3)]
    assert tiles.tiles_in(tiles.BIT[54], 9) == [(9, 9)]
    assert tiles.tiles_in(np.uint64(2**55 - 1), 9) == tile_order(9)
    assert tiles.tiles_in(0, 6) == []


# Actions --------------------------------------------------------------------------------------------------------------


@every_set
def test_one_id_one_meaning(max_pip: int) -> None:
    """`tile` lays left, `T + tile` right, `2 * T` passes (BUGS D01)."""
    order = tile_order(max_pip)
    meanings = [(tile, end) for end in ("left", "right") for tile in order] + [(None, None)]
    assert num_actions(max_pip) == len(meanings)
    assert [tuple(decode_action(action, max_pip)) for action in range(len(meanings))] == meanings
    assert [encode_action(Move(*meaning), max_pip) for meaning in meanings] == list(range(len(meanings)))
    assert encode_action(PASS, max_pip) == 2 * len(order)


def test_moves_in_words() -> None:
    assert [str(decode_action(action, 6)) for action in (20, 48, 56)] == ["[3|5]L", "[3|5]R", "pass"]
    assert encode_action(Move((5, 3), "right"), 6) == 48


@every_rules
def test_ids_mean_what_they_do(rules: Rules, rng: np.random.Generator) -> None:
    """Over random games, from every seat and whatever else is legal: the tile of the id leaves the mover's hand and
    lies at that end (BUGS D01)."""
    games = Games(scaled(30, 3), rules, seed=5, auto_reset=False)
    for _ in range(scaled(30, 10)):
        rows = np.flatnonzero(games.to_play >= 0)
        before = {row: games.snapshot(row) for row in rows}
        actions = random_actions(games.action_mask[rows], rng)
        games.step(actions, rows)
        for row, action in zip(rows, actions.tolist(), strict=True):
            after = games.snapshot(row)
            if after.round_number == before[row].round_number:
                check_meaning(before[row], after, action)


def check_meaning(before: Any, after: Any, action: int) -> None:
    tile, end = decode_action(action, before.rules.max_pip)
    if tile is None:
        assert after.line == before.line
        assert action == action_id("pass", before.rules.max_pip)
        return
    assert set(before.hands[before.to_play]) - set(after.hands[before.to_play]) == {tile}
    place, rest = (after.line[0], after.line[1:]) if end == "left" else (after.line[-1], after.line[:-1])
    assert tuple(sorted(place)) == tile
    assert rest == before.line


@pytest.mark.parametrize(
    "action", [-1, 57, 10**30, 1.0, None, True, "3", [3], np.float32(3), np.nan, np.True_, np.array([3])], ids=repr
)
def test_what_is_no_action(action: Any) -> None:
    """(BUGS P04)"""
    for function in (check_action, decode_action):
        with pytest.raises(ValueError, match="action: takes a whole number from 0 to 56, got"):
            function(action, 6)


@pytest.mark.parametrize("action", [3, np.int8(3), np.int64(3), np.uint64(3), np.array(3)], ids=repr)
def test_whole_numbers_are_actions(action: Any) -> None:
    assert check_action(action, 6) == 3
    assert type(check_action(action, 6)) is int


@pytest.mark.parametrize(
    ("move", "message"),
    [
        (Move((1, 2), "middle"), "end: takes 'left' or 'right', got 'middle'"),
        (Move((1, 2), None), "end: takes 'left' or 'right', got None"),
        (Move((1, 7), "left"), "tile: takes two pips from 0 to 6"),
    ],
)
def test_what_is_no_move(move: Move, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_action(move, 6)
