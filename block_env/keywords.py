"""The keywords that the environments share, checked: each function returns the value, or raises a ValueError that names
the keyword and what it takes."""

from __future__ import annotations

from importlib.metadata import Distribution
from importlib.util import find_spec
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

REWARDS = ("outcome", "points")
MASK_PLACES = ("observation", "info")
RENDER_MODES = ("ansi", "rgb_array", "human")
BATCH_RENDER_MODES = RENDER_MODES[:2]
"""Of many environments at once: there is one window a game."""


class PygameNotInstalledError(DependencyNotInstalled, ImportError):
    """Pictures as pixels, and the window, need pygame-ce."""


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, Python's or NumPy's; truth values are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_reward(reward: str) -> str:
    """``"outcome"`` or ``"points"``."""
    return _one_of("reward", reward, REWARDS)


def check_mask_in(mask_in: str) -> str:
    """``"observation"`` or ``"info"``."""
    return _one_of("mask_in", mask_in, MASK_PLACES)


def check_history(history: bool) -> bool:
    """True or False."""
    if not isinstance(history, bool | np.bool_):
        raise ValueError(f"history: takes True or False, got {history!r}")
    return bool(history)


def check_render_mode(render_mode: str | None, modes: tuple[str, ...] = RENDER_MODES) -> str | None:
    """None or one of ``modes``; a PygameNotInstalledError if it needs pygame-ce, which is not there."""
    if render_mode is None:
        return None
    _one_of("render_mode", render_mode, modes, "None or ")
    if render_mode != "ansi":
        check_pygame(f'render_mode="{render_mode}"')
    return render_mode


def check_pygame(asked: str) -> None:
    """A PygameNotInstalledError if pygame-ce is not there; ``asked`` says what needs it."""
    if find_spec("pygame") is None or not any(Distribution.discover(name="pygame-ce")):  # the old pygame can do less
        raise PygameNotInstalledError(f'{asked} needs pygame-ce: pip install "block-env[render]"')


def check_max_cycles(max_cycles: int | None) -> int | None:
    """None or a whole number from 1."""
    if max_cycles is not None and (not is_whole(max_cycles) or max_cycles < 1):
        raise ValueError(f"max_cycles: takes None or a whole number from 1, got {max_cycles!r}")
    return None if max_cycles is None else int(max_cycles)


def check_seed(seed: int | None) -> int | None:
    """None or a whole number from 0, as ``int``."""
    if seed is not None and (not is_whole(seed) or seed < 0):
        raise ValueError(f"seed: takes None or a whole number from 0, got {seed!r}")
    return None if seed is None else int(seed)


def _one_of(name: str, value: str, choices: tuple[str, ...], also: str = "") -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: takes {also}{' or '.join(map(repr, choices))}, got {value!r}")
    return value
