"""A training run on disk: its options, its policy, and a checkpoint that it goes on from exactly.

``policy.safetensors`` and ``policy.json`` are the agent (:mod:`agents.learned`). ``checkpoint.safetensors`` holds the
learner: all weights, Adam's state, and in its header the options, the decisions made and the iterations done. Random
state needs no place in it, since every iteration's follows from the seed and its number.
"""

from __future__ import annotations

import json
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

from agents.learned import RunFolderError, save_policy, write_file
from block_env.observation import layout
from block_env.variants import Rules

CHECKPOINT = "checkpoint.safetensors"
LIBRARIES = ("block-env", "numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


@dataclass(frozen=True)
class Config:
    """What a run was asked to do; train.py's ``--help`` says what each option means."""

    rules: dict[str, Any] = field(default_factory=lambda: Rules.preset("match").as_dict())
    command: str = ""
    steps: int = 1_800_000
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
    threads: int = 1
    anchor_every: int = 200_000
    anchor_deals: int = 1000
    final_deals: int = 10_000

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
        """Put weights and Adam's state into a fresh learner; the decisions made and iterations done."""
        learner.policy.load_state_dict(_part(self.tensors, "policy."))
        states: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _part(self.tensors, "adam.").items():
            index, _, key = name.partition(".")
            states.setdefault(int(index), {})[key] = tensor
        optimizer = learner.policy.optimizer
        optimizer.load_state_dict({**optimizer.state_dict(), "state": states})
        return self.step, self.iteration


def free_folder(name: str) -> Path:
    """The first of ``name``, ``name-2``, ``name-3``, … that does not exist."""
    names = (Path(name) if number == 1 else Path(f"{name}-{number}") for number in count(1))
    return next(path for path in names if not path.exists())


def new_folder(folder: Path) -> None:
    """Make the folder of a new run; a ValueError if a run is already there."""
    if (folder / CHECKPOINT).exists() or (folder / "policy.json").exists():
        raise ValueError(f"--out: {folder} already holds a run; take another folder, or go on with --resume {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out: {folder} cannot be made ({error.strerror})") from None


def save_run(folder: Path, learner: MaskablePPO, config: Config, step: int) -> None:
    """Write the policy with its recipe."""
    parts = layout(config.rules_record, config.history)
    card = {
        "architecture": {"kind": "mlp", "activation": "relu", "hidden": config.hidden},
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
    if not path.is_file():
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
