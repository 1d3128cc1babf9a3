"""A peer: the two-player match of Block as a batch in NumPy alone, for scale."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.batches import Picker, Stepping
from benchmarks.measure import Pair, Size

TILES, PIPS, HAND, TARGET = 28, 7, 7, 100
LOW, HIGH = np.triu_indices(PIPS)
TOTAL = LOW + HIGH
_FITS = np.array([(pip == LOW) | (pip == HIGH) for pip in range(PIPS)])
# Indexed by an end; -1, no end yet, takes the last row: the opening tile has one action, the left one.
FITS_LEFT = np.vstack([_FITS, np.ones((1, TILES), np.bool_)])
FITS_RIGHT = np.vstack([_FITS, np.zeros((1, TILES), np.bool_)])
ONE_HOT = np.vstack([np.eye(PIPS, dtype=np.float32), np.zeros((1, PIPS), np.float32)])


class NumpyGames:
    """N games in lockstep; ``observation`` [N, 121] and ``action_mask`` [N, 57] are laid out as in ``Games``."""

    def __init__(self, count: int, seed: int = 0) -> None:
        self.num_games = count
        self._rng, self._all = np.random.default_rng(seed), np.arange(count)
        self.hands = np.zeros((count, 2, TILES), np.bool_)
        self.laid = np.zeros((count, 2, TILES), np.bool_)
        self.lacks = np.zeros((count, 2, PIPS), np.bool_)
        self.ends, self.scores = np.zeros((count, 2), np.int64), np.zeros((count, 2), np.int64)
        self.to_play, self.opener, self.passes = (np.zeros(count, np.int64) for _ in range(3))
        self.observation = np.zeros((count, 121), np.float32)
        self.action_mask = np.zeros((count, 2 * TILES + 1), np.int8)
        self._deal(self._all, self._rng.integers(0, 2, count))
        self.observe()

    def step(self, actions: NDArray[np.int64]) -> None:
        """Play a legal action in every game; a round, or match, that ends is followed by the next at once."""
        mover, passing = self.to_play.copy(), actions == 2 * TILES
        self._lay(np.flatnonzero(~passing), mover, actions)
        blind = np.flatnonzero(passing)
        self.lacks[blind[:, None], mover[blind, None], self.ends[blind]] = True
        self.passes = np.where(passing, self.passes + 1, 0)
        self.to_play = 1 - mover
        out = ~self.hands[self._all, mover].any(axis=1)
        self._end_rounds(np.flatnonzero(out | (self.passes == 2)), out, mover)
        self.observe()

    def observe(self) -> None:
        """Write what the seat to move sees, and may do."""
        rows, own, out = self._all, self.to_play, self.observation
        other, mask = 1 - own, self.action_mask
        hand = self.hands[rows, own]
        out[:, :28], out[:, 28:56], out[:, 56:84] = hand, self.laid[rows, own], self.laid[rows, other]
        out[:, 84:98] = ONE_HOT[self.ends].reshape(-1, 2 * PIPS)
        out[:, 98], out[:, 99] = hand.sum(axis=1) / HAND, self.hands[rows, other].sum(axis=1) / HAND
        out[:, 100:107], out[:, 107:114] = self.lacks[rows, own], self.lacks[rows, other]
        out[:, 114], out[:, 115], out[:, 116] = self.opener == own, self.opener == other, 1
        out[:, 118] = self.passes / 2
        out[:, 119], out[:, 120] = self.scores[rows, own] / TARGET, self.scores[rows, other] / TARGET
        mask[:, :TILES] = hand & FITS_LEFT[self.ends[:, 0]]
        mask[:, TILES:-1] = hand & FITS_RIGHT[self.ends[:, 1]]
        mask[:, -1] = ~mask[:, :-1].any(axis=1)

    def _lay(self, rows: NDArray[np.int64], mover: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        seat, end, tile = mover[rows], actions[rows] // TILES, actions[rows] % TILES
        self.hands[rows, seat, tile] = False
        self.laid[rows, seat, tile] = True
        opening = self.ends[rows, 0] < 0
        self.ends[rows, end] = TOTAL[tile] - self.ends[rows, end]
        first = rows[opening]
        self.ends[first, 0], self.ends[first, 1] = LOW[tile[opening]], HIGH[tile[opening]]

    def _end_rounds(self, rows: NDArray[np.int64], out: NDArray[np.bool_], mover: NDArray[np.int64]) -> None:
        pips = self.hands[rows] @ TOTAL
        own, other = pips[:, 0], pips[:, 1]
        blocked = np.stack([np.maximum(other - own, 0), np.maximum(own - other, 0)], axis=1)
        domino = pips[:, ::-1] * (np.arange(2) == mover[rows, None])
        self.scores[rows] += np.where(out[rows, None], domino, blocked)
        opener, over = 1 - self.opener[rows], (self.scores[rows] >= TARGET).any(axis=1)
        self.scores[rows[over]] = 0
        self._deal(rows, np.where(over, self._rng.integers(0, 2, len(rows)), opener))

    def _deal(self, rows: NDArray[np.int64], opener: NDArray[np.int64]) -> None:
        order = self._rng.random((len(rows), TILES)).argpartition(2 * HAND, axis=1)[:, : 2 * HAND]
        order = self._rng.permuted(order, axis=1)  # which 14 is chance; who gets which of them is, too
        self.hands[rows], self.laid[rows], self.lacks[rows] = False, False, False
        for seat in range(2):
            self.hands[rows[:, None], seat, order[:, seat * HAND : (seat + 1) * HAND]] = True
        self.ends[rows], self.passes[rows] = -1, 0
        self.opener[rows] = self.to_play[rows] = opener


def numpy_rate(games: NumpyGames, picker: Picker, seconds: float) -> float:
    """Steps a second; the clock runs in ``step`` alone."""
    spent, steps = 0.0, 0
    while spent < seconds or steps < 10:
        actions = picker(games.action_mask)
        start = time.perf_counter()
        games.step(actions)
        spent += time.perf_counter() - start
        steps += 1
    return steps * games.num_games / spent


def numpy_row(size: Size) -> Pair:
    """``Games`` against the same batch in NumPy, 4,096 games each."""
    other = partial(numpy_rate, NumpyGames(4096), Picker(4096), size.seconds)
    return Pair(partial(Stepping(4096).rate, size.seconds), other)
