"""What policies would have played at positions of a game, and how far apart they are.

Policies see what the seat to move sees (:mod:`block_env.observation`) and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env.observation import observe
from block_env.policy import Policy, has_probabilities, needs_history, probabilities
from block_env.variants import Rules


@dataclass(frozen=True)
class Decision:
    """A choice among several legal actions, as policies see it.

    Attributes:
        actions: the legal action ids in order, int [n].
        odds: with which each policy takes each of them, float64 [policies, n]; 1 and 0 for one that has no odds.
        scores: what each policy scores them, float64 [n]; None for one that has no ``scores``.
        differ: how far apart the policies are, from 0 to 1: the largest total variation distance between the odds of
            two of them; for one policy alone, the odds of what was not played.
    """

    actions: NDArray[np.int64]
    odds: NDArray[np.float64]
    scores: tuple[NDArray[np.float64] | None, ...]
    differ: float


def kind(policy: Policy) -> str:
    """What a policy tells of its choices: ``"odds"``, ``"scores"``, or its ``"choice"`` alone."""
    if has_probabilities(policy):
        return "odds"
    return "scores" if callable(getattr(policy, "scores", None)) else "choice"


def decisions(
    states: NDArray[Any], rules: Rules, policies: Sequence[Policy], played: NDArray[np.int64], seed: int = 0
) -> list[Decision | None]:
    """What policies would play in each game, the seat to move; None where it has no choice. One call a policy.

    Args:
        states: records of :data:`block_env.state.STATE`, [N].
        rules: what is played.
        policies: made for these rules.
        played: the action that was played in each, int64 [N].
        seed: starts the chance of policies that draw and have no odds.

    Raises:
        ValueError: a policy gives something else than actions or odds.
    """
    found: list[Decision | None] = [None] * len(states)
    _, mask = observe(states, rules, np.arange(len(states)), np.full(len(states), -1))
    free = np.flatnonzero(mask.sum(axis=1) > 1)
    if not free.size:
        return found
    told = [_ask(policy, states[free], rules, seed) for policy in policies]
    for k, row in enumerate(free):
        actions = np.flatnonzero(mask[row])
        odds = np.stack([given[k, actions] for given, _ in told])
        scores = tuple(None if given is None else given[k, actions] for _, given in told)
        found[row] = Decision(actions, odds, scores, _differ(odds, actions == played[row]))
    return found


def _ask(
    policy: Policy, states: NDArray[Any], rules: Rules, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    count = len(states)
    observation, mask = observe(states, rules, np.arange(count), np.full(count, -1), needs_history(policy))
    odds = probabilities(policy, observation, mask, np.random.default_rng(seed))
    return odds, policy.scores(observation, mask) if kind(policy) == "scores" else None  # type: ignore[attr-defined]


def _differ(odds: NDArray[np.float64], played: NDArray[np.bool_]) -> float:
    if len(odds) == 1:
        return float(odds[0, ~played].sum())
    return max(float(np.abs(one - other).sum()) / 2 for one, other in combinations(odds, 2))
