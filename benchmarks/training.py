"""Training and evaluation: MaskablePPO on the native batch, train.py, evaluate.py.

python -m benchmarks.training STEPS     # the share of train.py's processor time that its games take
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Pair, Size, SkippedError, run_python
from block_env.play import Games

ENVS, DUMMY_ENVS = 512, 8
ROLLOUT = 8192
"""Steps of all environments together between two updates; the same in both."""


def needs_training() -> None:
    """Raise a :class:`SkippedError` where the libraries that train are missing."""
    missing = [name for name in ("torch", "stable_baselines3", "sb3_contrib", "safetensors") if not find_spec(name)]
    if missing:
        raise SkippedError(f"The extra block-env[train] is not installed: there is no {missing[0]}.")


# MaskablePPO as it is -------------------------------------------------------------------------------------------------


def _learner(env: Any) -> Any:
    from sb3_contrib import MaskablePPO

    steps = ROLLOUT // env.num_envs
    learner = MaskablePPO("MlpPolicy", env, n_steps=steps, batch_size=512, n_epochs=4, seed=1, device="cpu")
    return learner.learn(ROLLOUT)  # warms up


def _learn(learner: Any, steps: int) -> float:
    """Steps a second, of collecting and learning together."""
    start = time.perf_counter()
    learner.learn(steps)
    return learner.num_timesteps / (time.perf_counter() - start)


def sb3_row(size: Size) -> Pair:
    """The native ``VecEnv`` of 512 against ``DummyVecEnv`` of 8: MaskablePPO against greedy, torch on one thread."""
    needs_training()
    import torch
    from stable_baselines3.common.vec_env import DummyVecEnv

    from block_env.gym_env import BlockGymEnv
    from block_env.sb3 import BlockVecEnv

    torch.set_num_threads(1)
    ours = _learner(BlockVecEnv(ENVS, mask_in="info"))
    other = _learner(DummyVecEnv([partial(BlockGymEnv, mask_in="info")] * DUMMY_ENVS))
    return Pair(partial(_learn, ours, size.sb3_steps), partial(_learn, other, size.sb3_steps))


# Programs -------------------------------------------------------------------------------------------------------------


def _rate(run: Callable[[int], int], sizes: tuple[int, int]) -> float:
    """What a program does a second, its start and end left out: a long run less a short one."""
    (few, short), (many, long) = (_timed(run, size) for size in sizes)
    return (many - few) / (long - short)


def _timed(run: Callable[[int], int], size: int) -> tuple[int, float]:
    start = time.perf_counter()
    return run(size), time.perf_counter() - start


def _train(steps: int) -> int:
    """Run train.py; how many decisions it has made, in whole iterations."""
    with TemporaryDirectory() as folder:
        told = run_python(["train.py", *_options(steps, Path(folder, "run"))])
    found = re.search(r"done, (\d+) decisions", told)
    assert found is not None, told
    return int(found[1])


def _options(steps: int, folder: Path) -> list[str]:
    """train.py's usual ones; the table at the end, which takes the same time each time, is kept short."""
    return ["--steps", str(steps), "--out", str(folder), "--quiet", "--final-deals", "2"]


def train_row(size: Size) -> Pair:
    """train.py as its users call it, checkpoints and anchors included."""
    needs_training()
    _train(1)
    return Pair(partial(_rate, _train, size.decisions))


def _evaluate(deals: int) -> int:
    """Run evaluate.py; how many rounds it has played: each deal in both seatings."""
    run_python(["evaluate.py", "greedy", "heuristic", "--deals", str(deals)])
    return 2 * deals


def evaluate_row(size: Size) -> Pair:
    """evaluate.py as its users call it."""
    _evaluate(2)
    return Pair(partial(_rate, _evaluate, size.deals))


# The share of the games -----------------------------------------------------------------------------------------------


def stopwatch(call: Callable[..., Any], clock: Callable[[], float], spent: list[float]) -> Callable[..., Any]:
    """The same call; what each one takes goes to ``spent``."""

    def timed(*args: Any, **keywords: Any) -> Any:
        start = clock()
        result = call(*args, **keywords)
        spent.append(clock() - start)
        return result

    return timed


def share(steps: int) -> float:
    """How much of ``train.learn``'s processor time, all threads, goes to making, dealing and stepping games."""
    import train

    games: list[float] = []
    learning: list[float] = []
    for name in ("__init__", "step"):
        setattr(Games, name, stopwatch(getattr(Games, name), time.thread_time, games))
    train.learn = stopwatch(train.learn, time.process_time, learning)
    with TemporaryDirectory() as folder:
        for count in (1, steps):  # the first loads, or compiles, the kernels
            games.clear(), learning.clear()
            train.main(_options(count, Path(folder, str(count))))
    assert games, "train.py plays no Games"
    return sum(games) / sum(learning)


def _share(steps: int) -> float:
    return float(run_python(["-m", "benchmarks.training", str(steps)]).splitlines()[-1])


def share_row(size: Size) -> Pair:
    """The share of train.py's processor time that its games take."""
    needs_training()
    return Pair(partial(_share, size.decisions[0]))


if __name__ == "__main__":
    print(share(int(sys.argv[1])))
