"""The keywords that the environments share, checked: each function returns the value, or raises a ValueError that names
the keyword and what it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

REWARDS = ("outcome", "points")
MASK_PLACES = ("observation", "info")
RENDER_MODES = ("ansi",)


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


def check_render_mode(render_mode: str | None) -> str | None:
    """None or one of :data:`RENDER_MODES`."""
    return None if render_mode is None else _one_of("render_mode", render_mode, RENDER_MODES, "None or ")


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
