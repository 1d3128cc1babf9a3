"""Gymnasium spaces of observations, actions and the whole state; the same for every seat."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from block_env.keywords import check_mask_in
from block_env.observation import layout
from block_env.variants import Rules


def action_space(rules: Rules) -> spaces.Discrete:
    """All action ids, legal or not (:mod:`block_env.actions`)."""
    return spaces.Discrete(rules.num_actions)


def observation_space(rules: Rules, history: bool = False, mask_in: str = "observation") -> spaces.Space:  # type: ignore[type-arg]
    """A dict of ``observation`` and ``action_mask``, or with ``mask_in="info"`` the plain box of the first.

    Raises:
        ValueError: ``mask_in`` is neither ``"observation"`` nor ``"info"``.
    """
    high = layout(rules, history).high
    box = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
    if check_mask_in(mask_in) == "info":
        return box
    mask = spaces.Box(0, 1, (rules.num_actions,), np.int8)
    return spaces.Dict([("observation", box), ("action_mask", mask)])  # pairs keep this order; a dict is sorted
