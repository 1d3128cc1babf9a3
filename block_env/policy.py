"""The Policy protocol: everything that plays, here and in ``agents``, is one of these; and Seer, the upper mark."""

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


@runtime_checkable
class Seer(Protocol):
    """Chooses with all hands in sight: no policy, but the upper mark that policies are held against.

    Only :func:`block_env.play.play_out` asks one, and with it evaluation; everything else refuses it.

    Attributes:
        sees_everything: True.
    """

    sees_everything: bool

    def act_on(self, states: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Choose one legal action for the seat to move in each game.

        Args:
            states: copies of the games' records, dtype :data:`block_env.state.STATE` [B].
            rng: the only source of chance it may use.

        Returns:
            Actions, int [B].
        """
        ...


Player = Policy | Seer
"""What :func:`block_env.play.play_out` takes."""


def sees_everything(player: Any) -> bool:
    """Whether it says of itself that it is no policy but a :class:`Seer`."""
    return bool(getattr(player, "sees_everything", False))


def as_array(values: Any) -> NDArray[Any]:
    """The values as an array: an empty list as whole numbers, ragged ones as objects, which no check lets through."""
    try:
        array = np.asarray(values)
    except ValueError:
        return np.empty(0, object)
    return array.astype(np.int64) if isinstance(values, list | tuple) and array.shape == (0,) else array


def choose(
    policy: Policy, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
) -> NDArray[np.int64]:
    """What the policy chooses, int64 [B], if it is one whole number in the action space for each row.

    Raises:
        ValueError: it is not; the message names the policy's class and what ``act`` is to return. Or what is given as a
            policy sees all hands.
    """
    if sees_everything(policy):
        raise ValueError(
            f"{type(policy).__name__}: sees all hands, and is no policy; only play_out and evaluation ask it"
        )
    return _checked(policy.act(observation, action_mask, rng), action_mask.shape, f"{type(policy).__name__}.act")


def choose_on(seer: Seer, states: NDArray[Any], num_actions: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """What a seer chooses in these games (copies of records, [B]), int64 [B]; checked as in :func:`choose`."""
    return _checked(seer.act_on(states, rng), (len(states), num_actions), f"{type(seer).__name__}.act_on")


def _checked(answer: Any, shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    actions = as_array(answer)
    fits = actions.dtype.kind in "iu" and actions.shape == shape[:1]
    if not fits or not all_below(actions, shape[1]):
        takes = f"whole numbers from 0 to {shape[1] - 1}, int [{shape[0]}]"
        raise ValueError(f"{name}: is to return {takes}, got {answer!r}")
    return actions.astype(np.int64, copy=False)


def all_below(numbers: NDArray[np.integer[Any]], bound: int) -> bool:
    """Whether whole numbers [n] are all from 0 to ``bound - 1``, in one pass: as unsigned, negative ones are large."""
    unsigned = np.ascontiguousarray(numbers, np.int64).view(np.uint64)
    return not unsigned.size or int(unsigned.max()) < bound


def needs_history(policy: Policy) -> bool:
    """Whether a policy asks for observations with history; without the attribute it does not."""
    return bool(getattr(policy, "needs_history", False))


def probabilities(
    policy: Policy, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The odds of each action, float64 [B, A]: those that the policy gives, or else 1 at what it chooses.

    A policy that has odds says so by a method ``probabilities(observation, action_mask) -> float [B, A]``: 0 where an
    action is not legal, and each row adds up to 1.

    Raises:
        ValueError: the method gives something else; the message names the policy's class.
    """
    if not has_probabilities(policy):
        chosen = choose(policy, observation, action_mask, rng)
        return np.eye(action_mask.shape[1])[chosen]
    odds = as_array(policy.probabilities(observation, action_mask))  # type: ignore[attr-defined]
    if odds.dtype.kind != "f" or odds.shape != action_mask.shape or not _are_odds(odds, action_mask):
        takes = f"float {list(action_mask.shape)}, 0 where an action is not legal, each row adding up to 1"
        raise ValueError(f"{type(policy).__name__}.probabilities: is to return {takes}, got {odds!r}")
    return odds.astype(np.float64, copy=False)


def has_probabilities(policy: Policy) -> bool:
    """Whether a policy gives odds of its own."""
    return callable(getattr(policy, "probabilities", None))


def _are_odds(odds: NDArray[Any], action_mask: NDArray[np.int8]) -> bool:
    legal_only = bool((odds >= 0).all()) and not odds[action_mask == 0].any()
    return legal_only and np.allclose(odds.sum(axis=1), 1, atol=1e-5)
