"""Clairvoyant: sees all hands (in Draw the stock, too) and plays double-dummy; evaluation's upper mark, no agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.double_dummy import DoubleDummy
from block_env.variants import Rules


class Clairvoyant:
    """Takes the action that is worth most points of the round when everybody sees all hands.

    A :class:`block_env.policy.Seer`: it is given the games themselves, and only evaluation does that. Of equally good
    actions it takes the lowest id, the left end before the right.
    """

    sees_everything = True

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._solver = DoubleDummy(rules)

    def act_on(self, states: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """The best action in each game, int64 [B]; records of dtype :data:`block_env.state.STATE`, [B]."""
        return self._solver.best(states)[0]
