"""Batches of games against the plain C program, on one thread and two, with an opponent, and as they grow."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Pair, Size, SkippedError
from block_env._compile import Array, kernel
from block_env.play import Games
from block_env.variants import Rules
from block_env.vector_env import BlockVectorEnv

SEED = 1


# Random legal actions, picked outside the clock -----------------------------------------------------------------------

_A, _B, _C = np.uint64(12), np.uint64(25), np.uint64(27)
_FACTOR, _HALF = np.uint64(0x2545F4914F6CDD1D), np.uint64(32)


@kernel
def pick(masks: Array, chance: Array, actions: Array) -> None:
    """A uniform legal action for each row of int8 [N, A]; ``chance`` is uint64 [1], a xorshift64* generator."""
    word = chance[0]
    for row in range(len(masks)):
        mask = masks[row]
        count = 0
        for action in range(len(mask)):
            count += np.int64(mask[action])
        word ^= word >> _A
        word ^= word << _B
        word ^= word >> _C
        skip = np.int64((((word * _FACTOR) >> _HALF) * np.uint64(count)) >> _HALF)
        for action in range(len(mask)):
            if mask[action]:
                if skip == 0:
                    actions[row] = action
                    break
                skip -= 1
    chance[0] = word


class Picker:
    """Picks for a batch of N; the array it returns is overwritten by the next call."""

    def __init__(self, count: int) -> None:
        self._actions = np.zeros(count, np.int64)
        self._chance = np.array([SEED], np.uint64)

    def __call__(self, masks: NDArray[np.int8]) -> NDArray[np.int64]:
        pick(masks, self._chance, self._actions)
        return self._actions


# Ours -----------------------------------------------------------------------------------------------------------------


class Stepping:
    """A batch under random play; the clock runs in ``Games.step`` alone."""

    def __init__(self, count: int, rules: str | Rules = "match") -> None:
        self._games = Games(count, rules, seed=SEED)
        self._pick = Picker(count)
        self.rate(0.0)

    def rate(self, seconds: float) -> float:
        """Steps a second, over so many seconds (and at least 10 steps of the batch)."""
        games, spent, steps = self._games, 0.0, 0
        while spent < seconds or steps < 10:
            actions = self._pick(games.action_mask)
            start = time.perf_counter()
            games.step(actions)
            spent += time.perf_counter() - start
            steps += 1
        return steps * games.num_games / spent


class Opposed:
    """A Gymnasium vector environment, random play against greedy; the clock runs in ``step`` alone."""

    def __init__(self, count: int) -> None:
        self._env = BlockVectorEnv(count, opponent="greedy")
        self._pick = Picker(count)
        self._observation, _ = self._env.reset(seed=SEED)
        self._over = np.zeros(count, np.bool_)
        self.rate(0.0)

    def rate(self, seconds: float) -> float:
        """Turns of all seats a second, the opponent's too: each is a step of a game in a batch."""
        spent, turns, steps = 0.0, 0, 0
        while spent < seconds or steps < 10:
            actions, before = self._pick(self._observation["action_mask"]), self._turns()
            start = time.perf_counter()
            self._observation, _, terminated, truncated, _ = self._env.step(actions)
            spent += time.perf_counter() - start
            steps += 1
            turns += int((self._turns() - np.where(self._over, 0, before)).sum())
            self._over = terminated | truncated
        return turns / spent

    def _turns(self) -> NDArray[np.int32]:
        """Of each game so far; the step after an end resets it (``NEXT_STEP``)."""
        turns: NDArray[np.int32] = self._env._games.states["turns"].copy()
        return turns


class Threads:
    """Batches of 4,096, one to a Python thread; the clock includes picking, which is compiled as well."""

    STEPS = 10  # of a batch between two looks at the clock

    def __init__(self, count: int) -> None:
        self._batches = [(Games(4096, seed=SEED + k), Picker(4096)) for k in range(count)]
        self.rate(0.0)

    def rate(self, seconds: float) -> float:
        """Steps a second of all threads together."""
        start = time.perf_counter()
        with ThreadPoolExecutor(len(self._batches)) as pool:
            steps = sum(pool.map(partial(self._play, until=start + seconds), self._batches))
        return steps / (time.perf_counter() - start)

    def _play(self, batch: tuple[Games, Picker], until: float) -> int:
        (games, picker), steps = batch, 0
        while steps == 0 or time.perf_counter() < until:
            for _ in range(self.STEPS):
                games.step(picker(games.action_mask))
            steps += self.STEPS * games.num_games
        return steps


# The yardstick --------------------------------------------------------------------------------------------------------


@cache
def yardstick() -> Path:
    """Build ``yardstick.c`` for this machine, once in a run."""
    if shutil.which("cc") is None:
        raise SkippedError("There is no C compiler (cc) to build the yardstick with.")
    folder = tempfile.mkdtemp(prefix="yardstick-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program, source = Path(folder, "yardstick"), Path(__file__).with_name("yardstick.c")
    built = subprocess.run(
        ["cc", "-O3", "-march=native", str(source), "-o", str(program)], capture_output=True, text=True
    )
    if built.returncode:
        raise SkippedError(f"cc cannot build the yardstick: {' '.join(built.stderr.split())[:200]}.")
    return program


def yardstick_rate(count: int, seconds: float) -> float:
    """Steps a second of the C program with so many games."""
    command = [str(yardstick()), str(count), str(seconds)]
    steps, took = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(steps) / float(took)


# Rows -----------------------------------------------------------------------------------------------------------------


def step_row(count: int, size: Size) -> Pair:
    """``Games.step`` against the C program, with as many games."""
    yardstick()
    return Pair(partial(Stepping(count).rate, size.seconds), partial(yardstick_rate, count, size.seconds))


def threads_row(size: Size) -> Pair:
    """Two threads against one."""
    return Pair(partial(Threads(2).rate, size.seconds), partial(Threads(1).rate, size.seconds))


def vector_env_row(size: Size) -> Pair:
    """1,024 learners' games against as many in ``Games``."""
    return Pair(partial(Opposed(1024).rate, size.seconds), partial(Stepping(1024).rate, size.seconds))


# How cost grows -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """Steps a second of one line of the plot at one number of games."""

    line: str
    games: int
    rate: float


CURVES: dict[str, Rules | None] = {
    "plain C, 2 seats": None,
    "2 seats": Rules.preset("match", 2),
    "3 seats": Rules.preset("match", 3),
    "4 seats": Rules.preset("match", 4),
    "2 seats, double-three": Rules(max_pip=3, hand_size=3),
    "2 seats, double-nine": Rules(max_pip=9),
}
"""Line by line; double-six where nothing else is said. None: the yardstick."""


def curve(size: Size, repeats: int) -> Iterator[Point]:
    """Every line at 1, 4, 16, … games, each the median of ``repeats``; without a compiler no line for C."""
    for line, rules in CURVES.items():
        for count in _counts(size):
            try:
                rate = partial(yardstick_rate, count) if rules is None else Stepping(count, rules).rate
                yield Point(line, count, float(np.median([rate(size.seconds / 4) for _ in range(repeats)])))
            except SkippedError:
                break


def _counts(size: Size) -> list[int]:
    return [4**k for k in range(10) if 4**k <= size.curve_games]
