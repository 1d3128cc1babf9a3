"""A peer: the two-player block dominoes of OpenSpiel, for scale, where it is installed."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import block_env
from benchmarks import empty_env
from benchmarks.measure import Pair, Size, SkippedError

SEED = 1


def load() -> Any:
    """The game; a :class:`SkippedError` where it cannot be had."""
    try:
        import pyspiel
        from open_spiel.python.games import block_dominoes  # noqa: F401  registers it
    except ImportError as missing:
        raise SkippedError(f"OpenSpiel's block dominoes cannot be imported: {missing}.") from None
    return pyspiel.load_game("python_block_dominoes")


def random_game(game: Any, rng: np.random.Generator) -> list[int]:
    """The actions of a random game, the deal's among them: they are played again on the clock."""
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    return list(state.history())


def rate(game: Any, games: list[list[int]]) -> float:
    """Turns a second, each with mask and tensor of its player; deals are on the clock, passes are not played."""
    start, steps = time.perf_counter(), 0
    for actions in games:
        state = game.new_initial_state()
        for action in actions:
            if not state.is_chance_node():
                state.legal_actions_mask()
                state.information_state_tensor(state.current_player())
                steps += 1
            state.apply_action(action)
    return steps / (time.perf_counter() - start)


def open_spiel_row(size: Size) -> Pair:
    """``raw_env()`` in single rounds against OpenSpiel's."""
    game, env, rng = load(), block_env.raw_env(rules="single_round"), np.random.default_rng(SEED)
    count = 10 * size.aec_games  # a match takes about ten rounds
    theirs = [random_game(game, rng) for _ in range(count)]
    ours = empty_env.random_games(env, count)
    return Pair(partial(empty_env.rate, env, ours), partial(rate, game, theirs))
