"""How large a tree will be (:mod:`agents.exact`), before any memory is taken for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from agents.exact_growth import BATCH, num_deals
from agents.exact_hands import count_ones
from block_env.play import Games
from block_env.state import STATE
from block_env.variants import Rules, rules_table

ROUNDS = 20_000
"""Rounds that the estimate plays."""


class TreeTooLargeError(ValueError):
    """A tree that does not fit into the memory allowed."""


@dataclass(frozen=True)
class Size:
    """What a tree takes. Deals are exact; all else is estimated from random rounds, to some percent.

    Attributes:
        deals: ways to deal the two hands.
        infosets: information sets, forced moves included; ``decisions``: those with a choice.
        sequences: actions of those with a choice.
        public: public positions; ``ends``: those that end a round; ``shown``: hands that either seat may show there.
    """

    deals: int
    infosets: float
    decisions: float
    sequences: float
    public: float
    ends: float
    shown: float

    @property
    def nbytes(self) -> float:
        """Memory for Python with its kernels, for building (arrays are held twice while they are joined) and solving.

        What ends pay is not foreseen, since many share it; the margin of a quarter is for that.
        """
        build = 2 * (30 * self.decisions + self.sequences + 5 * self.public + 32 * self.ends + 4 * self.shown)
        return 0.5e9 + 1.25 * (build + 96 * self.sequences + 20 * BATCH * STATE.itemsize)


def check_size(rules: Rules, memory_gb: float, merged: bool) -> None:
    """Refuse a tree that does not fit.

    Raises:
        TreeTooLargeError: more memory is needed; the message names the rules and how much.
        ValueError: ``memory_gb`` is no number above 0.
    """
    if isinstance(memory_gb, bool) or not isinstance(memory_gb, int | float) or not memory_gb > 0:
        raise ValueError(f"memory_gb: takes a number above 0, got {memory_gb!r}")
    size = estimate(rules, merged)
    if size.nbytes > memory_gb * 1e9:
        raise TreeTooLargeError(
            f"memory_gb: max_pip {rules.max_pip} with {rules.hand_size} tiles each has {size.deals:,} deals and about "
            f"{size.infosets:.2g} information sets, and takes about {size.nbytes / 1e9:.3g} GB; got {memory_gb!r}"
        )


def estimate(rules: Rules, merged: bool = False, seed: int = 0) -> Size:
    """The size of a tree, from random rounds (Knuth, 1975): each stands for as many as its odds are small."""
    games = Games(ROUNDS, rules, seed=seed, auto_reset=False)
    rng, weight = np.random.default_rng(seed), np.full(ROUNDS, float(num_deals(rules)))
    found = np.zeros(6)
    while True:
        found += _counts(games, weight, rules, merged)
        rows = np.flatnonzero(games.to_play >= 0)
        if not rows.size:
            return Size(num_deals(rules), *(found / ROUNDS).tolist())
        mask = _mask(games, rows, rules, merged)
        weight[rows] *= mask.sum(axis=1)
        weight[games.to_play < 0] = 0
        games.step((mask * (1 + rng.random(mask.shape))).argmax(axis=1), rows)


def _mask(games: Games, rows: NDArray[np.int64], rules: Rules, merged: bool) -> NDArray[np.bool_]:
    mask = games.action_mask[rows] > 0
    if merged:
        states = games.states[rows]
        mask[(states["left"] == states["right"]) & (states["left"] >= 0), rules.num_tiles : 2 * rules.num_tiles] = False
    return mask


def _counts(games: Games, weight: NDArray[np.float64], rules: Rules, merged: bool) -> NDArray[np.float64]:
    """What the positions reached stand for, in the order of :class:`Size`: a share of their weight."""
    states = games.states
    over, mover = games.to_play < 0, np.maximum(games.to_play, 0)
    seen_by = [weight / _hands_against(games, seat, rules) for seat in (0, 1)]
    shared = weight / _pairs(games, rules)
    sets = np.where(over, 0, np.choose(mover, seen_by))
    actions = _mask(games, np.arange(len(states)), rules, merged).sum(axis=1)
    choices = np.where(actions > 1, sets, 0)
    shown = np.where(over, seen_by[0] + seen_by[1], 0)
    counts = [sets, choices, choices * actions, shared, np.where(over, shared, 0), shown]
    return np.array([count.sum() for count in counts])


def _pools(games: Games, rules: Rules) -> tuple[NDArray[np.uint64], ...]:
    """The tiles that either seat may still hold for all that is public: not laid, and no pip that it lacks."""
    states, table = games.states, rules_table(rules)[0]
    every = np.bitwise_or.reduce(table.suit)
    pools = []
    for seat in (0, 1):
        pool = every & ~(states["laid"][:, 0] | states["laid"][:, 1])
        for pip in range(rules.max_pip + 1):
            lacks = states["lacks"][:, seat] >> pip & 1 > 0
            pool[lacks] &= ~table.suit[pip]
        pools.append(pool)
    return tuple(pools)


def _choose(count: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ways to choose so many of so many."""
    ways: NDArray[np.float64] = _BINOMIALS[count, size]
    return ways


_BINOMIALS = np.array([[float(comb(n, k)) for k in range(64)] for n in range(64)])


def _hands_against(games: Games, seat: int, rules: Rules) -> NDArray[np.float64]:
    """How many hands the other seat may have, for all that ``seat`` sees."""
    other = 1 - seat
    pool = _pools(games, rules)[other] & ~games.states["hands"][:, seat]
    return _choose(count_ones(pool), games.states["tiles_left"][:, other])


def _pairs(games: Games, rules: Rules) -> NDArray[np.float64]:
    """How many pairs of hands lead to the public positions, by how many tiles of seat 0 might be seat 1's."""
    first, second = _pools(games, rules)
    held, others = (games.states["tiles_left"][:, seat].astype(np.int64) for seat in (0, 1))
    both, only, theirs = count_ones(first & second), count_ones(first & ~second), count_ones(second)
    total = np.zeros(len(first))
    for taken in range(int(held.max()) + 1):
        rows = (held >= taken) & (taken <= theirs)
        ways = _choose(both, np.full(len(both), taken)) * _choose(only, np.maximum(held - taken, 0))
        total += np.where(rows, ways * _choose(np.maximum(theirs - taken, 0), others), 0)
    return total
