"""The core against the second reading of RULES.md (`reference.py`): random games of every rule set and size.

``BLOCK_DECISIONS`` sets how many decisions are compared. Each game's deals are read from the core's record at the start
of each round and handed to the reference; from there on both play the same actions, and every public and hidden fact,
every reward and every result must be equal at every decision.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from helpers import ALL_RULES, COMPILED, random_actions, random_rules, scaled
from numpy.typing import NDArray
from reference import Deal, Reference, tile_order

from block_env.game import snapshot
from block_env.play import Games
from block_env.state import REASONS, unpack_ply
from block_env.variants import Rules

DECISIONS = int(os.environ.get("BLOCK_DECISIONS", scaled(100_000, 3_000)))
GAMES = scaled(64, 4)
DECISIONS_A_RULE_SET = scaled(1_920, 40)
ALL_ROWS = list(range(GAMES))
SNAPSHOTS = 0.02
"""The share of decisions compared through `snapshot` too, which is slower than reading the record."""

FIELDS = ("hands", "tiles_left", "lacks", "left", "right", "to_play", "opener", "passes", "plies", "stock_next")
FIELDS += ("round_number", "over", "winner", "scores", "last_winner", "last_points", "last_reason")


class Pair:
    """One game of the core and its reference."""

    def __init__(self, games: Games, row: int, scores: list[int] | None) -> None:
        self.games, self.row, self.rules = games, row, games.rules
        self.tiles = tile_order(self.rules.max_pip)
        self.bit = {tile: 1 << index for index, tile in enumerate(self.tiles)}
        self.reference = Reference(self.read_deal, reward=games.reward, scores=scores, **self.rules.as_dict())

    def read_deal(self) -> Deal:
        """The deal on the core's table. The reference checks that it is one full set."""
        state, rules = self.games.states[self.row], self.rules
        dealt = [int(bits) for bits in state.hands[: rules.num_players]]
        hands = [[tile for tile, bit in self.bit.items() if bits & bit] for bits in dealt]
        stock = [self.tiles[tile] for tile in state.order[rules.num_players * rules.hand_size : rules.num_tiles]]
        return Deal(hands, stock, int(state.last_lot))

    def expected(self) -> tuple[Any, ...]:
        """The reference's state, as the fields of a record hold it."""
        game, seats, last = self.reference, self.rules.num_players, self.reference.last_round
        padding, sides = [0] * (4 - seats), 4 - self.rules.num_sides
        left, right = (-1, -1) if game.ends is None else game.ends
        return (
            [sum(map(self.bit.__getitem__, hand)) for hand in game.hands] + padding,
            [len(hand) for hand in game.hands] + padding,
            [sum(1 << pip for pip in lacks) for lacks in game.lacks] + padding,
            left,
            right,
            -1 if game.over else game.to_play,
            game.opener,
            game.passes,
            len(game.history),
            len(self.tiles) - len(game.stock),
            game.round_number,
            game.over,
            -1 if game.winner is None else game.winner,
            game.scores + [0] * sides,
            -1 if last is None or last.winner is None else last.winner,
            0 if last is None else last.points,
            0 if last is None else REASONS.index(last.reason),
        )

    def check_last_turn(self, packed: int) -> None:
        game = self.reference
        seat, action, drawn = game.history[-1]
        passed = action == game.pass_id and (game.over or game.to_play != seat)
        assert unpack_ply(packed) == (seat, action, drawn, passed)

    def check_snapshot(self) -> None:
        game, shown = self.reference, snapshot(self.games.states[self.row], self.rules)
        assert list(shown.line) == game.line
        assert shown.ends == game.ends
        assert [set(hand) for hand in shown.hands] == game.hands
        assert list(shown.stock) == game.stock
        assert [(ply.seat, ply.action, ply.drawn) for ply in shown.history] == game.history
        assert (shown.over, shown.winner, list(shown.scores)) == (game.over, game.winner, game.scores)
        if game.last_round is not None:
            last, expected = shown.last_round, game.last_round
            assert (last.winner, last.points, last.reason) == (expected.winner, expected.points, expected.reason)
            assert [set(hand) for hand in last.hands] == expected.hands


class Match:
    """A batch of pairs under the same rules, and a count of what has been met."""

    def __init__(self, rules: Rules, reward: str, rng: np.random.Generator, met: Counter[str]) -> None:
        self.rng, self.met = rng, met
        self.games = Games(GAMES, rules, reward=reward, seed=int(rng.integers(2**32)), auto_reset=False)
        self.pairs = [self.pair(row) for row in range(GAMES)]

    def pair(self, row: int) -> Pair:
        """A new game in this row, half of them from starting scores."""
        rules, scores = self.games.rules, None
        if rules.target is not None and self.rng.random() < 0.5:
            scores = self.rng.integers(0, rules.max_start_score + 1, rules.num_sides).tolist()
        self.games.reset(options={"scores": scores}, rows=np.array([row]))
        return Pair(self.games, row, scores)

    def step(self) -> None:
        """Compare every game, play one decision in each, and compare the rewards."""
        self.compare()
        actions = random_actions(self.games.action_mask, self.rng)
        rewards, done = self.games.step(actions)
        expected = [self.play(pair, action) for pair, action in zip(self.pairs, actions.tolist(), strict=True)]
        assert np.array_equal(rewards, np.array(expected, np.float32))
        assert done.tolist() == [pair.reference.over for pair in self.pairs]
        ended = np.flatnonzero(done).tolist()
        if ended:
            self.compare(ended)
            for row in ended:
                self.pairs[row] = self.pair(row)

    def play(self, pair: Pair, action: int) -> list[float]:
        rewards, before = pair.reference.step(action), pair.reference.round_number
        if pair.reference.over or not pair.reference.history:
            self.note_end(pair.reference, before)
        elif action == pair.reference.pass_id:
            self.met["draw" if pair.reference.history[-1][2] else "pass"] += 1
        return rewards

    def note_end(self, game: Reference, round_number: int) -> None:
        last = game.last_round
        assert last is not None
        self.met[last.reason if last.winner is not None else "tie"] += 1
        if game.over:
            self.met["draw game" if game.winner is None else "won game"] += 1
            self.met["game of many rounds"] += round_number > 1

    def compare(self, rows: list[int] = ALL_ROWS) -> None:
        states, pairs = self.games.states[rows], [self.pairs[row] for row in rows]
        columns = [states[field].tolist() for field in FIELDS]
        for pair, actual in zip(pairs, zip(*columns, strict=True), strict=True):
            assert actual == pair.expected(), f"{pair.rules}: {dict(zip(FIELDS, actual, strict=True))}"
            assert len(pair.reference.history) <= pair.rules.max_plies
        last = states["history"][np.arange(len(rows)), np.maximum(states["plies"] - 1, 0)].tolist()
        for pair, packed in zip(pairs, last, strict=True):
            if pair.reference.history:
                pair.check_last_turn(packed)
            if self.rng.random() < SNAPSHOTS:
                pair.check_snapshot()
        self.compare_masks(pairs, self.games.action_mask[rows])

    def compare_masks(self, pairs: list[Pair], masks: NDArray[np.int8]) -> None:
        rows, actions = np.nonzero(masks)
        legal = np.split(actions, np.searchsorted(rows, np.arange(1, len(pairs))))
        for pair, actual in zip(pairs, legal, strict=True):
            assert set(actual.tolist()) == pair.reference.legal()


def rule_sets(rng: np.random.Generator) -> Iterator[Rules]:
    """In turn the presets for every number of seats (and some more), and random ones, without end."""
    for rules in cycle(ALL_RULES):
        yield rules
        yield random_rules(rng)


@pytest.mark.nojit
def test_core_equals_the_reference(rng: np.random.Generator) -> None:
    """Masks, turn, ends, line, results, scores, openers, lacks, history, rewards and winners (BUGS D14, D27, D28)."""
    decisions, played, met = 0, 0, Counter[str]()
    for rules in rule_sets(rng):
        match = Match(rules, str(rng.choice(["outcome", "points"])), rng, met)
        for _ in range(DECISIONS_A_RULE_SET // GAMES):
            match.step()
        decisions, played = decisions + DECISIONS_A_RULE_SET // GAMES * GAMES, played + 1
        if decisions >= DECISIONS:
            break
    print(f"{decisions} decisions, {played} rule sets, {dict(met)}")
    assert decisions >= DECISIONS
    if COMPILED:  # enough is played for every kind of turn and end to come up
        ends = {"domino", "blocked", "tie", "won game", "draw game", "game of many rounds"}
        assert {kind for kind, times in met.items() if times} == ends | {"pass", "draw"}
