"""Belief against every deal there is, replayed through the core: the same worlds, equally often."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from helpers import ALL_RULES, play_steps, random_rules, rules_name, scaled, set_up
from scipy import stats

from agents.belief import Belief
from block_env import rules as kernels
from block_env.observation import layout, observe
from block_env.play import Games
from block_env.variants import Rules, rules_table


def see(state: Any, rules: Rules, viewer: int) -> Any:
    """What a seat sees of one record, float32 [D] with history."""
    return observe(np.array([state]), rules, np.zeros(1, np.int64), np.array([viewer]), history=True)[0][0]


def possible_hands(state: Any, rules: Rules, viewer: int) -> Counter[tuple[int, ...]]:
    """Every shuffle, played as this round was: how often it gives which hands, where ``viewer`` sees the same."""
    orders = np.array(list(permutations(range(rules.num_tiles))), np.uint8)
    states, table = np.repeat(np.array([state]), len(orders)), rules_table(rules)
    states["order"][:, : rules.num_tiles] = orders
    by_deal = rules.first_opener == "highest_double" and rules.target is None
    openers = np.full(len(orders), -1 if by_deal else state.opener, np.int64)
    kernels.open_games(states, table, np.arange(len(orders)), openers)
    for ply in range(state.plies):
        states = states[states["opener"] == state.opener]
        actions = np.full(len(states), int(state.history[ply]) & 127)
        legal = [bool(kernels.is_legal(one, table[0], actions[0])) for one in states]
        states, actions = states[legal], actions[legal]
        count = len(states)
        rewards, done = np.zeros((count, rules.num_players), np.float32), np.zeros(count, np.bool_)
        reasons = np.zeros(count, np.int8)
        kernels.step_games(states, table, np.arange(count), actions, False, False, rewards, done, reasons)
        states = states[reasons == 0]
    count = len(states)
    seen = observe(states, rules, np.arange(count), np.full(count, viewer), history=True)[0]
    same = states[(seen == see(state, rules, viewer)).all(axis=1)]
    return Counter(hands_from(one, rules, viewer) for one in same)


def hands_from(state: Any, rules: Rules, viewer: int) -> tuple[int, ...]:
    return tuple(int(state.hands[(viewer + k) % rules.num_players]) for k in range(rules.num_players))


def world_hands(worlds: Any, rules: Rules) -> Counter[tuple[int, ...]]:
    return Counter(tuple(map(int, hands[: rules.num_players])) for hands in worlds["hands"])


def shares(counts: Counter[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    return {hands: times / counts.total() for hands, times in counts.items()}


def tiny_rules(rng: np.random.Generator) -> Rules:
    """Of six tiles, with every switch."""
    while True:
        rules = random_rules(rng)
        if rules.max_pip == 2 and rules.hand_size > 1 - rules.draw:
            return rules


def some_round(rules: Rules, rng: np.random.Generator) -> Any:
    """The record of a round at a random moment, not over."""
    while True:
        games = Games(1, rules, seed=int(rng.integers(2**32)), auto_reset=False)
        play_steps(games, rng.integers(0, rules.max_plies, 1), rng)
        if not games.states[0].over and (games.states[0].round_number == 0 or rules.target):
            return games.states[0]


def test_worlds_are_those_of_every_deal(rng: np.random.Generator) -> None:
    """All 720 shuffles of a tiny set, replayed: the worlds are the same, as often, and the sampler agrees."""
    pvalues = []
    for _ in range(scaled(60, 1)):
        rules = tiny_rules(rng)
        state, viewer = some_round(rules, rng), int(rng.integers(rules.num_players))
        belief = Belief(rules, see(state, rules, viewer))
        expected = shares(possible_hands(state, rules, viewer))
        assert shares(world_hands(belief.worlds(), rules)) == pytest.approx(expected), rules
        assert len(belief.worlds()) == belief.count
        drawn = world_hands(belief.sample(2000, rng), rules)
        assert set(drawn) <= set(expected)
        if len(expected) > 1:
            observed, odds = [drawn[hands] for hands in expected], np.array(list(expected.values()))
            pvalues.append(stats.chisquare(observed, 2000 * odds).pvalue)
    if len(pvalues) > 10:  # and over all of them, p is uniform
        assert min(pvalues) > 1e-5
        assert stats.kstest(pvalues, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
def test_no_world_is_impossible(rules: Rules, rng: np.random.Generator) -> None:
    """A million over all rule sets: every tile once, the right numbers, no shown lack, the own hand as it is."""
    for _ in range(scaled(10, 2)):
        state, viewer = some_round(rules, rng), int(rng.integers(rules.num_players))
        vector = see(state, rules, viewer)
        count = scaled(6000, 50)
        worlds = Belief(rules, vector).sample(count, rng)
        hands, stock = worlds["hands"], worlds["stock"]
        laid = int(np.bitwise_or.reduce(state.laid))
        sets = [*hands.T, stock, np.full(count, laid, np.uint64)]
        assert (sum(np.bitwise_count(one).astype(int) for one in sets) == rules.num_tiles).all()
        assert (np.bitwise_or.reduce(np.array(sets)) == np.uint64(2**rules.num_tiles - 1)).all()
        for k in range(rules.num_players):
            seat = (viewer + k) % rules.num_players
            assert (np.bitwise_count(hands[:, k]) == state.tiles_left[seat]).all()
            for pip in range(rules.max_pip + 1):
                if state.lacks[seat] >> pip & 1:
                    assert not (hands[:, k] & rules_table(rules)[0].suit[pip]).any()
        assert (hands[:, 0] == state.hands[viewer]).all()
        if rules.draw:
            order = worlds["order"][:, state.stock_next : rules.num_tiles]
            bits = np.uint64(1) << order.astype(np.uint64)
            assert (np.bitwise_or.reduce(bits, axis=1) == stock).all()


def test_full_set_late_position_is_uniform(rng: np.random.Generator) -> None:
    """Chi-square over all worlds of late positions with the usual set."""
    rules = Rules.preset("match", 4)
    pvalues = []
    while len(pvalues) < scaled(5, 1):
        games = Games(1, rules, seed=int(rng.integers(2**32)))
        play_steps(games, np.array([16]), rng)
        state = games.states[0]
        belief = Belief(rules, see(state, rules, 0))
        if state.plies and 1 < belief.count < 2000:
            drawn = world_hands(belief.sample(scaled(100_000, 20_000), rng), rules)
            every = world_hands(belief.worlds(), rules)
            pvalues.append(stats.chisquare([drawn[hands] for hands in every]).pvalue)
    assert min(pvalues) > 1e-4


def test_more_worlds_than_a_float_tells_apart(rng: np.random.Generator) -> None:
    """Double-nine for four, 52 tiles dealt: 1e21 worlds; each unseen tile is anywhere as often as it should be."""
    rules = Rules(4, max_pip=9, hand_size=13)
    belief = Belief(rules, see(Games(1, rules, seed=3).states[0], rules, 0))
    assert belief.count > 1e20
    worlds = belief.sample(scaled(20_000, 500), rng)
    for tile in range(55):
        share = (worlds["hands"][:, 1] >> np.uint64(tile) & np.uint64(1)).mean()
        assert share in (0, 1) or abs(share - 13 / 42) < 5 * 0.46 / len(worlds) ** 0.5


# Contradictions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def vector() -> Any:
    """Seat 0 laid [1|4], seat 1 passed; seat 0 sees it and holds [0|1] and [3|3]."""
    table = set_up(Rules(hand_size=3), "14 01 33, 66 55 56", history=True).play("14L pass")
    return table.games.observation[0].copy()


def test_what_passes_tell(vector: Any) -> None:
    """[1|4] is on the table, and seat 1 lacks 1 and 4: its 3 tiles are of the 15 without them, less [3|3]."""
    assert Belief(Rules(hand_size=3), vector).count == 14 * 13 * 12 / 6


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("hand", 10, 1, r"\[1\|4\] is held and laid"),  # [1|4]
        ("tiles_left", 1, 2 / 3, "has 2 tiles left"),
        ("tiles_left", 0, 1, "has 3 tiles left"),
        ("laid", 28 + 20, 1, "tiles left"),
    ],
)
def test_contradictions_are_named(vector: Any, name: str, index: int, value: float, message: str) -> None:
    vector[layout(Rules(hand_size=3), True)[name].start + index] = value
    with pytest.raises(ValueError, match=message):
        Belief(Rules(hand_size=3), vector)


def test_what_is_held_against_a_pass() -> None:
    rules = Rules(hand_size=3)
    table = set_up(rules, "14 01 33, 66 55 56", history=True).play("14L pass 01L")
    vector = table.games.observe(np.array([0]), np.array([1]))[0][0]
    hand = layout(rules, True)["hand"].start
    vector[hand : hand + 28] = 0
    vector[[hand + 26, hand + 27, hand + 11]] = 1  # [5|6], [6|6], and [1|5], which it passed with
    with pytest.raises(ValueError, match=r"relative seat 0 holds \[1\|5\], which it has shown not to hold"):
        Belief(rules, vector)


def test_without_history(vector: Any) -> None:
    with pytest.raises(ValueError, match="with history"):
        Belief(Rules(hand_size=3), vector[: layout(Rules(hand_size=3)).size])


def test_an_opener_that_a_deal_would_not_have() -> None:
    """Set up with seat 0 opening, though seat 1 (who sees it) holds [6|6]."""
    rules = Rules.preset("single_round")
    table = set_up(rules, "00 01 02 03 04 05 06, 66 11 12 13 14 15 16", history=True)
    seen = table.games.observe(np.array([0]), np.array([1]))[0][0]
    with pytest.raises(ValueError, match="opener"):
        Belief(rules, seen)
    assert Belief(rules, seen, dealt_openers=False).count == 116280


def test_too_many_to_list(vector: Any) -> None:
    with pytest.raises(ValueError, match="most: takes at least"):
        Belief(Rules(hand_size=3), vector).worlds(most=5)
