"""A view holds what its viewer may see, all of it and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import ALL_RULES, random_states, rules_name, set_up, swapped

from block_env import Rules, raw_env
from block_env.game import snapshot
from block_env.view import see

EACH_RULES = pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)


@EACH_RULES
def test_hidden_tiles_change_no_view(rules: Rules, rng: np.random.Generator) -> None:
    """O03: swap all that the viewer cannot see; the view and its JSON stay as they are."""
    games, differ = random_states(rules, 60, rng), 0
    for row in np.flatnonzero(games.to_play >= 0):
        game = games.snapshot(int(row))
        for viewer in range(rules.num_players):
            other = snapshot(swapped(games.states, rules, int(row), viewer, rng)[0], rules)
            assert see(game, viewer) == see(other, viewer)
            assert json.dumps(see(game, viewer).as_dict()) == json.dumps(see(other, viewer).as_dict())
            differ += see(game, reveal=True) != see(other, reveal=True)
    assert differ or rules.num_tiles == 3


@EACH_RULES
def test_views_tell_the_table(rules: Rules, rng: np.random.Generator) -> None:
    games = random_states(rules, 40, rng)
    for row in range(40):
        game = games.snapshot(row)
        view = see(game, viewer=0)
        assert [seat.tiles_left for seat in view.seats] == [len(hand) for hand in game.hands]
        assert [seat.hand is not None for seat in view.seats] == [
            game.over or seat == 0 for seat in range(rules.num_players)
        ]
        assert view.seats[0].hand == game.hands[0]
        assert [seat.name for seat in view.seats if seat.to_play] == ([] if game.over else [f"player_{game.to_play}"])
        assert [seat.opener for seat in view.seats].index(True) == game.opener
        assert {one.tile for one in view.line} == {tuple(sorted(tile)) for tile in game.line}
        assert (view.scores, view.over, view.winner) == (game.scores, game.over, game.winner)
        held = sum(seat.tiles_left for seat in view.seats)
        assert held + len(view.line) + view.stock == rules.num_tiles
        assert see(game, reveal=True).seats[-1].hand == game.hands[-1]


def test_passes_and_sides_of_seats() -> None:
    table = set_up(Rules(4, hand_size=2, partnership=True), "66 56, 00 01, 11 12, 22 23").play("66L pass pass")
    seats = see(table.game, names=["a", "b", "c", "d"]).seats
    assert [seat.passes for seat in seats] == [0, 1, 1, 0]
    assert [seat.side for seat in seats] == [0, 1, 0, 1]
    assert [seat.name for seat in seats] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("viewer", [2, -1, "0", 0.0, True])
def test_no_such_viewer(viewer: object) -> None:
    with pytest.raises(ValueError, match=r"^viewer: takes None or a seat from 0 to 1, got "):
        see(set_up(Rules(2), "66 56 00 01 11 12 22, 33 34 35 36 44 45 55").game, viewer)  # type: ignore[arg-type]


def test_names_are_one_a_seat() -> None:
    game = set_up(Rules(2), "66 56 00 01 11 12 22, 33 34 35 36 44 45 55").game
    with pytest.raises(ValueError, match=r"^names: takes 2, one a seat, got 1$"):
        see(game, names=["a"])
    for names in (["a", ""], ["a", " "], [1, 2]):
        with pytest.raises(ValueError, match=r"^names: takes names that are not empty"):
            see(game, names=names)


def test_what_is_seen_is_a_game() -> None:
    with pytest.raises(ValueError, match=r"^game: takes a Game, such as env\.game"):
        see(raw_env())
