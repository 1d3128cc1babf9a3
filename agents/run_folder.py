"""A training run on disk: its options, its policy, and a checkpoint that it goes on from exactly.

``policy.safetensors`` and ``policy.json`` are the agent (:mod:`agents.learned`). ``checkpoint.safetensors`` holds the
learner: all weights, Adam's state, and in its header the options, the decisions made and the iterations done. Random
state needs no place in it, since every iteration's follows from the seed and its number.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from sb3_contrib import MaskablePPO

from agents.learned import ARCHITECTURE, RunFolderError, save_policy
from block_env.command import write_file
from block_env.observation import layout
from block_env.variants import Rules

CHECKPOINT = "checkpoint.safetensors"
LIBRARIES = ("block-env", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


@dataclass(frozen=True)
class Config:
    """What a run was asked to do; train.py's ``--help`` says what each option means."""

    rules: dict[str, Any] = field(default_factory=lambda: Rules.preset("match").as_dict())
    command: str = ""
    steps: int = 5_000_000
    seed: int = 0
    reward: str = "points"
    history: bool = False
    hidden: list[int] = field(default_factory=lambda: [256, 256])
    games: int = 2048
    batch_size: int = 1024
    epochs: int = 3
    learning_rate: float = 1e-3
    gae_lambda: float = 0.6
    entropy: float = 0.05
    threads: int = 2
    anchor_every: int = 500_000
    anchor_deals: int = 1000
    final_deals: int = 10_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            kind = self.__dataclass_fields__[name].type
            if kind != type(value).__name__ and not kind.startswith((f"{type(value).__name__}[", "float")):
                raise ValueError(f"{name}: takes {kind}, got {value!r}")

    @property
    def rules_record(self) -> Rules:
        """The rules, as the rest of the project takes them."""
        return Rules(**self.rules)


@dataclass(frozen=True)
class Checkpoint:
    """A learner at the end of an iteration."""

    tensors: dict[str, torch.Tensor]
    step: int
    iteration: int

    def restore(self, learner: MaskablePPO) -> tuple[int, int]:
        """Put weights and Adam's state into a fresh learner; the decisions made and iterations done.

        Raises:
            RunFolderError: they do not fit the learner, which the checkpoint's own options made.
        """
        try:
            self._load(learner)
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            line = " ".join(str(error).split())
            raise RunFolderError(f"--resume: the checkpoint does not fit its own options ({line})") from None
        return self.step, self.iteration

    def _load(self, learner: MaskablePPO) -> None:
        learner.policy.load_state_dict(_part(self.tensors, "policy."))
        states: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _part(self.tensors, "adam.").items():
            index, _, key = name.partition(".")
            states.setdefault(int(index), {})[key] = tensor
        optimizer = learner.policy.optimizer
        optimizer.load_state_dict({**optimizer.state_dict(), "state": states})


def first_free_folder(name: str) -> Path:
    """Make the first of ``name``, ``name-2``, ``name-3``, … that does not exist."""
    for number in count(1):
        path = Path(name) if number == 1 else Path(f"{name}-{number}")
        if not path.exists():
            return new_folder(path)
    raise AssertionError("unreachable")


def new_folder(folder: Path) -> Path:
    """Make the folder of a new run.

    Raises:
        ValueError: it cannot be made, or there is something in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise ValueError(f"--out: {folder} cannot be made ({error.strerror})") from None
    if not empty:
        raise ValueError(f"--out: {folder} is not empty; take another folder, or go on with --resume {folder}")
    return folder


def save_run(folder: Path, learner: MaskablePPO, config: Config, step: int) -> None:
    """Write the policy with its recipe."""
    parts = layout(config.rules_record, config.history)
    card = {
        "architecture": {**ARCHITECTURE, "hidden": config.hidden},
        "rules": config.rules,
        "history": config.history,
        "layout_hash": parts.hash,
        "seed": config.seed,
        "steps": step,
        "command": config.command,
        "options": {name: value for name, value in asdict(config).items() if name not in ("rules", "command")},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
    }
    save_policy(folder, learner.policy.actor_weights(), card)


def save_checkpoint(folder: Path, learner: MaskablePPO, step: int, iteration: int, config: Config) -> None:
    """Write all that the run needs to go on."""
    tensors = {f"policy.{name}": tensor.contiguous() for name, tensor in learner.policy.state_dict().items()}
    for index, state in learner.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"adam.{index}.{name}": tensor.contiguous() for name, tensor in state.items()}
    header = {"config": json.dumps(asdict(config)), "step": str(step), "iteration": str(iteration)}
    write_file(folder / CHECKPOINT, save(tensors, header))


def load_checkpoint(folder: Path) -> tuple[Config, Path, Checkpoint]:
    """The options, the folder and the learner of a run.

    Raises:
        RunFolderError: there is no checkpoint, or it is broken.
    """
    path = folder / CHECKPOINT
    if not os.path.isfile(path):  # a name that is too long is no file either
        raise RunFolderError(f"--resume: takes a run folder of train.py, and {CHECKPOINT} is not in {folder}")
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        config = Config(**json.loads(header["config"]))
        return config, folder, Checkpoint(tensors, int(header["step"]), int(header["iteration"]))
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(f"--resume: {path} is not a checkpoint of this version ({error})") from None


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
