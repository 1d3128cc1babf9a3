"""Rules: presets against the rule text, validation field by field, and the bounds that follow."""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers import every_rules, play_out_at_random, rules_name, scaled
from reference import tile_order

from block_env.play import Games
from block_env.state import MAX_PLIES
from block_env.variants import PRESETS, Rules, resolve, rules_table

pytestmark = pytest.mark.nojit

# Presets, from RULES.md: hand size, tiles out of play, target ---------------------------------------------------------

TEXT = [
    ("match", 2, 7, 14, 100),
    ("match", 3, 5, 13, 61),
    ("match", 4, 5, 8, 61),
    ("single_round", 2, 7, 14, None),
    ("single_round", 3, 5, 13, None),
    ("single_round", 4, 5, 8, None),
    ("draw", 2, 7, 14, None),
    ("draw", 3, 5, 13, None),
    ("draw", 4, 5, 8, None),
    ("partnership", 4, 7, 0, 100),
]


@pytest.mark.parametrize(("name", "seats", "hand_size", "stock", "target"), TEXT)
def test_presets_are_those_of_the_text(name: str, seats: int, hand_size: int, stock: int, target: int | None) -> None:
    """'7 tiles for two players, 5 for three or four; 7 each for four in partnership. Out of play: 14, 13, 8, 0.'
    (BUGS D16)"""
    rules = Rules.preset(name, seats)
    assert (rules.num_players, rules.hand_size, rules.stock_size, rules.target) == (seats, hand_size, stock, target)
    assert (rules.max_pip, rules.num_tiles, rules.num_actions) == (6, 28, 57)
    assert rules.draw == (name == "draw")
    assert rules.partnership == (name == "partnership")
    assert rules.num_sides == (2 if name == "partnership" else seats)
    assert rules.first_opener == ("lot" if target else "highest_double")
    assert (rules.stock_reserve, rules.opener_plays_double) == (0, False)
    assert (rules.blocked_compare, rules.blocked_points) == ("side", "difference")
    assert rules.name == name
    assert Games(1, name, seats, seed=1).rules == rules
    game = Games(1, rules, seed=1).snapshot(0)
    assert [len(hand) for hand in game.hands] == [hand_size] * seats
    assert len(game.stock) == stock


@pytest.mark.parametrize(("name", "seats"), [("match", 2), ("single_round", 2), ("draw", 2), ("partnership", 4)])
def test_presets_without_a_number_of_seats(name: str, seats: int) -> None:
    assert Rules.preset(name) == Rules.preset(name, seats) == resolve(name)


def test_presets_are_all_that_there_are() -> None:
    assert set(PRESETS) == {name for name, *_ in TEXT}
    with pytest.raises(
        ValueError, match="rules: takes 'match' or 'single_round' or 'partnership' or 'draw', got 'chess'"
    ):
        Rules.preset("chess")


@pytest.mark.parametrize("seats", [0, 1, 5, -2, 100, 2.0, "2", True])
@pytest.mark.parametrize("name", ["match", "single_round", "draw"])
def test_presets_take_two_to_four_seats(name: str, seats: Any) -> None:
    with pytest.raises(ValueError, match="num_players: takes a whole number from 2 to 4"):
        Rules.preset(name, seats)


@pytest.mark.parametrize("seats", [2, 3])
def test_partnership_takes_four(seats: int) -> None:
    with pytest.raises(ValueError, match=f"num_players: partnership takes 4, got {seats}"):
        Rules.preset("partnership", seats)


def test_other_rules_are_custom() -> None:
    assert Rules().name == "custom"  # one round, the opener by lot
    assert dataclasses.replace(Rules.preset("match"), target=99).name == "custom"
    assert dataclasses.replace(Rules.preset("partnership"), blocked_compare="hand").name == "custom"
    assert Rules(2, target=100).name == "match"
    assert Rules(4, target=100).name == "custom"
    assert Rules(4, partnership=True, target=61).name == "custom"


# Validation -----------------------------------------------------------------------------------------------------------

BAD_FIELDS: list[tuple[str, Any]] = [
    *(("num_players", value) for value in (0, 1, 5, -1, 2.0, "2", None, True)),
    *(("max_pip", value) for value in (0, 10, -1, 6.0, "6", None, True)),
    *(("hand_size", value) for value in (0, 15, -1, 7.0, "7", True)),
    *((name, value) for name in ("partnership", "draw", "opener_plays_double") for value in (None, "yes", 1, 0, 2)),
    *(("stock_reserve", value) for value in (1, -1, 0.0, None, False)),  # without draw
    *(("target", value) for value in (0, -1, 10_001, 100.0, "100", True)),
    *(("first_opener", value) for value in ("", "Lot", None, 0, "double")),
    *(("blocked_compare", value) for value in ("", "sides", None, True)),
    *(("blocked_points", value) for value in ("", "own", None, 1)),
]


@pytest.mark.parametrize(("field", "value"), BAD_FIELDS, ids=lambda value: str(value))
def test_every_field_is_checked_and_named(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{field}: takes .*, got {value!r}$"):
        Rules(**{field: value})
    with pytest.raises(ValueError, match=f"^{field}: "):
        dataclasses.replace(Rules(), **{field: value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_players": 2, "partnership": True}, "num_players: partnership takes 4, got 2"),
        (
            {"num_players": 3, "hand_size": 10},
            "hand_size: takes a whole number from 1 to 9 for 3 players and max_pip 6",
        ),
        ({"num_players": 4, "hand_size": 8}, "hand_size: takes a whole number from 1 to 7 for 4 players and max_pip 6"),
        ({"max_pip": 3}, "hand_size: takes a whole number from 1 to 5 for 2 players and max_pip 3, got 7"),
        ({"max_pip": 1}, "hand_size: takes 1 for 2 players and max_pip 1, got 7"),
        ({"stock_reserve": 1}, "stock_reserve: takes 0 without draw=True, got 1"),
        ({"draw": True, "stock_reserve": 15}, r"stock_reserve: takes a whole number from 0 to 14 \(the stock has 14\)"),
        (
            {"num_players": 4, "hand_size": 7, "draw": True, "stock_reserve": 1},
            r"stock_reserve: takes 0 \(the stock has 0\)",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_fields_that_do_not_go_together(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Rules(**fields)


@pytest.mark.parametrize("hand_size", [None, 1])
def test_too_few_tiles_for_the_seats(hand_size: int | None) -> None:
    """Double-one has three tiles: no hand size will do for four seats, and the message must not ask for one."""
    with pytest.raises(ValueError, match=r"^(num_players|max_pip): "):
        Rules(4, max_pip=1, hand_size=hand_size)


def test_resolve() -> None:
    rules = Rules(3)
    assert resolve(rules) is rules
    assert resolve(rules, 3) is rules
    assert resolve() == Rules.preset("match", 2)
    with pytest.raises(ValueError, match="num_players: the given Rules take 3, got 2"):
        resolve(rules, 2)
    for wrong in (3, None, {"num_players": 2}):
        with pytest.raises(ValueError, match=r"rules: takes one of 'match', .* or a Rules"):
            resolve(wrong)  # type: ignore[arg-type]


@every_rules
def test_rules_are_values(rules: Rules) -> None:
    """Equal and equally hashed when rebuilt from their fields or pickled; never changed."""
    again = Rules(**rules.as_dict())
    assert (again, hash(again)) == (rules, hash(rules))
    assert pickle.loads(pickle.dumps(rules)) == rules
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.target = 5  # type: ignore[misc]


# What follows from them -----------------------------------------------------------------------------------------------


@every_rules
def test_the_table_says_what_the_rules_say(rules: Rules) -> None:
    """What kernels read, against the rules and the set counted here."""
    row, order = rules_table(rules)[0], tile_order(rules.max_pip)
    for name in ("num_players", "num_sides", "hand_size", "num_tiles", "draw", "stock_reserve", "opener_plays_double"):
        assert row[name] == getattr(rules, name)
    assert row.target == (rules.target or 0)
    assert bool(row.highest_double_opens) == (rules.first_opener == "highest_double")
    assert bool(row.compare_hands) == (rules.blocked_compare == "hand")
    assert bool(row.subtract_own) == (rules.blocked_points == "difference")
    assert list(zip(row.low.tolist(), row.high.tolist(), strict=True))[: len(order)] == order
    for pip in range(10):
        assert int(row.suit[pip]) == sum(1 << index for index, tile in enumerate(order) if pip in tile)
    assert int(row.doubles) == sum(1 << index for index, (low, high) in enumerate(order) if low == high)
    assert rules.total_pips == sum(map(sum, order))
    assert rules.num_tiles == len(order)
    assert rules_table(rules) is rules_table(Rules(**rules.as_dict()))


def sizes() -> Iterator[Rules]:
    """Every legal number of seats, set, hand size and reserve, with and without drawing."""
    for seats in (2, 3, 4):
        for max_pip in range(1, 10):
            count = len(tile_order(max_pip))
            for hand_size in range(1, count // seats + 1):
                yield Rules(seats, max_pip=max_pip, hand_size=hand_size)
                for reserve in {0, count - seats * hand_size}:
                    yield Rules(seats, max_pip=max_pip, hand_size=hand_size, draw=True, stock_reserve=reserve)


def test_the_record_has_room_for_every_round() -> None:
    assert max(rules.max_plies for rules in sizes()) <= MAX_PLIES


@pytest.mark.parametrize(
    "rules",
    [
        Rules(4, max_pip=9, hand_size=1, draw=True),
        Rules(3, max_pip=9, hand_size=2, draw=True, stock_reserve=10),
        Rules(4, max_pip=9, hand_size=13),
        Rules(2, max_pip=1, hand_size=1),
        Rules(2, max_pip=2, hand_size=3),
        Rules(4, max_pip=3, hand_size=2, draw=True),
        Rules.preset("draw", 4),
        Rules.preset("partnership"),
    ],
    ids=rules_name,
)
def test_no_round_is_longer_than_max_plies(rules: Rules, rng: np.random.Generator) -> None:
    """(BUGS D14) A match as well: its every round, since the history starts anew. Differential tests check it too."""
    games = Games(scaled(1_000, 20), dataclasses.replace(rules, target=None), seed=6, auto_reset=False)
    play_out_at_random(games, rng)
    assert games.states["plies"].max() <= rules.max_plies
    assert (games.states["turns"] == games.states["plies"]).all()


def test_max_plies_of_the_smallest_game() -> None:
    """One tile each: the opener goes out with the first turn."""
    assert Rules(hand_size=1).max_plies == 1
    games = Games(1, Rules(hand_size=1), seed=1, auto_reset=False)
    assert games.step(games.action_mask.argmax(axis=1))[1].all()


@every_rules
def test_masks_are_as_long_as_there_are_actions(rules: Rules) -> None:
    """(BUGS P24)"""
    assert rules.num_actions == 2 * len(tile_order(rules.max_pip)) + 1
    assert Games(2, rules, seed=1).action_mask.shape == (2, rules.num_actions)


def test_numpys_whole_numbers_are_whole_numbers() -> None:
    rules = Rules(np.int64(3), hand_size=np.int32(4), target=np.uint8(61))
    assert rules == Rules(3, hand_size=4, target=61)
    assert json.loads(json.dumps(rules.as_dict())) == rules.as_dict()
