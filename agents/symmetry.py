"""The line read from either side is the same line: networks see it with the smaller end on the left.

Turning the line round swaps the two ends, the two halves of the action ids, and in the history the two columns of ends.
It changes nothing in the game, so half of all positions need not be learned.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from block_env.observation import layout
from block_env.variants import Rules


class Orientation:
    """Turns lines so that the smaller end is on the left, for one layout."""

    def __init__(self, rules: Rules, history: bool) -> None:
        parts = layout(rules, history)
        self._left, self._right = parts["left_end"], parts["right_end"]
        self._inputs = np.arange(parts.size)
        _swap(self._inputs, self._left.start, self._right.start, self._left.size)
        if history:
            for row in parts["history"].of(self._inputs):
                row[-4:-2] = row[-3:-5:-1].copy()
        self._actions = np.arange(rules.num_actions)
        _swap(self._actions, 0, rules.num_tiles, rules.num_tiles)

    def turned(self, observation: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which rows of observations [B, D] have the larger end on the left, bool [B]."""
        left, right = self._left.of(observation), self._right.of(observation)
        turned: NDArray[np.bool_] = left.argmax(axis=1) > right.argmax(axis=1)
        return turned

    def observations(self, observation: NDArray[np.float32], turned: NDArray[np.bool_]) -> NDArray[np.float32]:
        """A copy of observations [B, D] with those lines turned round."""
        seen = observation[:, : len(self._inputs)].copy()
        seen[turned] = seen[turned][:, self._inputs]
        return seen

    def masks(self, action_mask: NDArray[np.int8], turned: NDArray[np.bool_]) -> NDArray[np.int8]:
        """A copy of masks [B, A] with those lines turned round."""
        masks = action_mask.copy()
        masks[turned] = masks[turned][:, self._actions]
        return masks

    def actions(self, actions: NDArray[np.int64], turned: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Actions [B] as they are in the line turned round; its own inverse."""
        return np.where(turned, self._actions[actions], actions)


@cache
def orientation(rules: Rules, history: bool) -> Orientation:
    """The :class:`Orientation` of a layout."""
    return Orientation(rules, history)


def _swap(indices: NDArray[np.int64], first: int, second: int, size: int) -> None:
    indices[first : first + size], indices[second : second + size] = (
        indices[second : second + size].copy(),
        indices[first : first + size].copy(),
    )
