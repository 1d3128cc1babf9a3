"""How a row is measured: ours and the yardstick in turn, in one run, and what is kept of it."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("block-env", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")

Sampler = Callable[[], float]
"""Takes one measurement; everything is compiled and warm before its first."""


class SkippedError(Exception):
    """This row cannot be measured here; the message says why, as a sentence."""


@dataclass(frozen=True)
class Size:
    """How much one measurement does.

    Attributes:
        seconds: of a measurement that goes by time.
        aec_games: matches, of one that plays PettingZoo environments.
        sb3_steps: steps of one MaskablePPO training.
        decisions: of the short and the long training by train.py whose difference counts.
        deals: of the short and the long evaluation whose difference counts.
        memory_games: how many games are made to see what one takes.
        curve_games: the largest batch of the curve.
    """

    seconds: float
    aec_games: int
    sb3_steps: int
    decisions: tuple[int, int]
    deals: tuple[int, int]
    memory_games: int
    curve_games: int


FULL = Size(1.0, 40, 16_384, (20_000, 220_000), (10_000, 510_000), 65_536, 4**9)
QUICK = Size(0.1, 4, 8_192, (10_000, 60_000), (2_000, 52_000), 16_384, 4**6)


@dataclass(frozen=True)
class Pair:
    """What a row compares; without a yardstick (``other``) the figure is our own."""

    ours: Sampler
    other: Sampler | None = None


@dataclass(frozen=True)
class Goal:
    """At least, or at most, this figure."""

    value: float
    at_most: bool = False

    def met(self, figure: float) -> bool:
        return figure <= self.value if self.at_most else figure >= self.value

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.value:,g}"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: what ``--rows`` takes.
        what: what is measured.
        unit: of a single measurement.
        make: prepares and warms up what the measurements need; a :class:`SkippedError` where that cannot be had.
        against: the yardstick; None: the figure is not a ratio.
        goal: None: a peer, for scale.
    """

    name: str
    what: str
    unit: str
    make: Callable[[Size], Pair]
    against: str | None = None
    goal: Goal | None = None


@dataclass(frozen=True)
class Result:
    """A row as measured: all single measurements; or in ``skipped`` why there are none."""

    row: Row
    ours: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    skipped: str | None = None

    @property
    def figures(self) -> list[float]:
        """One for each repeat: the ratio to the yardstick beside it, or our own."""
        return [a / b for a, b in zip(self.ours, self.other, strict=True)] if self.row.against else list(self.ours)

    @property
    def figure(self) -> float:
        return statistics.median(self.figures)

    @property
    def met(self) -> bool | None:
        """None without a goal, or where the row was skipped."""
        return None if self.row.goal is None or self.skipped else self.row.goal.met(self.figure)

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest of :attr:`figures`."""
        return min(self.figures), max(self.figures)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the row, its goal, and every measurement; what a skipped row lacks is None."""
        row, goal = self.row, self.row.goal
        return {
            "name": row.name,
            "what": row.what,
            "unit": row.unit,
            "against": row.against,
            "goal": None if goal is None else {"value": goal.value, "kind": "at most" if goal.at_most else "at least"},
            "figure": None if self.skipped else self.figure,
            "spread": None if self.skipped else self.spread,
            "met": self.met,
            "ours": self.ours,
            "other": self.other,
            "skipped": self.skipped,
        }


def measure(row: Row, size: Size, repeats: int) -> Result:
    """Ours, the yardstick, ours, … so that whatever else the machine does meets both."""
    try:
        pair = row.make(size)
    except SkippedError as reason:
        return Result(row, skipped=str(reason))
    ours, other = [], []
    for _ in range(repeats):
        ours.append(pair.ours())
        if pair.other is not None:
            other.append(pair.other())
    return Result(row, tuple(ours), tuple(other))


def run_python(arguments: list[str], cache: Path | None = None) -> str:
    """What a fresh Python process prints; ``cache`` takes the place of Numba's cache folders.

    Raises:
        RuntimeError: it failed; the message ends with what it wrote on stderr.
    """
    environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed: {done.stderr[-2000:]}")
    return done.stdout


def machine() -> dict[str, Any]:
    """The facts without which a figure says nothing."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": compiler_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
    }


def compiler_version() -> str | None:
    """The first line that ``cc --version`` prints; None where there is no cc."""
    if shutil.which("cc") is None:
        return None
    return subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
