"""What several test files share: positions set up in words, random states, and swaps of what nobody may see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from reference import Tile, all_deals, tile_order

from block_env import rules as kernels
from block_env.game import Game
from block_env.observation import observe
from block_env.play import Games
from block_env.variants import PRESETS, Rules, rules_table

COMPILED = not numba.config.DISABLE_JIT


def scaled(compiled: int, plain: int) -> int:
    """A number of repetitions: the first, or with ``NUMBA_DISABLE_JIT=1``, where a step is far slower, the second."""
    return compiled if COMPILED else plain


# Rule sets ------------------------------------------------------------------------------------------------------------

PRESET_RULES = [Rules.preset(name, seats) for name in PRESETS if name != "partnership" for seats in (2, 3, 4)]
PRESET_RULES.append(Rules.preset("partnership"))

VARIED_RULES = [
    Rules(max_pip=1, hand_size=1),
    Rules(max_pip=9, hand_size=27),
    Rules(4, max_pip=9, hand_size=1, draw=True, first_opener="highest_double"),
    Rules(3, max_pip=3, hand_size=2, draw=True, stock_reserve=2, target=15),
    Rules(2, max_pip=4, hand_size=4, target=20, opener_plays_double=True, blocked_points="opponents"),
    Rules(4, partnership=True, hand_size=5, draw=True, target=61, blocked_compare="hand"),
    Rules(4, max_pip=8, partnership=True, blocked_compare="hand", blocked_points="opponents"),
]
"""Sizes and switches that the presets do not have."""

ALL_RULES = PRESET_RULES + VARIED_RULES
SOME_RULES = [Rules.preset("draw"), Rules.preset("partnership"), *VARIED_RULES[3:6]]
"""Enough of them for runs without the JIT: every switch is on in one and off in another."""


def rules_name(rules: Rules) -> str:
    """A short id for parametrised tests: what differs from ``Rules()``."""
    usual = Rules().as_dict()
    return ",".join(f"{name}={value}" for name, value in rules.as_dict().items() if value != usual[name]) or "plain"


every_rules = pytest.mark.parametrize("rules", ALL_RULES if COMPILED else SOME_RULES, ids=rules_name)


def random_rules(rng: np.random.Generator) -> Rules:
    """Any legal rule set: every field is drawn."""
    max_pip = int(rng.integers(1, 10))
    count = (max_pip + 1) * (max_pip + 2) // 2
    seats = int(rng.integers(2, min(4, count) + 1))
    hand_size = int(rng.integers(1, count // seats + 1)) if rng.random() < 0.5 else min(count // seats, 6)
    stock = count - seats * hand_size
    draw = bool(rng.random() < 0.4)
    return Rules(
        seats,
        max_pip=max_pip,
        hand_size=hand_size,
        partnership=seats == 4 and bool(rng.random() < 0.5),
        draw=draw,
        stock_reserve=int(rng.integers(0, stock + 1)) if draw and rng.random() < 0.5 else 0,
        target=int(rng.integers(1, 101)) if rng.random() < 0.6 else None,
        first_opener=str(rng.choice(["lot", "highest_double"])),
        opener_plays_double=bool(rng.random() < 0.4),
        blocked_compare=str(rng.choice(["side", "hand"])),
        blocked_points=str(rng.choice(["difference", "opponents"])),
    )


# Positions in words ---------------------------------------------------------------------------------------------------


def read_tiles(text: str) -> list[Tile]:
    """``"12 33"`` is [1|2] and [3|3]."""
    return [(int(word[0]), int(word[1])) for word in text.split()]


def read_hands(text: str) -> list[list[Tile]]:
    """``"12 33, 00 26"``: a hand a seat, in seat order."""
    return [read_tiles(hand) for hand in text.split(",")]


def action_id(move: str, max_pip: int) -> int:
    """``"12L"`` lays [1|2] at the left end, ``"12R"`` at the right end; ``"pass"`` passes (DESIGN.md, Actions)."""
    order = tile_order(max_pip)
    if move == "pass":
        return 2 * len(order)
    match = re.fullmatch(r"(\d)(\d)([LR])", move)
    assert match is not None, move
    return order.index((int(match[1]), int(match[2]))) + (len(order) if match[3] == "R" else 0)


@dataclass
class Table:
    """One game played from a set-up position: its batch of one, and what the last step gave."""

    games: Games
    rewards: list[float]
    done: bool

    @property
    def game(self) -> Game:
        return self.games.snapshot(0)

    @property
    def legal(self) -> set[int]:
        return set(np.flatnonzero(self.games.action_mask[0]).tolist())

    def legal_moves(self, *moves: str) -> bool:
        """Whether exactly these moves are legal."""
        return self.legal == {action_id(move, self.games.rules.max_pip) for move in moves}

    def play(self, moves: str) -> Table:
        """Play moves in order, as :func:`action_id` reads them."""
        for move in moves.split():
            rewards, done = self.games.step(np.array([action_id(move, self.games.rules.max_pip)]))
            self.rewards, self.done = rewards[0].tolist(), bool(done[0])
        return self


def set_up(
    rules: Rules,
    hands: str,
    opener: int | None = 0,
    scores: Sequence[int] | None = None,
    reward: str = "points",
    history: bool = False,
) -> Table:
    """A game with these hands (:func:`read_hands`), set up through the public door; it stays at its end."""
    games = Games(1, rules, reward=reward, history=history, seed=1, auto_reset=False)
    games.reset(options={"hands": read_hands(hands), "opener": opener, "scores": scores})
    return Table(games, [0.0] * rules.num_players, False)


# Random play ----------------------------------------------------------------------------------------------------------


def random_actions(mask: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
    """A uniform legal action a row."""
    return (mask * (1 + rng.random(mask.shape))).argmax(axis=1)


def play_steps(games: Games, steps: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Play at random: up to ``steps[i]`` actions in game i, fewer where it ends."""
    for done in range(int(steps.max())):
        rows = np.flatnonzero((steps > done) & (games.to_play >= 0))
        if not rows.size:
            return
        games.step(random_actions(games.action_mask[rows], rng), rows)


def random_states(rules: Rules, count: int, rng: np.random.Generator, history: bool = False) -> Games:
    """Games stopped at random moments: at the start, in first and later rounds, and after the end."""
    games = Games(count, rules, history=history, seed=int(rng.integers(2**32)), auto_reset=False)
    longest = 60 if rules.target is None else 120
    play_steps(games, rng.integers(0, longest, count) * (rng.random(count) < 0.95), rng)
    return games


def play_out_at_random(games: Games, rng: np.random.Generator) -> None:
    """Play every game to its end."""
    while (rows := np.flatnonzero(games.to_play >= 0)).size:
        games.step(random_actions(games.action_mask[rows], rng), rows)


# Whole trees of tiny sets ---------------------------------------------------------------------------------------------


def every_deal(rules: Rules) -> NDArray[Any]:
    """A record of every deal, seat 0 opening."""
    deals = [list(map(sorted, deal.hands)) for deal in all_deals(rules.num_players, rules.max_pip, rules.hand_size)]
    games = Games(len(deals), rules, seed=0)
    for row, hands in enumerate(deals):
        games.reset(options={"hands": hands, "opener": 0}, rows=np.array([row]))
    return games.states


def after_every_action(states: NDArray[Any], rules: Rules) -> NDArray[Any]:
    """Every position one turn on; a child is a copied row."""
    rows, actions = np.nonzero(seen_by_all(states, rules, -1)[1])
    count = len(rows)
    after, rewards, done = states[rows], np.zeros((count, rules.num_players), np.float32), np.zeros(count, np.bool_)
    kernels.step_games(
        after, rules_table(rules), np.arange(count), actions, False, False, rewards, done, np.zeros(count, np.int8)
    )
    assert (done == (after["over"] == 1)).all()
    return after


# What a player sees ---------------------------------------------------------------------------------------------------


def seen_by_all(
    states: NDArray[Any], rules: Rules, viewer: int, history: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """The observation [n, D] and the mask [n, A] of a seat (-1: the one to move) in every game of these records."""
    count = len(states)
    return observe(states, rules, np.arange(count), np.full(count, viewer), history)


def seen(
    states: NDArray[Any], rules: Rules, row: int, viewer: int, history: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """The observation and the mask of ``viewer`` in the game of one record."""
    observation, mask = seen_by_all(states[row : row + 1], rules, viewer, history)
    return observation[0], mask[0]


def swapped(states: NDArray[Any], rules: Rules, row: int, viewer: int, rng: np.random.Generator) -> NDArray[Any]:
    """The same game for ``viewer``, another one for the others: a copy (length 1) with all that is hidden drawn anew.

    The tiles that ``viewer`` cannot see (the others' hands and the stock) change places at random; the numbers in each
    place, what has been laid, shown, passed and scored, and the viewer's own hand stay. Traces of the shuffle go too:
    the order in which tiles were dealt, the lot, and the random stream with all deals to come.
    """
    copied = states[row : row + 1].copy()
    state = copied[0]
    others = [seat for seat in range(rules.num_players) if seat != viewer]
    held = {seat: _ids(state.hands[seat]) for seat in others}
    stock = state.order[state.stock_next : rules.num_tiles].tolist()
    hidden = rng.permutation([*stock, *(tile for seat in others for tile in held[seat])]).tolist()
    for seat in others:
        state.hands[seat] = sum(1 << hidden.pop() for _ in held[seat])
    dealt = rng.permutation([tile for tile in range(rules.num_tiles) if tile not in hidden])
    state.order[: rules.num_tiles] = [*dealt, *hidden]
    state.last_lot = rng.integers(rules.num_players)
    state.stream, state.words, state.words_used = rng.integers(2**32, size=4), rng.integers(2**32, size=4), 3
    if not state.over:  # what the mover may lay follows from its hand
        kernels.give_turn(state, rules_table(rules)[0], int(state.to_play))
    return copied


def _ids(bits: int) -> list[int]:
    return [tile for tile in range(64) if int(bits) >> tile & 1]


def same_bytes(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
