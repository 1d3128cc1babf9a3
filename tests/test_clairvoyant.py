"""The upper mark: it is asked by evaluation alone, and everything that takes a policy refuses it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from helpers import scaled, set_up

import agents
from agents.clairvoyant import Clairvoyant
from agents.double_dummy import DoubleDummy
from agents.evaluation import play_pair
from block_env import Rules, named_agents
from block_env.play import Games, play_out
from block_env.policy import choose, probabilities

MATCH = Rules.preset("match")


class Watched(Clairvoyant):
    """Keeps what it was given, and spoils it."""

    def act_on(self, states: Any, rng: np.random.Generator) -> Any:
        self.seen = states.copy()
        answer = super().act_on(states, rng)
        states["hands"] = 0
        return answer


def test_it_plays_the_best_move_of_the_games_themselves() -> None:
    games = Games(scaled(64, 4), MATCH, reward="points", seed=1, auto_reset=False)
    before, player = games.states.copy(), Watched(MATCH)
    seating = np.zeros((games.num_games, 2), np.int64)
    tally = play_out(games, [player], seating, np.random.default_rng(0), "round")
    values = DoubleDummy(MATCH).best(before)[1]
    assert tally.points[np.arange(len(before)), before["to_play"]].tolist() == values.tolist()
    assert tally.decisions[0] > 0
    assert tally.seconds[0] > 0
    assert player.seen["hands"].any()
    assert isinstance(agents.make("clairvoyant"), Clairvoyant)


@pytest.mark.parametrize("rules", [MATCH, Rules.preset("match", 3), Rules.preset("draw")], ids=lambda one: one.name)
def test_it_beats_everybody_by_far(rules: Rules) -> None:
    result = play_pair(Clairvoyant(rules), agents.make("greedy", rules), rules, deals=scaled(200, 2), seed=1)
    assert result.points_ci[0] > scaled(2, -1000)


def test_a_wrong_answer_is_named() -> None:
    class Wrong(Clairvoyant):
        def act_on(self, states: Any, rng: np.random.Generator) -> Any:
            return np.full(len(states), 99)

    games = Games(2, MATCH, reward="points", seed=1, auto_reset=False)
    with pytest.raises(ValueError, match=r"Wrong.act_on: is to return whole numbers from 0 to 56, int \[2\]"):
        play_out(games, [Wrong(MATCH)], np.zeros((2, 2), np.int64), np.random.default_rng(0))


class Cheat(Clairvoyant):
    """Has ``act`` like a policy, too."""

    def act(self, observation: Any, action_mask: Any, rng: np.random.Generator) -> Any:
        raise AssertionError("nobody is to ask")


@pytest.mark.parametrize("player", [Clairvoyant(MATCH), Cheat(MATCH)], ids=["seer", "cheat"])
def test_everything_else_refuses_it(player: Any) -> None:
    with pytest.raises(ValueError, match=r"opponent: .* sees all hands"):
        gymnasium.make("block_env/Block-v0", opponent=player)
    table = set_up(MATCH, "00 01 02 03 04 05 06, 66 11 12 13 14 15 16")
    seen = table.games.observation, table.games.action_mask, np.random.default_rng(0)
    for ask in (choose, probabilities):
        with pytest.raises(ValueError, match="sees all hands"):
            ask(player, *seen)
    with pytest.raises(ValueError, match="sees all hands"):
        named_agents.make("clairvoyant", MATCH)
