"""The scripted policies, by name: ``random``, ``greedy`` and ``heuristic``.

None knows more than its observation and mask, none keeps anything between calls, and all take observations with or
without the history part, which they do not read. Where two actions are equally good, ``greedy`` and ``heuristic`` take
the lower action id: the lower tile id, and of the same tile the left end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from block_env._compile import Array, Int, Record, kernel
from block_env.observation import layout
from block_env.policy import Policy
from block_env.variants import Rules, resolve, rules_table


class Scripted(ABC):
    """What the scripted policies share: they are made for one set of rules and check what they are shown."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._rules = rules_table(rules)
        self._widths = (layout(rules).size, layout(rules, history=True).size)

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Choose one legal action a row.

        Args:
            observation: float32 [B, D], with or without the history part.
            action_mask: int8 [B, A], 1 where the action is legal.
            rng: the only source of chance; ``greedy`` and ``heuristic`` draw nothing from it.

        Returns:
            Actions, int64 [B].

        Raises:
            ValueError: a shape does not go with the rules that the policy was made for, or a row has no legal action.
        """
        rows, masks = self._check(observation, action_mask)
        actions = self._choose(rows, masks, rng)
        if actions.size and actions.min() < 0:
            raise ValueError(f"action_mask: takes at least one legal action a row, row {actions.argmin()} has none")
        return actions

    @abstractmethod
    def _choose(
        self, rows: NDArray[np.float32], masks: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """One action a row, -1 where none is legal."""

    def _check(self, observation: Any, action_mask: Any) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        rows = np.ascontiguousarray(observation, np.float32)
        masks = np.ascontiguousarray(action_mask, np.int8)
        made_for = f"; this policy was made for {self.rules}"
        if rows.ndim != 2 or rows.shape[1] not in self._widths:
            takes = f"[B, {self._widths[0]}], or [B, {self._widths[1]}] with history"
            raise ValueError(f"observation: takes float32 {takes}, got {list(rows.shape)}{made_for}")
        if masks.shape != (len(rows), self.rules.num_actions):
            takes = f"[{len(rows)}, {self.rules.num_actions}]"
            raise ValueError(f"action_mask: takes int8 {takes}, got {list(masks.shape)}{made_for}")
        return rows, masks


class RandomPolicy(Scripted):
    """Every legal action is equally likely."""

    def _choose(
        self, rows: NDArray[np.float32], masks: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        chosen = np.empty(len(masks), np.int64)
        nth_legal(masks, rng.random(len(masks)), chosen)
        return chosen


class GreedyPolicy(Scripted):
    """Lays the legal tile with the most pips; ties go to the lower action id."""

    def _choose(
        self, rows: NDArray[np.float32], masks: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        chosen = np.empty(len(masks), np.int64)
        heaviest(masks, self._rules, chosen)
        return chosen


_POLICIES: dict[str, type[Scripted]] = {"random": RandomPolicy, "greedy": GreedyPolicy}

OPPONENTS: tuple[str, ...] = tuple(_POLICIES)
"""The names that :func:`make` takes."""


def make(name: str, rules: str | Rules = "match", num_players: int | None = None) -> Policy:
    """The scripted policy of that name, for these rules (as :func:`block_env.variants.resolve` takes them).

    Raises:
        ValueError: no such policy, or rules and ``num_players`` do not go together.
    """
    if name not in _POLICIES:
        raise ValueError(f"opponent: takes one of {', '.join(map(repr, OPPONENTS))}, got {name!r}")
    return _POLICIES[name](resolve(rules, num_players))


# Random and greedy ----------------------------------------------------------------------------------------------------


@kernel
def count_legal(mask: Array) -> Int:
    count = 0
    for action in range(len(mask)):
        if mask[action]:
            count += 1
    return count


@kernel
def nth_legal(masks: Array, uniforms: Array, chosen: Array) -> None:
    """Into ``chosen`` (int64 [B]) the legal action that ``uniforms`` (float64 [B], below 1) falls on, -1 for none."""
    for row in range(len(masks)):
        chosen[row] = -1
        skip = int(uniforms[row] * count_legal(masks[row]))
        for action in range(masks.shape[1]):
            if masks[row, action]:
                if skip == 0:
                    chosen[row] = action
                    break
                skip -= 1


@kernel
def tile_pips(rules: Record, action: Int) -> Int:
    """The pips that an action lays; a pass lays none."""
    if action == 2 * rules.num_tiles:
        return np.int64(0)
    tile = action % rules.num_tiles
    return np.int64(rules.low[tile]) + np.int64(rules.high[tile])


@kernel
def heaviest(masks: Array, rules: Array, chosen: Array) -> None:
    """Into ``chosen`` (int64 [B]) the legal action that lays the most pips, the lowest of equals; -1 for none."""
    for row in range(len(masks)):
        chosen[row] = -1
        most = -1
        for action in range(masks.shape[1]):
            if masks[row, action] and tile_pips(rules[0], action) > most:
                chosen[row] = action
                most = tile_pips(rules[0], action)
