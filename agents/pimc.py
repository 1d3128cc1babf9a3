"""PIMC, perfect-information Monte Carlo: worlds that fit what has been seen, solved double-dummy; the best mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.belief import Belief
from agents.double_dummy import POSITION, DoubleDummy
from block_env.observation import Facts, decode
from block_env.tiles import bit_set
from block_env.variants import Rules


class Pimc:
    """Takes the action that is worth most on average over ``worlds`` uniform worlds, everybody then seeing all hands.

    A :class:`block_env.policy.Policy`. Ties go to the lower action id. A row's worlds follow from one number that it
    draws from the generator.

    Args:
        rules: what is played.
        worlds: how many are drawn for a decision; where there are fewer, each is taken once.
    """

    needs_history = True

    def __init__(self, rules: Rules, worlds: int) -> None:
        if worlds < 1:
            raise ValueError(f"worlds: takes a whole number from 1, got {worlds!r}")
        self.rules, self.worlds = rules, worlds
        self._solver = DoubleDummy(rules)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The chosen action of each row, int [B]; observations [B, D] with history, masks [B, A]."""
        seeds = rng.integers(2**63, size=len(observation))
        chosen = [self._choose(*row) for row in zip(observation, action_mask, seeds, strict=True)]
        return np.array(chosen, np.int64)

    def values(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], seed: int) -> NDArray[np.float64]:
        """The mean points of each action, float64 [A], NaN where it is not legal; for one row, [D] and [A]."""
        positions = self._positions(observation, action_mask, np.random.default_rng(seed))
        means: NDArray[np.float64] = self._solver.values(positions).mean(axis=0)
        return means

    def _choose(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], seed: int) -> int:
        legal = np.flatnonzero(action_mask)
        if len(legal) == 1:
            return int(legal[0])
        return int(np.nanargmax(self.values(observation, action_mask, seed)))

    def _belief(self, observation: NDArray[np.float32]) -> Belief:
        try:
            return Belief(self.rules, observation)
        except ValueError:  # a position that was set up need not have the opener that a deal would have
            return Belief(self.rules, observation, dealt_openers=False)

    def _positions(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[Any]:
        belief, facts = self._belief(observation), decode(self.rules, observation)
        few = belief.count <= self.worlds and not self.rules.draw
        worlds = belief.worlds(self.worlds) if few else belief.sample(self.worlds, rng)
        positions = np.zeros(len(worlds), POSITION)
        positions["hands"], positions["order"] = worlds["hands"], worlds["order"]
        _write_public(positions, self.rules, facts, action_mask)
        return positions


def _write_public(positions: NDArray[Any], rules: Rules, facts: Facts, action_mask: NDArray[np.int8]) -> None:
    """What is the same in every world; the viewer, who is to move, is seat 0."""
    count = rules.num_tiles
    positions["legal_left"] = bit_set(np.flatnonzero(action_mask[:count]).tolist())
    positions["legal_right"] = bit_set(np.flatnonzero(action_mask[count : 2 * count]).tolist())
    positions["left"], positions["right"] = (-1, -1) if facts.ends is None else facts.ends
    positions["passes"] = facts.passes
    positions["stock_next"] = sum(facts.tiles_left) + sum(map(len, facts.laid))
