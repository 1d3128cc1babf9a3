"""The Policy protocol: everything that plays, here and in ``agents``, is one of these."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Policy(Protocol):
    """Chooses actions for a batch of players from their observations alone.

    A policy holds no memory between calls: what it needs of the past is in the observation (``history=True``). So any
    rows may share a batch, and the same row must get the same choice (or, drawn with ``rng``, the same odds) in any
    batch. One that reads the history says so by an attribute ``needs_history = True`` (:func:`needs_history`).
    """

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Choose one legal action a row.

        Args:
            observation: float32 [B, D], laid out as :func:`block_env.observation.layout` says.
            action_mask: int8 [B, A], 1 where the action is legal; every row has at least one.
            rng: the only source of chance a policy may use.

        Returns:
            Actions, int [B].
        """
        ...


def needs_history(policy: Policy) -> bool:
    """Whether a policy asks for observations with history; without the attribute it does not."""
    return bool(getattr(policy, "needs_history", False))
