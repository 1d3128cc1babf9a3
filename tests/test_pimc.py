"""PIMC: sure choices, chance from its generator alone, and nothing hidden."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers import ALL_RULES, random_states, rules_name, scaled, seen_by_all, set_up, swapped

import agents
from agents.double_dummy import DoubleDummy
from agents.evaluation import play_pair
from agents.pimc import Pimc
from block_env import Rules
from block_env.play import Games, play_out
from block_env.policy import Policy

MATCH = Rules.preset("match")


BEARABLE = [rules for rules in ALL_RULES if rules.max_pip <= 6 or (rules.hand_size == 1 and not rules.draw)]
"""Whole deals of larger sets take minutes."""


@pytest.mark.parametrize("rules", BEARABLE, ids=rules_name)
def test_it_plays_every_rule_set(rules: Rules) -> None:
    games = Games(2, rules, reward="points", history=True, seed=3, auto_reset=False)
    policy = agents.make("pimc:2", rules)
    assert isinstance(policy, Policy)
    tally = play_out(games, [policy], np.zeros((2, rules.num_players), np.int64), np.random.default_rng(0), "round")
    assert (tally.rounds == 1).all()


@pytest.mark.parametrize("rules", [MATCH, Rules.preset("draw"), Rules.preset("partnership")], ids=lambda one: one.name)
def test_same_observation_same_choice(rules: Rules, rng: np.random.Generator) -> None:
    """The swap test: what nobody may see changes, the choice does not; nor does it with a fresh or a pickled agent."""
    games, policy = random_states(rules, scaled(30, 2), rng, history=True), Pimc(rules, 4)
    for row in np.flatnonzero(games.to_play >= 0):
        viewer = int(games.to_play[row])
        other = swapped(games.states, rules, row, viewer, rng)
        one = policy.act(*seen_by_all(games.states[row : row + 1], rules, viewer, True), np.random.default_rng(row))
        two = pickle.loads(pickle.dumps(Pimc(rules, 4)))
        assert one == two.act(*seen_by_all(other, rules, viewer, True), np.random.default_rng(row))


def test_where_all_is_known_it_plays_double_dummy() -> None:
    """Nothing out of play and two players: one world, which is the truth."""
    rules = Rules(2, max_pip=3, hand_size=5)
    games = Games(scaled(50, 3), rules, history=True, seed=1)
    values = DoubleDummy(rules).values(games.states)
    chosen = Pimc(rules, 20).act(games.observation, games.action_mask, np.random.default_rng(0))
    np.testing.assert_array_equal(chosen, np.nanargmax(values, axis=1))


def test_every_world_counts_where_they_are_few() -> None:
    """With more worlds asked for than there are, each is taken once: chance plays no part."""
    rules = Rules(2, max_pip=3, hand_size=3)
    games, policy = Games(scaled(30, 2), rules, history=True, seed=1), Pimc(rules, 1000)
    for row in range(games.num_games):
        seen = games.observation[row], games.action_mask[row]
        assert np.array_equal(policy.values(*seen, 1), policy.values(*seen, 2), equal_nan=True)


def test_an_opener_that_a_deal_would_not_have() -> None:
    """A position that was set up is played all the same."""
    rules = Rules.preset("single_round")
    table = set_up(rules, "00 01 02 03 04 05 06, 66 11 12 13 14 15 16", history=True).play("01L")
    action = Pimc(rules, 3).act(table.games.observation, table.games.action_mask, np.random.default_rng(0))
    assert table.games.action_mask[0, action[0]]


def test_it_beats_the_greedy_policy() -> None:
    result = play_pair(Pimc(MATCH, 10), agents.make("greedy"), MATCH, deals=scaled(300, 2), seed=1)
    assert result.points_ci[0] > scaled(0, -1000)


@pytest.mark.parametrize(
    "name", ["pimc", "pimc:", "pimc:0", "pimc:-1", "pimc:1.5", "pimc:20,", "pimc:１", "pimc:9999999"]
)
def test_names_that_there_are_not(name: str) -> None:
    with pytest.raises(ValueError, match="agent: takes"):
        agents.make(name)


def test_no_worlds() -> None:
    with pytest.raises(ValueError, match="worlds: takes"):
        Pimc(MATCH, 0)


def test_observations_without_history() -> None:
    games = Games(1, MATCH, seed=1)
    with pytest.raises(ValueError, match="with history"):
        Pimc(MATCH, 2).act(games.observation, games.action_mask, np.random.default_rng(0))
