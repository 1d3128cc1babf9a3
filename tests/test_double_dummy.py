"""The double-dummy solver against brute-force minimax over the core, and against positions worked out by hand."""

from __future__ import annotations

import pickle
from typing import Any

import numba
import numpy as np
import pytest
from helpers import (
    ALL_RULES,
    COMPILED,
    action_id,
    random_actions,
    random_rules,
    random_states,
    rules_name,
    scaled,
    set_up,
)

from agents.double_dummy import POSITION, DoubleDummy, positions_of
from block_env import rules as kernels
from block_env.play import Games
from block_env.state import new_states
from block_env.variants import Rules, rules_table

compiled = numba.njit(error_model="numpy") if COMPILED else lambda function: function
"""Uncached: Numba cannot cache a function that calls itself."""


@compiled
def minimax(states: Any, rules: Any, depth: int, root: int, left: Any) -> int:
    """Brute force over the core: what row ``depth`` is worth to side ``root``, all others against it.

    In units of a point over one less than the number of sides; rows after ``depth`` are written over.
    ``left[0]`` counts down the turns that may still be looked at; below 0 the answer means nothing.
    """
    mover = states[depth].to_play
    best = np.int64(0)
    first = True
    for action in range(2 * rules.num_tiles + 1):
        if left[0] >= 0 and kernels.is_legal(states[depth], rules, action):
            value = after(states, rules, depth, action, root, left)
            better = value > best if mover % rules.num_sides == root else value < best
            if first or better:
                best, first = value, False
    return best


@compiled
def after(states: Any, rules: Any, depth: int, action: int, root: int, left: Any) -> int:
    left[0] -= 1
    states[depth + 1] = states[depth]
    reason = kernels.play(states[depth + 1], rules, action)
    if reason == 0:
        return minimax(states, rules, depth + 1, root, left)
    winner, points = states[depth + 1].last_winner, np.int64(states[depth + 1].last_points)
    if winner < 0:
        return np.int64(0)
    return points * (rules.num_sides - 1) if winner == root else -points


def brute_force(states: Any, rules: Rules, turns: int = 10**9) -> Any:
    """The value of every legal action, float64 [N, A], NaN elsewhere; all 999 where that takes more than ``turns``."""
    table, stack = rules_table(rules)[0], new_states(300)
    values = np.full((len(states), rules.num_actions), np.nan)
    for row in np.flatnonzero(states["to_play"] >= 0):
        stack[0], left = states[row], np.array([turns])
        root = int(stack[0].to_play) % rules.num_sides
        for action in range(rules.num_actions):
            if kernels.is_legal(stack[0], table, action):
                values[row, action] = after(stack, table, 0, action, root, left) / (rules.num_sides - 1)
        if left[0] < 0:
            values[row] = 999
    return values


def check(states: Any, rules: Rules, expected: Any) -> None:
    solver = DoubleDummy(rules, table_bits=14)
    np.testing.assert_array_equal(solver.values(states), expected)
    actions, values = solver.best(states)
    going = states["to_play"] >= 0
    assert ((actions >= 0) == going).all()
    assert np.isnan(values[~going]).all()
    best = np.nanmax(expected[going], axis=1)
    np.testing.assert_array_equal(values[going], best)
    np.testing.assert_array_equal(expected[going, actions[going]], best)


def small_rules(rng: np.random.Generator) -> Rules:
    while True:
        rules = random_rules(rng)
        drawn = rules.stock_size - rules.stock_reserve if rules.draw else 0
        if rules.num_players * rules.hand_size + drawn <= 9:
            return rules


def test_small_positions_are_solved_as_by_brute_force(rng: np.random.Generator) -> None:
    """10,000 of them, of 200 rule sets with every switch, from the opening to the end of the game."""
    for _ in range(scaled(200, 2)):
        rules = small_rules(rng)
        states = random_states(rules, scaled(50, 5), rng).states
        check(states, rules, brute_force(states, rules))


@pytest.mark.parametrize("rules", ALL_RULES, ids=rules_name)
def test_endgames_are_solved_as_by_brute_force(rules: Rules, rng: np.random.Generator) -> None:
    """500 of each rule set: all positions of played rounds that brute force can bear."""
    games, wanted = Games(scaled(64, 4), rules, seed=5), scaled(500, 3)
    found, expected = [], []
    while sum(map(len, found)) < wanted:
        games.step(random_actions(games.action_mask, rng))
        values = brute_force(games.states, rules, scaled(2000, 100))
        bearable = values[:, 0] != 999
        found.append(games.states[bearable])
        expected.append(values[bearable])
    check(np.concatenate(found), rules, np.concatenate(expected))


def test_a_position_worked_out_by_hand() -> None:
    """Ends 1 and 4 after [1|4]: whatever is laid, [0|1] goes out next, against the other tile's pips."""
    table = set_up(Rules(max_pip=6, hand_size=2), "14 01, 46 11").play("14L")
    assert table.legal_moves("46R", "11L")
    solver = DoubleDummy(table.games.rules)
    values = solver.values(table.games.states)[0]
    assert (values[action_id("11L", 6)], values[action_id("46R", 6)]) == (-10, -2)
    assert solver.best(table.games.states)[0].tolist() == [action_id("46R", 6)]


def test_what_is_worth_nothing_more() -> None:
    """A finished game: no action, no value; no games: empty answers."""
    table = set_up(Rules(max_pip=6, hand_size=1), "00, 66").play("00L")
    solver = DoubleDummy(table.games.rules)
    assert np.isnan(solver.values(table.games.states)).all()
    assert solver.best(table.games.states)[0].tolist() == [-1]
    assert solver.values(table.games.states[:0]).shape == (0, 57)


def test_values_do_not_depend_on_what_was_solved_before() -> None:
    rules = Rules.preset("match")
    states = Games(scaled(200, 2), rules, seed=1).states
    solver = DoubleDummy(rules)
    values = solver.values(states)
    assert np.array_equal(solver.values(states[::-1])[::-1], values, equal_nan=True)
    assert np.array_equal(DoubleDummy(rules, table_bits=2).values(states), values, equal_nan=True)
    assert np.array_equal(pickle.loads(pickle.dumps(solver)).values(states), values, equal_nan=True)
    assert np.array_equal(solver.values(positions_of(states)), values, equal_nan=True)
    assert positions_of(states).dtype == POSITION


def test_patience_has_an_end() -> None:
    """The row is named, and the solver is as good as before."""
    states = Games(3, "partnership", seed=1).states
    solver = DoubleDummy(Rules.preset("partnership"), table_bits=8, limit=50)
    for ask in (solver.values, solver.best):
        with pytest.raises(ValueError, match="states: takes positions of at most 50 nodes, the one in row 0 has more"):
            ask(states)
    small = Games(20, Rules(4, max_pip=2, hand_size=1, partnership=True), seed=1).states
    assert (DoubleDummy(Rules(4, max_pip=2, hand_size=1, partnership=True), limit=50).best(small)[0] >= 0).all()


def test_sides_of_two_lose_what_the_other_wins() -> None:
    """Exact with two sides: after the best move the position is worth the same to the other side."""
    rules = Rules.preset("match")
    games = Games(scaled(100, 2), rules, seed=4)
    actions, values = DoubleDummy(rules).best(games.states)
    games.step(actions)
    same = games.to_play % rules.num_sides != games.states["opener"]
    after_values = DoubleDummy(rules).best(games.states)[1]
    assert same.any()
    np.testing.assert_array_equal(after_values[same], -values[same])
