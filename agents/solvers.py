"""Solvers: from a tree (:mod:`agents.exact`) to a policy that nothing exploits by more than a given number of points.

``cfr+`` (Tammelin, 2014), ``dcfr`` (Brown and Sandholm, 2019), ``pcfr+`` (Farina, Kroer and Sandholm, 2021) and
``pdcfr+`` (Xu and others, 2024) play against themselves and keep what each action would have brought; their average
play comes near equilibrium. ``mmd``, magnetic mirror descent (Sokota and others, 2023), is what regularised policy
gradients do, done exactly: its last policy comes near equilibrium as the pull to uniform play falls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.exact import Table, Tree, bounds, reach, uniform_table, values_against
from block_env._compile import Array, Int, kernel
from block_env.keywords import is_whole

CHECK_EVERY, CHECK_GROWTH = 10, 1.1
"""The exploitability is taken after so many iterations more, or so many times as many: a tenth of the time at most."""


class Point(NamedTuple):
    """Where a solver stands: iterations and seconds so far (without those of measuring), exploitability in points, and
    bounds of the value for the seat that opens."""

    iteration: int
    seconds: float
    exploitability: float
    low: float
    high: float


@dataclass(frozen=True)
class Solution:
    """What a solver found: its method, its policy, and how it came near; ``curve[-1]`` is about ``table``."""

    method: str
    table: Table
    curve: tuple[Point, ...]


@dataclass(frozen=True)
class Regrets:
    """How a method of counterfactual regret minimisation weighs what was.

    Attributes:
        positive, negative: at iteration t regrets above and below 0 are kept to t^p / (t^p + 1), p being this power.
        average: iteration t counts t to this power in the average policy.
        predict: expect the last regret once more.
    """

    positive: float
    negative: float
    average: float
    predict: bool


REGRETS = {
    "cfr+": Regrets(inf, -inf, 1, False),
    "dcfr": Regrets(1.5, 0, 2, False),
    "pcfr+": Regrets(inf, -inf, 2, True),
    "pdcfr+": Regrets(2.3, -inf, 5, True),
}
METHODS = (*REGRETS, "mmd")


def solve(
    tree: Tree,
    method: str = "dcfr",
    until: float = 1e-5,
    max_iterations: int = 10_000,
    progress: Callable[[Point], object] | None = None,
) -> Solution:
    """Solve a round; the same arguments give the same policy.

    Args:
        tree: as ``exact.build`` makes it; best a merged one.
        method: one of ``METHODS``.
        until: the exploitability in points at which it stops, half the duality gap.
        max_iterations: where it stops at the latest. An iteration takes each seat once, one after the other.
        progress: called with each point of the curve; it stops where this says True.

    Raises:
        ValueError: an argument is out of range.
    """
    _check(method, until, max_iterations)
    solver: Solver = MirrorDescent(tree) if method == "mmd" else RegretMinimiser(tree, REGRETS[method])
    curve: list[Point] = []
    seconds, next_check = 0.0, CHECK_EVERY
    for iteration in range(1, max_iterations + 1):
        started = time.perf_counter()
        solver.step(iteration)
        seconds += time.perf_counter() - started
        if iteration < next_check and iteration < max_iterations:
            continue
        next_check = int(max(iteration + CHECK_EVERY, iteration * CHECK_GROWTH))
        low, high = bounds(tree, solver.policy())
        curve.append(Point(iteration, seconds, (high - low) / 2, low, high))
        if (progress is not None and progress(curve[-1]) is True) or curve[-1].exploitability <= until:
            break
    return Solution(method, solver.policy(), tuple(curve))


def _check(method: str, until: float, max_iterations: int) -> None:
    if method not in METHODS:
        raise ValueError(f"method: takes {', '.join(METHODS)}, got {method!r}")
    if isinstance(until, bool) or not isinstance(until, int | float) or not until >= 0:
        raise ValueError(f"until: takes points from 0, got {until!r}")
    if not is_whole(max_iterations) or max_iterations < 1:
        raise ValueError(f"max_iterations: takes a whole number from 1, got {max_iterations!r}")


class Solver(Protocol):
    """An iteration at a time."""

    def step(self, iteration: int) -> None:
        """Take the iteration of this number, from 1: each seat once."""

    def policy(self) -> Table:
        """What has been found so far."""


@dataclass
class RegretMinimiser:
    """Counterfactual regret minimisation, the seats taking turns; its policy is the average of what it played."""

    tree: Tree
    weights: Regrets
    odds: Table = field(init=False)
    regrets: NDArray[np.float64] = field(init=False)
    reached: NDArray[np.float64] = field(init=False)
    sums: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.odds = uniform_table(self.tree)
        self.regrets, self.sums = np.zeros_like(self.odds), np.zeros_like(self.odds)
        self.reached = reach(self.tree, self.odds)

    def step(self, iteration: int) -> None:
        tree, weights = self.tree, self.weights
        keep = [_kept(iteration - 1, power) for power in (weights.positive, weights.negative)]
        sets = tree.seat, tree.first, tree.parent
        for seat in (0, 1):
            values = values_against(tree, seat, self.reached)
            match_regrets(seat, *sets, values, self.regrets, *keep, float(weights.predict), self.odds)
            add_reach(seat, *sets, self.odds, float(iteration) ** weights.average, self.reached, self.sums)

    def policy(self) -> Table:
        table = np.ones_like(self.sums)
        share_out(self.tree.first, self.tree.parent, self.sums, table)
        return table


def _kept(iteration: int, power: float) -> float:
    """t^p / (t^p + 1), for any power."""
    if abs(power) == inf:
        return float(power > 0)
    return float(iteration**power / (iteration**power + 1))


@dataclass
class MirrorDescent:
    """Magnetic mirror descent on the values of actions, the seats taking turns; its policy is the last one.

    Attributes:
        pull: points that a unit of entropy is worth in the first iteration; it falls with one over the iterations.
        rate: the step, in one over points.
    """

    tree: Tree
    pull: float = 3.0
    rate: float = 1.0
    odds: Table = field(init=False)
    logits: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.odds = uniform_table(self.tree)
        self.logits = np.zeros_like(self.odds)

    def step(self, iteration: int) -> None:
        tree = self.tree
        for seat in (0, 1):
            other = reach(tree, self.odds)
            values, deals = values_against(tree, seat, other), values_against(tree, seat, other, count=True)
            sets = tree.seat, tree.first, tree.parent
            descend(seat, *sets, values, deals, self.logits, self.rate, self.pull / iteration, self.odds)

    def policy(self) -> Table:
        return self.odds.copy()


# Kernels --------------------------------------------------------------------------------------------------------------


@kernel
def match_regrets(
    seat: Int,
    seats: Array,
    first: Array,
    parent: Array,
    values: Array,
    regrets: Array,
    keep_positive: float,
    keep_negative: float,
    predict: float,
    odds: Array,
) -> None:
    """Carry ``values`` (float64 [s]) up from a seat's last turns to its first, and match its odds to its regrets."""
    for i in range(len(parent) - 1, -1, -1):
        if seats[i] != seat:
            continue
        start, stop, total, norm = first[i], first[i + 1], 0.0, 0.0
        for k in range(start, stop):
            total += odds[k] * values[k]
        values[parent[i]] += total
        for k in range(start, stop):
            regret = values[k] - total
            regrets[k] = regrets[k] * (keep_positive if regrets[k] > 0 else keep_negative) + regret
            odds[k] = max(max(regrets[k], 0.0) + predict * regret, 0.0)
            norm += odds[k]
        for k in range(start, stop):
            odds[k] = odds[k] / norm if norm > 0 else 1 / (stop - start)


@kernel
def add_reach(
    seat: Int, seats: Array, first: Array, parent: Array, odds: Array, weight: float, reached: Array, sums: Array
) -> None:
    """What a seat's odds reach, into ``reached`` (float64 [s]), and added to ``sums`` with this weight."""
    sums[seat] += weight
    for i in range(len(parent)):
        if seats[i] == seat:
            before = reached[parent[i]]
            for k in range(first[i], first[i + 1]):
                reached[k] = before * odds[k]
                sums[k] += weight * reached[k]


@kernel
def share_out(first: Array, parent: Array, sums: Array, odds: Array) -> None:
    """The odds of a policy that reaches sequences in these shares; where it never comes, all alike."""
    for i in range(len(parent)):
        start, stop = first[i], first[i + 1]
        for k in range(start, stop):
            odds[k] = sums[k] / sums[parent[i]] if sums[parent[i]] > 0 else 1 / (stop - start)


@kernel
def descend(
    seat: Int,
    seats: Array,
    first: Array,
    parent: Array,
    values: Array,
    deals: Array,
    logits: Array,
    rate: float,
    pull: float,
    odds: Array,
) -> None:
    """Carry ``values`` and the weight of ``deals`` (float64 [s]) up, and take a step at each of a seat's sets.

    An action's value there is in points, a mean over deals and the other's play. The step, with the uniform policy as
    magnet: odds ~ (odds * exp(rate * value))^(1 / (1 + rate * pull)).
    """
    for i in range(len(parent) - 1, -1, -1):
        if seats[i] != seat:
            continue
        start, stop, total, weight, norm = first[i], first[i + 1], 0.0, 0.0, 0.0
        for k in range(start, stop):
            total += odds[k] * values[k]
            weight += odds[k] * deals[k]
        values[parent[i]] += total
        deals[parent[i]] += weight
        highest = -np.inf
        for k in range(start, stop):
            gain = rate * (values[k] - total) / weight if weight > 0 else 0.0
            logits[k] = (logits[k] + gain) / (1 + rate * pull)
            highest = max(highest, logits[k])
        for k in range(start, stop):
            odds[k] = np.exp(logits[k] - highest)
            norm += odds[k]
        for k in range(start, stop):
            odds[k] /= norm
