"""Learned agents: a run folder's ``policy.safetensors`` and ``policy.json``, played with NumPy alone.

The network is a multilayer perceptron from the observation to one number an action; the agent takes the legal action
with the largest. Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from agents.symmetry import orientation
from block_env.command import write_file
from block_env.observation import layout
from block_env.variants import Rules

FORMAT = 1
ARCHITECTURE = {"kind": "mlp", "activation": "relu"}
"""What a card's ``architecture`` says, beside the units of its ``hidden`` layers."""

WEIGHTS, CARD = "policy.safetensors", "policy.json"


class RunFolderError(ValueError):
    """A folder that holds no policy, or one that does not fit; the message names the file and what differs."""


class LearnedPolicy:
    """A trained network as a :class:`block_env.policy.Policy`.

    Args:
        weights: ``layer0.weight`` float32 [hidden, D], ``layer0.bias`` [hidden], … to the last layer, [A, hidden].
        rules: what it was trained on.
        history: whether it sees the public round.
        sample: draw actions with the network's probabilities, instead of taking the most likely one.
    """

    def __init__(
        self, weights: Mapping[str, NDArray[np.float32]], rules: Rules, history: bool = False, sample: bool = False
    ) -> None:
        count = len(weights) // 2
        self.layers = [(weights[f"layer{k}.weight"].T.copy(), weights[f"layer{k}.bias"]) for k in range(count)]
        self.rules, self.needs_history, self.sample = rules, history, sample
        self._size, self._lines = layout(rules, history).size, orientation(rules, history)
        self._widths = {self._size, layout(rules, history=True).size}

    def logits(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """The network's outputs, float32 [B, A], legal or not; observations [B, D] have the smaller end on the left."""
        hidden = observation
        for weight, bias in self.layers[:-1]:
            hidden = np.maximum(hidden @ weight + bias, 0)
        weight, bias = self.layers[-1]
        return hidden @ weight + bias

    def act(
        self, observation: NDArray[np.float32], action_mask: NDArray[np.int8], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The legal action with the largest output, int [B]; with ``sample`` drawn by softmax (Gumbel's trick)."""
        turned = self._turned(observation)
        scores = self.logits(self._lines.observations(observation, turned))
        if self.sample:
            scores = scores + rng.gumbel(size=scores.shape)
        masks = self._lines.masks(action_mask, turned)
        return self._lines.actions(np.where(masks, scores, -np.inf).argmax(axis=1), turned)

    def probabilities(self, observation: NDArray[np.float32], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
        """The network's odds, float64 [B, A]: softmax over the legal actions.

        ``sample`` draws with them; without it the policy takes the most likely action.
        """
        turned = self._turned(observation)
        scores = self.logits(self._lines.observations(observation, turned)).astype(np.float64)
        scores = np.where(self._lines.masks(action_mask, turned), scores, -np.inf)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return self._lines.masks(odds / odds.sum(axis=1, keepdims=True), turned)  # back to the line as it lies

    def _turned(self, observation: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which rows' lines are turned round, if the observations are of a length that the policy reads."""
        if observation.ndim != 2 or observation.shape[1] not in self._widths:
            takes = " or ".join(f"[B, {width}]" for width in sorted(self._widths))
            raise ValueError(f"observation: this policy takes {takes}, got {list(observation.shape)}")
        return self._lines.turned(observation)


def save_policy(folder: Path, weights: Mapping[str, NDArray[np.float32]], card: Mapping[str, Any]) -> None:
    """Write both files beside and rename them, so that a killed run leaves the old ones or the new ones."""
    write_file(folder / WEIGHTS, save(dict(weights)))
    write_file(folder / CARD, (json.dumps({"format": FORMAT, **card}, indent=2) + "\n").encode())


def load_policy(folder: Path, rules: Rules | None = None, sample: bool = False) -> LearnedPolicy:
    """The policy of a run folder.

    Args:
        folder: what train.py wrote.
        rules: what is to be played; None takes what it was trained on.
        sample: as in :class:`LearnedPolicy`.

    Raises:
        RunFolderError: a file is missing, broken or of another format; or its rules, layout or shapes do not fit.
    """
    card = read_card(folder)
    try:
        trained, history, layout_hash = Rules(**card["rules"]), card["history"], card["layout_hash"]
        hidden = _hidden(card["architecture"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(f"{folder / CARD}: not a policy's card ({error!r})") from None
    if not isinstance(history, bool):
        raise RunFolderError(f"{folder / CARD}: history: takes true or false, got {history!r}")
    if rules is not None:
        _check_rules(folder, trained, rules)
    expected = layout(trained, history).hash
    if layout_hash != expected:
        raise RunFolderError(f"{folder / CARD}: layout_hash: this version's is {expected}, the file has {layout_hash}")
    sizes = [layout(trained, history).size, *hidden, trained.num_actions]
    return LearnedPolicy(_load_weights(folder / WEIGHTS, sizes), trained, history, sample)


def read_card(folder: Path) -> dict[str, Any]:
    """``policy.json`` of a run folder, if it is of a known format."""
    path = folder / CARD
    try:
        card = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise RunFolderError(f"{folder}: takes a run folder of train.py, and {CARD} is not in it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"{path}: cannot be read as JSON ({error})") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        found = card.get("format") if isinstance(card, dict) else None
        raise RunFolderError(f"{path}: format: takes {FORMAT}, got {found!r}")
    return card


def _hidden(architecture: Mapping[str, Any]) -> list[int]:
    hidden = architecture["hidden"]
    for name, value in ARCHITECTURE.items():
        if architecture[name] != value:
            raise ValueError(f"{name}: takes {value!r}, got {architecture[name]!r}")
    if not isinstance(hidden, list) or not all(type(units) is int and units > 0 for units in hidden):
        raise ValueError(f"hidden: takes a list of whole numbers from 1, got {hidden!r}")
    return hidden


def _check_rules(folder: Path, trained: Rules, played: Rules) -> None:
    theirs, ours = trained.as_dict(), played.as_dict()
    differing = [
        f"{name}: trained with {theirs[name]!r}, played with {ours[name]!r}"
        for name in ours
        if theirs[name] != ours[name]
    ]
    if differing:
        raise RunFolderError(f"{folder / CARD}: rules do not fit: {'; '.join(differing)}")


def _load_weights(path: Path, sizes: list[int]) -> dict[str, NDArray[np.float32]]:
    if not path.is_file():
        raise RunFolderError(f"{path}: there is no such file")
    try:
        weights = load_file(path)
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise RunFolderError(f"{path}: not a safetensors file of float32 numbers ({error})") from None
    expected: dict[str, tuple[int, ...]] = {}
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        expected[f"layer{k}.weight"], expected[f"layer{k}.bias"] = (outputs, inputs), (outputs,)
    found = {name: array.shape for name, array in weights.items()}
    if found != expected:
        wrong = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
        name = wrong[0]
        raise RunFolderError(f"{path}: {name}: takes shape {expected.get(name)}, got {found.get(name)}")
    if any(array.dtype != np.float32 or not np.isfinite(array).all() for array in weights.values()):
        raise RunFolderError(f"{path}: takes finite float32 numbers")
    return weights
